"""`explain`: what compiling a function comes to, for one call."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ember import _C
from ember.compiler import _llvm, _regions
from ember.compiler._face import compiled as _compiled


class GraphCompileReason(NamedTuple):
    """Why a graph ended: something looked at values."""

    reason: str
    user_stack: list[traceback.FrameSummary]
    graph_break: bool = True


class Group(NamedTuple):
    """Ops that are computed together, in one pass over memory."""

    ops: int
    inputs: int
    outputs: int
    elements: int
    state: str  # "ready": by machine code; "op by op", or on the way there

    def __str__(self) -> str:
        return (
            f"{self.ops} ops on {self.elements:,} elements, {self.inputs} in, "
            f"{self.outputs} out: {self.state}"
        )


@dataclass
class ExplainOutput:
    """What `explain` tells. Printing it gives the text; `draw()` a picture.

    A graph is what was written down until something needed its values: an op that is
    not pointwise, or the end of the call. A break is where Python looked at values that
    were put off, by `item()`, `if`, `tolist()` or NumPy. A group is the part of a graph
    that is computed in one pass over memory, by one kernel.
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
        lines += [f"  Group {i}: {group}" for i, group in enumerate(self.groups, 1)]
        return "\n".join(lines) + "\n"

    def draw(self, file: Any = None) -> Any:
        """A picture of the groups, as a figure of matplotlib; saved if there is a
        `file`."""
        from matplotlib.figure import Figure

        rows = max(1, len(self.groups))
        figure = Figure(figsize=(8, 1 + 0.4 * rows), layout="constrained")
        axes = figure.add_subplot()
        axes.set_title(
            f"{self.graph_count} graphs, {self.graph_break_count} breaks, "
            f"{self.kernel_count} kernels, {self.bytes_saved / 1e6:.1f} MB saved"
        )
        colors = {"ready": "tab:green"}
        for i, group in enumerate(self.groups):
            color = colors.get(group.state, "tab:gray")
            axes.barh(i, group.ops, color=color, label=group.state)
            told = (
                f" {group.elements:,} elements, {group.inputs} in, {group.outputs} out"
            )
            axes.text(group.ops, i, told, va="center", fontsize="small")
        axes.set_yticks(range(len(self.groups)))
        axes.set_yticklabels([f"group {i + 1}" for i in range(len(self.groups))])
        axes.set_xlim(0, 1.8 * max([group.ops for group in self.groups], default=1))
        axes.set_xlabel("ops; green: machine code")
        axes.invert_yaxis()
        if file is not None:
            figure.savefig(file)
        return figure


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """`explain(f)(*args)`: what compiling `f` comes to for these arguments, which it is
    called with twice, since code is there from the second call on.

    >>> import ember
    >>> told = ember.compiler.explain(lambda x: x * 2 + 1)(ember.ones(5000))
    >>> told.graph_count, told.graph_break_count, told.op_count
    (1, 0, 2)
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
    key = _compiled.new_key()
    told = []
    for _ in range(2):
        with _regions.region(key, wait=True):
            kept = f(*args, **kwargs)  # what nobody has any more is not computed
        del kept
        told.append(_C._lazy_stats(key))
    one = {
        name: told[1][name] - told[0][name]
        for name in ("graphs", "primitives", "kernels", "eager_groups", "bytes_saved")
    }
    return ExplainOutput(
        graph_count=one["graphs"],
        break_reasons=[_reason(*found) for found in told[1]["breaks"]],
        op_count=one["primitives"],
        groups=[Group(*group) for group in told[1]["groups"]],
        kernel_count=one["kernels"],
        eager_group_count=one["eager_groups"],
        bytes_saved=one["bytes_saved"],
        note=_llvm.why_not(),
    )


def _reason(file: str, line: int, times: int) -> GraphCompileReason:
    frame = traceback.FrameSummary(file, line, "")
    return GraphCompileReason(
        f"values that were put off were looked at in {file}:{line}: {frame.line}",
        [frame],
    )
