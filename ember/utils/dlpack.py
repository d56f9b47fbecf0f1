"""Exchange of tensors with other libraries without a copy.

>>> import ember, numpy
>>> ember.utils.dlpack.from_dlpack(numpy.arange(3))
tensor([0, 1, 2])
"""

from ember._C import _to_dlpack as to_dlpack
from ember._C import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
