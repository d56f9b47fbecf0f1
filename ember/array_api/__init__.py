"""The Python array API standard, 2024.12: what libraries for any arrays ask for.

`x.__array_namespace__()` is this module. Functions have the standard's names, arguments
and dtypes, and take and give ordinary tensors, with gradients.

>>> import ember
>>> x = ember.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> xp = x.__array_namespace__()
>>> xp.sum(x, axis=0, keepdims=True)
tensor([[4., 6.]])
>>> xp.permute_dims(x, (1, 0)).shape
torch.Size([2, 2])
"""

from __future__ import annotations

from math import e as e, inf as inf, nan as nan, pi as pi
from typing import Any

import ember
from ember import (
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    device as _device,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    uint8 as uint8,
)
from ember.array_api import _elementwise, _reduce, _shapes, fft as fft, linalg as linalg
from ember.array_api._elementwise import *
from ember.array_api._reduce import *
from ember.array_api._shapes import *
from ember.array_api.linalg import (
    matmul as matmul,
    matrix_transpose as matrix_transpose,
    tensordot as tensordot,
    vecdot as vecdot,
)

newaxis = None
__array_api_version__ = "2024.12"


class Info:
    """What `__array_namespace_info__` gives: devices, dtypes, abilities."""

    def capabilities(self) -> dict[str, Any]:
        """What this library can do beyond the least."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }

    def default_device(self) -> Any:
        """Where new arrays are."""
        return ember.get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of new arrays by their kind."""
        real = ember.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes (of this kind, or of these) by their names."""
        kinds = ("bool", "numeric") if kind is None else kind
        kinds = (kinds,) if isinstance(kinds, str) else kinds
        found = [d for each in kinds for d in _shapes.KINDS[each]]
        return {str(dtype).rpartition(".")[2]: dtype for dtype in found}

    def devices(self) -> list:
        """All devices of this machine."""
        count = ember.opencl.device_count() if ember.opencl.is_available() else 0
        return [_device("cpu"), *(_device("opencl", i) for i in range(count))]


def __array_namespace_info__() -> Info:
    """Facts about this library.

    >>> import ember
    >>> info = ember.array_api.__array_namespace_info__()
    >>> info.dtypes(kind="bool")
    {'bool': torch.bool}
    """
    return Info()


__all__ = [
    *(_elementwise.__all__ + _reduce.__all__ + _shapes.__all__),
    *"matmul matrix_transpose tensordot vecdot fft linalg newaxis".split(),
    *"e inf nan pi bool complex64 complex128 float32 float64".split(),
    *"int8 int16 int32 int64 uint8".split(),
    "__array_api_version__",
    "__array_namespace_info__",
]
