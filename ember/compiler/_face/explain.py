"""`explain`: what compiling a function comes to, for one call."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ember.compiler._face import compiled as _compiled


class GraphCompileReason(NamedTuple):
    """Why a graph ended: something looked at values."""

    reason: str
    user_stack: list[traceback.FrameSummary]
    graph_break: bool = True


class Group(NamedTuple):
    """Ops that are computed together, in one pass over memory."""

    ops: tuple[str, ...]
    inputs: int
    outputs: int
    shape: tuple[int, ...]
    state: str  # "compiled", or how it ran


@dataclass
class ExplainOutput:
    """What `explain` tells. Printing it gives the text; `draw()` a picture.

    A graph is what was written down until something looked at values, at the end of
    the call if nothing did; a break is such a look. A group is a part of a graph that
    is computed in one pass.
    """

    graph_count: int = 0
    break_reasons: list[GraphCompileReason] = field(default_factory=list)
    op_count: int = 0
    groups: list[Group] = field(default_factory=list)
    kernel_count: int = 0
    eager_group_count: int = 0
    bytes_saved: int = 0
    note: str = ""
    graphs: list[Any] = field(default_factory=list)
    ops_per_graph: list[list[str]] | None = None
    out_guards: list[Any] | None = None
    compile_times: str | None = None

    @property
    def graph_break_count(self) -> int:
        return len(self.break_reasons)

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            f"Kernel Count: {self.kernel_count}",
            f"Bytes Saved: {self.bytes_saved:,}",
        ]
        if self.note:
            lines.append(f"Note: {self.note}")
        lines.append("Break Reasons:")
        for i, reason in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {i}:", f"    Reason: {reason.reason}"]
            lines.append("    User Stack:")
            lines += [f"      {frame}" for frame in reason.user_stack]
        if self.groups:
            lines.append("Groups:")
        for i, group in enumerate(self.groups, 1):
            lines.append(
                f"  Group {i}: {len(group.ops)} ops on {group.shape}, "
                f"{group.inputs} in, {group.outputs} out, {group.state}"
            )
            lines.append(f"    {' '.join(group.ops)}")
        return "\n".join(lines) + "\n"

    def draw(self, file: Any = None) -> Any:
        """A picture of the groups, as a figure of matplotlib; saved if there is a
        `file`."""
        from matplotlib.figure import Figure

        rows = max(1, len(self.groups))
        figure = Figure(figsize=(9, 1 + 0.9 * rows), layout="constrained")
        axes = figure.add_subplot()
        axes.set_title(
            f"{self.op_count} ops, {self.kernel_count} kernels, "
            f"{self.graph_break_count} breaks, {self.bytes_saved:,} bytes saved"
        )
        axes.set_xlim(0, 1)
        axes.set_ylim(-rows, 0)
        axes.axis("off")
        for i, group in enumerate(self.groups):
            color = "#cfe8cf" if group.state == "compiled" else "#eeeeee"
            box = {"boxstyle": "round", "facecolor": color, "edgecolor": "#888888"}
            names = " ".join(group.ops)
            if len(names) > 80:
                names = f"{names[:77]}..."
            axes.text(0.5, -i - 0.5, f"{names}\n{group.shape}", bbox=box, ha="center")
            axes.text(0.0, -i - 0.5, f"{group.inputs} in", va="center")
            axes.text(1.0, -i - 0.5, f"{group.outputs} out", va="center", ha="right")
        if file is not None:
            figure.savefig(file)
        return figure


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """`explain(f)(*args)`: what compiling `f` comes to for these arguments, which it is
    called with.

    >>> import ember
    >>> told = ember.compiler.explain(lambda x: x * 2 + 1)(ember.ones(4))
    >>> told.graph_break_count
    0
    """

    @functools.wraps(f)
    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        return _explained(_compiled.innermost(f), args, kwargs)

    if extra_args or extra_kwargs:
        import warnings

        warnings.warn(
            "explain(f, *args, **kwargs) is deprecated, use explain(f)(*args, "
            "**kwargs) instead",
            FutureWarning,
            stacklevel=2,
        )
        return inner(*extra_args, **extra_kwargs)
    return inner


def _explained(f: Callable[..., Any], args: tuple, kwargs: dict) -> ExplainOutput:
    f(*args, **kwargs)
    return ExplainOutput(note="programs run op by op: there is no recorder here")
