"""Export to ONNX: the names, for programs that ask whether they are being exported.

>>> import ember
>>> ember.onnx.is_in_onnx_export()
False
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

from ember import _lazy, _unavailable

_REASON = "ember does not write ONNX files yet"


def is_in_onnx_export() -> bool:
    """False."""
    return False


class OnnxExporterError(RuntimeError):
    """What went wrong in an export."""


class OperatorExportTypes(Enum):
    """How operators that ONNX lacks are written."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(Enum):
    """Whether a model is written for training."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class TensorProtoDataType(IntEnum):
    """ONNX's numbers of dtypes."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Any, opset_version: int
) -> None:
    """Kept by nobody: how an operator would be exported, and `export` raises."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """There is nothing to forget."""


_unavailable.fill(
    globals(),
    "onnx",
    _REASON,
    """ExportableModule InputObserver JitScalarType ONNXProgram export
    select_model_mode_for_export""",
)
__getattr__ = _lazy.missing(__name__)
