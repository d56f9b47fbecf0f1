"""The older place of `ember.ao.quantization`'s names."""

from ember import _lazy
from ember.ao.quantization import *  # noqa: F403

__path__: list[str] = []  # so that there can be modules: quantization.observer
__getattr__ = _lazy.missing(__name__)
