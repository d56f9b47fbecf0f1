"""Special functions, element by element."""

from ember._lazy import fill

fill(globals(), "special")
