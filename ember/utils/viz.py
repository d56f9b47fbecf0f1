"""Pictures of a program, as SVG: its autograd graph, its memory over time.

>>> import ember, os, tempfile
>>> from ember.utils.viz import save_graph
>>> w = ember.randn(3, requires_grad=True)
>>> path = os.path.join(tempfile.mkdtemp(), "graph.svg")
>>> save_graph((w * w).sum(), path, {"w": w})
>>> os.path.getsize(path) > 500
True
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from ember._files import replacing

if TYPE_CHECKING:
    import ember
    from ember.profiler import profile

_FONT = 'font-family="DejaVu Sans Mono, Menlo, monospace" font-size="12"'
_COLORS = {"op": "#dbe7f5", "leaf": "#fde3cf", "root": "#dcefdf"}


@dataclass
class _Box:
    text: list[str]
    kind: str
    inputs: list[_Box] = field(default_factory=list)
    layer: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        return 7.3 * max(len(line) for line in self.text) + 16

    @property
    def height(self) -> float:
        return 16.0 * len(self.text) + 8


def save_graph(
    tensor: ember.Tensor,
    path: str | os.PathLike,
    params: Mapping[str, ember.Tensor] | Iterable[tuple[str, ember.Tensor]] = (),
) -> None:
    """Draw what backward() of `tensor` will run, from the result down to the leaves.

    `params` gives names to leaves: `model.named_parameters()`, or a dict.
    """
    if tensor.grad_fn is None:
        raise ValueError("save_graph(): the tensor was not computed with gradients")
    pairs = params.items() if isinstance(params, Mapping) else params
    names = {id(value): name for name, value in pairs}
    boxes: dict[Any, _Box] = {}
    order: list[Any] = []
    stack = [tensor.grad_fn]
    while stack:
        node = stack.pop()
        if node in boxes:
            continue
        boxes[node] = _box(node, names)
        order.append(node)
        stack.extend(after for after, _ in node.next_functions if after is not None)
    root = _Box(["result", str(tuple(tensor.shape))], "root")
    root.inputs = [boxes[tensor.grad_fn]]
    for node in order:
        boxes[node].inputs = [boxes[n] for n, _ in node.next_functions if n is not None]
    _write(path, *_draw(_layers(root, list(boxes.values()))))


def _box(node: Any, names: dict[int, str]) -> _Box:
    variable = getattr(node, "variable", None)
    if variable is None:
        return _Box([node.name().removesuffix("0")], "op")
    name = names.get(id(variable), "leaf")
    return _Box([name, str(tuple(variable.shape))], "leaf")


def _layers(root: _Box, boxes: list[_Box]) -> list[list[_Box]]:
    """Boxes by their longest way from the root, so that every edge goes down."""
    waiting = {id(box): 0 for box in boxes}
    for box in boxes:
        for below in box.inputs:
            waiting[id(below)] += 1
    ready = [root]
    waiting[id(root.inputs[0])] += 1
    layers: list[list[_Box]] = []
    while ready:
        box = ready.pop()
        while len(layers) <= box.layer:
            layers.append([])
        layers[box.layer].append(box)
        for below in box.inputs:
            below.layer = max(below.layer, box.layer + 1)
            waiting[id(below)] -= 1
            if waiting[id(below)] == 0:
                ready.append(below)
    return layers


def _draw(layers: list[list[_Box]]) -> tuple[float, float, list[str]]:
    gap, y = 14.0, 10.0
    above: dict[int, list[_Box]] = {}
    for layer in layers:
        for box in layer:
            for below in box.inputs:
                above.setdefault(id(below), []).append(box)
    for layer in layers:
        wish = {
            id(box): sum(b.x + b.width / 2 for b in above.get(id(box), []))
            / max(len(above.get(id(box), [])), 1)
            for box in layer
        }
        layer.sort(key=lambda box: wish[id(box)])
        x = 0.0
        for box in layer:
            box.x = max(x, wish[id(box)] - box.width / 2)
            box.y = y
            x = box.x + box.width + gap
        y += max(box.height for box in layer) + 26
    left = min(box.x for layer in layers for box in layer) - 10
    parts = []
    for layer in layers:
        for box in layer:
            box.x -= left
    for layer in layers:
        for box in layer:
            for below in box.inputs:
                x0, y0 = box.x + box.width / 2, box.y + box.height
                x1, y1 = below.x + below.width / 2, below.y
                middle = (y0 + y1) / 2
                parts.append(
                    f'<path d="M{x0:.1f} {y0:.1f} C{x0:.1f} {middle:.1f} '
                    f'{x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}" '
                    'fill="none" stroke="#8a929e"/>'
                )
    for layer in layers:
        for box in layer:
            parts.append(
                f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
                f'height="{box.height:.1f}" rx="4" fill="{_COLORS[box.kind]}" '
                'stroke="#5b6675"/>'
            )
            for i, line in enumerate(box.text):
                parts.append(
                    f'<text x="{box.x + box.width / 2:.1f}" '
                    f'y="{box.y + 17 + 16 * i:.1f}" text-anchor="middle" {_FONT}>'
                    f"{escape(line)}</text>"
                )
    width = max(box.x + box.width for layer in layers for box in layer) + 10
    return width, y, parts


def memory_timeline(prof: profile, path: str | os.PathLike) -> None:
    """Draw the memory in use by tensors while `prof` recorded.

    The profile must have been made with `profile_memory=True`. The largest steps are
    named.
    """
    events = sorted(prof.events(), key=lambda e: e.end)
    moments = prof.events().memory_in_use()
    if len(moments) < 2:
        raise ValueError(
            "memory_timeline(): no memory was recorded: use profile_memory=True"
        )
    first, last = moments[0][0], events[-1].end
    width, height, left, top = 900.0, 360.0, 80.0, 30.0
    low, high = min(used for _, used in moments), max(used for _, used in moments)
    points = [moments[0]]
    for when, used in moments[1:]:
        points += [(when, points[-1][1]), (when, used)]
    points.append((last, points[-1][1]))

    def place(when: float, amount: float) -> tuple[float, float]:
        x = left + (when - first) / max(last - first, 1e-9) * (width - left - 20)
        y = height - 40 - (amount - low) / max(high - low, 1) * (height - 40 - top)
        return x, y

    parts = []
    from ember.profiler.events import format_memory, format_time

    for i in range(5):
        amount = low + (high - low) * i / 4
        _, y = place(first, amount)
        parts.append(
            f'<line x1="{left}" y1="{y:.1f}" x2="{width - 20}" y2="{y:.1f}" '
            'stroke="#e3e6ea"/>'
            f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end" {_FONT}>'
            f"{format_memory(round(amount))}</text>"
        )
    line = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in points)
    x0, y0 = place(first, low)
    x1, _ = place(last, low)
    parts.append(
        f'<polygon points="{x0:.1f},{y0:.1f} {line} {x1:.1f},{y0:.1f}" '
        'fill="#cfe0f3" stroke="none"/>'
        f'<polyline points="{line}" fill="none" stroke="#2970bf" stroke-width="1.5"/>'
    )
    largest = sorted(events, key=lambda e: -e.self_cpu_memory_usage)[:6]
    taken: list[tuple[float, float, float]] = []
    for event in largest:
        x, y = place(event.end, event.bytes_after)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#e66b21"/>')
        at = _free_place(event.name, x, y, width, height - 40, taken)
        if at is not None:
            parts.append(
                f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" {_FONT}>'
                f"{escape(event.name)}</text>"
            )
    parts.append(
        f'<text x="{width - 20}" y="{height - 14}" text-anchor="end" {_FONT}>'
        f"{format_time(last - first)}</text>"
        f'<text x="{left}" y="18" {_FONT}>memory in use, peak '
        f"{format_memory(high)}</text>"
    )
    _write(path, width, height, parts)


def _free_place(
    text: str,
    x: float,
    y: float,
    right: float,
    bottom: float,
    taken: list[tuple[float, float, float]],
) -> tuple[float, float] | None:
    """Where a label beside a point overlaps none of those in `taken` (left, base,
    width), which it joins; None if there is no room near."""
    wide = 7.3 * len(text)
    left = min(x + 5, right - wide - 4)
    for step in range(12):
        base = y - 5 + (step + 1) // 2 * 15 * (1 if step % 2 else -1)
        inside = 30 <= base <= bottom
        clear = all(
            abs(base - other) >= 14 or left + wide <= start or start + size <= left
            for start, other, size in taken
        )
        if inside and clear:
            taken.append((left, base, wide))
            return left, base
    return None


def _write(
    path: str | os.PathLike, width: float, height: float, parts: list[str]
) -> None:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        '<rect width="100%" height="100%" fill="white"/>'
    )
    with replacing(path, text=True) as file:
        file.write("\n".join([head, *parts, "</svg>\n"]))
