"""How notebooks show tensors and modules."""

from __future__ import annotations

from html import escape
from typing import Any

import ember
from ember import Tensor

_MOST = 12  # rows and columns that a table shows
_CELL = "padding:1px 6px;text-align:right;border:none"


def tensor(x: Tensor) -> str:
    """A line with shape, dtype and device; below it the values, as a table if they are
    numbers in one or two dimensions, else as they are printed."""
    facts = [f"shape {list(x.shape)}", str(x.dtype).rpartition(".")[2], str(x.device)]
    if x.requires_grad:
        facts.append("requires grad")
    head = f"<div><small>Tensor · {escape(' · '.join(facts))}</small></div>"
    plain = x.layout == ember.strided and x.device.type != "meta"
    plain = plain and type(x) in (Tensor, ember.nn.Parameter, ember.nn.Buffer)
    if not (plain and x.ndim in (1, 2) and x.numel() and not x.is_nested):
        return f"<div>{head}<pre>{escape(repr(x))}</pre></div>"
    rows = x.detach().reshape(-1, x.shape[-1])
    return f"<div>{head}{_table(rows)}</div>"


def _table(rows: Tensor) -> str:
    height, width = rows.shape
    ys, xs = _shown(height), _shown(width)
    lines = []
    for y in ys:
        cells = []
        for x in xs:
            text = (
                "⋯" if x is None else "⋮" if y is None else _number(rows[y, x].item())
            )
            cells.append(f'<td style="{_CELL}">{escape(text)}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<table style="border-collapse:collapse">{"".join(lines)}</table>'


def _shown(size: int) -> list[int | None]:
    """Which of `size` places are shown; None stands for those left out."""
    if size <= _MOST:
        return list(range(size))
    half = _MOST // 2
    return [*range(half), None, *range(size - half, size)]


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | complex) else str(value)


def module(m: ember.nn.Module) -> str:
    """The tree of layers, to open and close, with their numbers of parameters."""
    total = sum(
        0 if ember.nn.parameter.is_lazy(p) else p.numel() for p in m.parameters()
    )
    return f"<div>{_branch('', m)}<small>{total:,} parameters</small></div>"


def _branch(name: str, m: Any) -> str:
    label = f"<b>{escape(type(m).__name__)}</b>({escape(m.extra_repr())})"
    if name:
        label = f"{escape(name)}: {label}"
    inside = "".join(_branch(key, child) for key, child in m.named_children())
    if not inside:
        return f'<div style="margin-left:1.5em">{label}</div>'
    return (
        f'<details open style="margin-left:1em"><summary>{label}</summary>{inside}'
        "</details>"
    )
