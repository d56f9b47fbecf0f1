"""Tools around training: data loading, hooks, plots. Loaded when they are used."""

from ember import _lazy

__getattr__ = _lazy.missing(__name__)
