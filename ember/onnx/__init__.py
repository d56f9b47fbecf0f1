"""Models in ONNX, for other runtimes: `export`. docs/export.md is the guide.

>>> import ember
>>> ember.onnx.is_in_onnx_export()
False
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

from ember import _lazy, _unavailable

_REASON = "models are written by ember.onnx.export only"
_exporting = False


def is_in_onnx_export() -> bool:
    """Whether the model that asks is being exported by `export`."""
    return _exporting


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


def _check_operator(symbolic_name: str, caller: str) -> None:
    _, colons, name = symbolic_name.partition("::")
    if not colons or not name or "::" in name:
        raise OnnxExporterError(
            f"onnx.{caller}(): {symbolic_name!r} names no operator; write "
            "'library::name'"
        )


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Any, opset_version: int
) -> None:
    """For the exporter by TorchScript, which is not here: nothing is kept.

    Libraries register functions as they are imported. As in PyTorch, `export` does
    not call them: it writes the operators that one of a library is made of, and takes
    translations of its own in `custom_translation_table`.
    """
    _check_operator(symbolic_name, "register_custom_op_symbolic")


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """There is nothing to forget: see `register_custom_op_symbolic`."""
    _check_operator(symbolic_name, "unregister_custom_op_symbolic")


_unavailable.fill(
    globals(),
    "onnx",
    _REASON,
    """ExportableModule InputObserver JitScalarType select_model_mode_for_export""",
)


class ONNXProgram:
    """A model as `export` made it; `save` writes it to a file."""

    def __init__(self, model_proto: Any, exported_program: Any) -> None:
        self.model_proto, self.exported_program = model_proto, exported_program

    def save(self, destination: Any, *, external_data: bool | None = None) -> None:
        """Write the model; tensors go to a file beside it if they are 2 GB or more."""
        import onnx

        size = sum(len(t.raw_data) for t in self.model_proto.graph.initializer)
        beside = (
            size >= (1 << 31) - (1 << 24) if external_data is None else external_data
        )
        onnx.save_model(
            self.model_proto,
            destination,
            save_as_external_data=beside,
            size_threshold=0,
            location=f"{str(destination).rpartition('/')[2]}.data" if beside else None,
        )


def _shapes_of_axes(
    axes: dict[str, Any], names: list[str], count: int
) -> list[dict[int, Any]]:
    """`dynamic_axes` (for a name, a dict or list of dimensions) of `count` inputs."""
    from ember.export import Dim

    shapes = []
    for name in [*names, *[""] * count][:count]:
        dims = axes.get(name, {})
        if not isinstance(dims, dict):
            dims = {dim: f"{name}_dim_{dim}" for dim in dims}
        shapes.append({dim: Dim(str(label)) for dim, label in dims.items()})
    return shapes


def _record(model: Any, args: tuple, kwargs: Any, dynamic_shapes: Any) -> Any:
    from ember.export import export as record

    global _exporting
    _exporting, before = True, _exporting
    try:
        return record(model, args, kwargs, dynamic_shapes=dynamic_shapes)
    finally:
        _exporting = before


def export(
    model: Any,
    args: tuple[Any, ...] = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    input_names: list[str] | None = None,
    output_names: list[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    external_data: bool | None = None,
    custom_translation_table: dict[Any, Any] | None = None,
    **options: Any,
) -> ONNXProgram:
    """A model (a module or an `ExportedProgram`) in ONNX, written to `f` if given.

    `dynamic_shapes` (see `ember.export.export`) or `dynamic_axes` (by `input_names`)
    say which sizes may vary. An op without a translation is an error that names it. The
    package `onnx` is needed.
    """
    from ember.export import ExportedProgram
    from ember.onnx import _export
    from ember.onnx._table import TABLE

    if opset_version is not None and opset_version < _export.OPSET:
        raise ValueError(
            f"onnx.export(): opset_version {opset_version}; the least is "
            f"{_export.OPSET}"
        )
    if isinstance(model, ExportedProgram):
        program = model
    else:
        args = args if isinstance(args, tuple) else (args,)
        if dynamic_axes and dynamic_shapes is None:
            count = len(args) + len(kwargs or {})
            dynamic_shapes = _shapes_of_axes(dynamic_axes, input_names or [], count)
        program = _record(model, args, kwargs, dynamic_shapes)
    custom = {
        getattr(k, "__name__", k): v
        for k, v in (custom_translation_table or {}).items()
    }
    proto = _export.build(
        program, input_names, output_names, opset_version or _export.OPSET,
        {**TABLE, **custom},
    )  # fmt: skip
    made = ONNXProgram(proto, program)
    if f is not None:
        made.save(f, external_data=external_data)
    return made


__all__ += ["ONNXProgram", "export"]  # type: ignore[name-defined]  # noqa: F821
__getattr__ = _lazy.missing(__name__)
