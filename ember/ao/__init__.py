"""PyTorch's tools for smaller models: the names; ember has no quantized tensors yet."""

from ember import _lazy

__getattr__ = _lazy.missing(__name__)
