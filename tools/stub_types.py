"""What the stub says about types: its head, types of schemas, members that are no ops.

`tools/make_stubs.py` writes it; what is not named here it finds by looking.
"""

from __future__ import annotations

HEADER = """\
# Written by `make stubs` from the schemas of the compiled module. Do not edit.
# mypy: disable-error-code="overload-overlap,overload-cannot-match,override,misc"
from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import type as _builtin_type
from collections.abc import Callable as _Callable
from collections.abc import Iterator as _Iterator
from collections.abc import Sequence as _Sequence
from typing import Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias, TypeVar
from typing import overload

import numpy as _np

from ember.utils.hooks import RemovableHandle as _RemovableHandle

_S = TypeVar("_S")
_ndarray: TypeAlias = _np.ndarray[Any, Any]

_Number: TypeAlias = _bool | _int | _float | _complex
_Operand: TypeAlias = Tensor | _Number
_Dims: TypeAlias = _int | _Sequence[_int] | None
_Size: TypeAlias = _Sequence[_int]
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_layout: TypeAlias = layout
_DtypeLike: TypeAlias = _dtype | type
_DeviceLike: TypeAlias = _device | _str | _int
"""

# The head of the stub of a namespace, such as ember.linalg.
NAMESPACE = """\
# Written by `make stubs` from the schemas of the compiled module. Do not edit.
# mypy: disable-error-code="overload-overlap,overload-cannot-match"
from builtins import (
    bool as _bool,
    complex as _complex,
    float as _float,
    int as _int,
    str as _str,
)
from collections.abc import Sequence as _Sequence
from typing import Any, Literal, NamedTuple, overload

from ember._C import (
    Generator,
    Size,
    Tensor,
    _DeviceLike,
    _Dims,
    _DtypeLike,
    _Number,
    _Operand,
    _Size,
    memory_format,
)
"""

TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "_Sequence[Tensor]",
    "Tensor?[]": "_Sequence[Tensor | None]",
    "Number": "_Operand",
    "Scalar": "_Number",
    "int": "_int",
    "float": "_float",
    "float[]": "_Sequence[_float]",
    "bool": "_bool",
    "str": "_str",
    "Dims": "_Dims",
    "Size": "_Size",
    "Dtype": "_DtypeLike",
    "Device": "_DeviceLike",
    "Format": "memory_format",
    "Generator": "Generator",
    "Any": "Any",
}
RESULTS = {
    "Tensor": "Tensor",
    "Tensor[]": "tuple[Tensor, ...]",
    "Scalar": "Any",
    "bool": "_bool",
    "int": "_int",
    "float": "_float",
    "str": "_str",
    "Size": "Size",
    "None": "None",
    "Any": "Any",
}

# Attributes of Tensor that are not ops; others that are found are Any.
ATTRIBUTES = {
    "shape": "Size",
    "dtype": "_dtype",
    "device": "_device",
    "layout": "_layout",
    "grad": "Tensor | None",
    "grad_fn": "Node | None",
    "_base": "Tensor | None",
    "names": "tuple[None, ...]",
    "__dict__": None,
    "__doc__": None,
    **dict.fromkeys(("T", "mT", "H", "mH", "real", "imag", "data"), "Tensor"),
    **dict.fromkeys(("ndim", "itemsize", "nbytes", "output_nr", "_version"), "_int"),
    **dict.fromkeys(("requires_grad", "is_leaf", "retains_grad"), "_bool"),
}
WRITABLE = {"grad", "data", "requires_grad", "real", "imag", "__dict__"}

BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
BINARY += ["and", "or", "xor", "lshift", "rshift"]
COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"]
OPERATORS = [
    *(f"def __{n}__(self, other: Any) -> Tensor: ..." for n in BINARY),
    *(f"def __r{n}__(self, other: Any) -> Tensor: ..." for n in BINARY),
    *(f"def __i{n}__(self, other: Any) -> Self: ..." for n in BINARY),
    *(
        f"def __{n}__(self, other: Tensor) -> Tensor: ..."
        for n in ("matmul", "rmatmul")
    ),
    *(f"def __{n}__(self, other: Any) -> Tensor: ..." for n in COMPARISONS),
    *(f"def __{n}__(self) -> Tensor: ..." for n in ("neg", "pos", "abs", "invert")),
    "def __bool__(self) -> _bool: ...",
    "def __int__(self) -> _int: ...",
    "def __float__(self) -> _float: ...",
    "def __index__(self) -> _int: ...",
    "def __len__(self) -> _int: ...",
    "def __buffer__(self, flags: _int, /) -> memoryview: ...",
    "def __hash__(self) -> _int: ...",
    "def __iter__(self) -> _Iterator[Tensor]: ...",
    "def __getitem__(self, index: Any) -> Tensor: ...",
    "def __setitem__(self, index: Any, value: Any) -> None: ...",
]
# What is known of classes other than Tensor; other members are found.
SIGNATURES = {
    "Size": [
        "def __new__(cls, sizes: _Sequence[_int] = ...) -> Self: ...",
        "@overload",
        "def __getitem__(self, index: SupportsIndex) -> _int: ...",
        "@overload",
        "def __getitem__(self, index: slice) -> Size: ...",
        "def __add__(self, other: tuple[_int, ...]) -> Size: ...",
        "def numel(self) -> _int: ...",
    ],
}
BASES = {"Size": "tuple[_int, ...]"}
MEMBERS = {
    ("dtype", "is_floating_point"): "_bool",
    ("dtype", "is_complex"): "_bool",
    ("dtype", "is_signed"): "_bool",
    ("dtype", "itemsize"): "_int",
    ("device", "type"): "_str",
    ("device", "index"): "_int | None",
    ("Generator", "device"): "_device",
    ("Node", "next_functions"): "tuple[tuple[Node | None, _int], ...]",
    ("Node", "metadata"): "dict[Any, Any]",
    ("Node", "requires_grad"): "_bool",
    ("Node", "variable"): "Tensor",
    ("UntypedStorage", "device"): "_device",
    ("UntypedStorage", "filename"): "_str | None",
}
