"""Switches of the libraries under PyTorch, for programs that set them.

ember computes with its own kernels, oneDNN and OpenBLAS; what has no meaning here keeps
its value and changes nothing.

>>> import ember
>>> ember.backends.cudnn.benchmark = True
>>> ember.backends.mps.is_available()
False
>>> with ember.backends.cudnn.flags(deterministic=True):
...     ember.backends.cudnn.deterministic
True
"""

from ember import _lazy

fp32_precision = "none"
flags_frozen = False


def disable_global_flags() -> None:
    """Nothing: switches can be set in any way."""


__getattr__ = _lazy.missing(__name__)
