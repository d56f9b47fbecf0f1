"""Types of arguments, for hints.

>>> import ember
>>> isinstance(ember.device("cpu"), ember.types.Device)
True
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias

import ember
from ember import Tensor
from ember.autograd.graph import GradientEdge

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = (
    Tensor | Sequence[Tensor] | GradientEdge | Sequence[GradientEdge]
)
_dtype = ember.dtype
_device = ember.device
_qscheme = Any
_layout = ember.layout
_size = ember.Size | list[int] | tuple[int, ...]
_symsize = _size
_dispatchkey = str | Any
_int, _float, _bool, _complex = int, float, builtins.bool, complex
_bytes = bytes
Number: TypeAlias = int | float | builtins.bool
_Number = (int, float, builtins.bool)
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = builtins.bool
py_sym_types = (int, float, builtins.bool)
PySymType: TypeAlias = int | float | builtins.bool
FileLike: TypeAlias = Any
Device = ember.device | str | int | None
DeviceLikeType: TypeAlias = str | ember.device | int


class Storage:
    """What storages have in common."""
