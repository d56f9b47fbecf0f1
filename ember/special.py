"""Special functions, element by element."""

from typing import TYPE_CHECKING

from ember._lazy import fill

if TYPE_CHECKING:
    from ember._names.special import *

fill(globals(), "special")
