"""The older place of `ember.ao.quantization`'s names."""

from ember import _lazy
from ember.ao.quantization import *  # noqa: F403

__getattr__ = _lazy.missing(__name__)
