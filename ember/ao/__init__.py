"""PyTorch's tools for smaller models: see `ember.ao.quantization`."""

from ember import _lazy

__getattr__ = _lazy.missing(__name__)
