"""Whole programs as graphs: the names; `export` itself raises."""

from __future__ import annotations

from typing import Any

from ember import _lazy, _unavailable

_REASON = "ember does not record programs as graphs yet"


class Dim:
    """A size by name, with its bounds."""

    AUTO = "Dim.AUTO"
    DYNAMIC = "Dim.DYNAMIC"
    STATIC = "Dim.STATIC"

    def __init__(
        self, name: str, *, min: int | None = None, max: int | None = None
    ) -> None:
        low, high = min or 0, float("inf") if max is None else max
        if high <= low:
            raise AssertionError(
                f"Cannot create Dim with inconsistent min={min}, max={max}"
            )
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, low, high

    def __repr__(self) -> str:
        return f"Dim('{self.__name__}')"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple:
    """A `Dim` for each name.

    >>> import ember
    >>> ember.export.dims("height", "width")
    (Dim('height'), Dim('width'))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


def register_dataclass(cls: Any, *, serialized_type_name: str | None = None) -> None:
    """Let trees (`utils._pytree`) look into a dataclass."""
    from ember.utils import _pytree

    _pytree.register_dataclass(cls)


_unavailable.fill(
    globals(),
    "export",
    _REASON,
    """AdditionalInputs Constraint CustomDecompTable ExportBackwardSignature
    ExportGraphSignature ExportedProgram FlatArgsAdapter ModuleCallEntry
    ModuleCallSignature ShapesCollection UnflattenedModule default_decompositions
    draft_export export load save unflatten""",
)
__getattr__ = _lazy.missing(__name__)
