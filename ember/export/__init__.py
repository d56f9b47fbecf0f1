"""Whole programs as graphs of aten's ops, with the sizes that may vary.

`export` runs a module once and writes down its ops: docs/export.md is the guide.

>>> import ember
>>> class Double(ember.nn.Module):
...     def forward(self, x):
...         return x * 2
>>> batch = ember.export.Dim("batch")
>>> program = ember.export.export(
...     Double(), (ember.ones(2, 3),), dynamic_shapes=({0: batch},)
... )
>>> tuple(program.module()(ember.ones(5, 3)).shape)
(5, 3)
"""

from __future__ import annotations

from typing import Any

from ember import _lazy, _unavailable
from ember.export._sizes import Dim
from ember.export.exported_program import ExportedProgram
from ember.export.graph_signature import ExportGraphSignature


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


def export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    **options: Any,
) -> ExportedProgram:
    """The program of a module: run it once with `args` and write down its ops.

    `dynamic_shapes` says which sizes may vary: for each argument, by name or position,
    a dict or list of `Dim`, `Dim.AUTO` or None. Everything else about the inputs, and
    Python's decisions, are as in this run. A program that decides by the values of
    tensors cannot be exported, and says so.

    >>> import ember
    >>> program = ember.export.export(ember.nn.Linear(3, 2), (ember.ones(1, 3),))
    >>> [node.name for node in program.graph.nodes]
    ['p_weight', 'p_bias', 'input_1', 'linear', 'output']
    """
    from ember.export._trace import record
    from ember.nn import Module

    if not isinstance(mod, Module):
        raise ValueError(
            f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}."
        )
    if not isinstance(args, tuple):
        raise TypeError(f"export(): args must be a tuple, got {type(args).__name__}")
    return record(mod, args, dict(kwargs or {}), dynamic_shapes)


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    """Write a program to a file, all of it or nothing.

    >>> import ember, io
    >>> file = io.BytesIO()
    >>> program = ember.export.export(ember.nn.ReLU(), (ember.ones(1),))
    >>> ember.export.save(program, file)
    >>> ember.export.load(file).module()(ember.tensor([-1.0]))
    tensor([0.])
    """
    from ember.export import _files

    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got "
            f"{type(ep)}"
        )
    _files.save(ep, f, extra_files)


def load(
    f: Any, *, extra_files: dict[str, Any] | None = None, **options: Any
) -> ExportedProgram:
    """Read a program that `save` wrote. Nothing in the file is run."""
    from ember.export import _files

    return _files.load(f, extra_files)


_unavailable.fill(
    globals(),
    "export",
    "only whole programs are exported",
    """AdditionalInputs Constraint CustomDecompTable ExportBackwardSignature
    FlatArgsAdapter ModuleCallEntry ModuleCallSignature ShapesCollection
    UnflattenedModule default_decompositions draft_export unflatten""",
)
__all__ += [  # type: ignore[name-defined]  # noqa: F821 (begun by `fill`)
    "Dim",
    "ExportGraphSignature",
    "ExportedProgram",
    "dims",
    "export",
    "load",
    "register_dataclass",
    "save",
]
__getattr__ = _lazy.missing(__name__)
