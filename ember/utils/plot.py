"""Line plots as PNG files with tensors and zlib only, for loss curves and the like.

Everything is drawn as strokes: a stroke's coverage of a pixel falls off over one pixel
at its edge, which makes lines and letters smooth. The letters are in `_strokes`.
"""

import itertools
import math
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import ember
from ember._files import replacing
from ember.utils._strokes import strokes

_INK = (0.20, 0.22, 0.26)
_FAINT = (0.90, 0.91, 0.93)
COLORS = (
    (0.16, 0.44, 0.75),
    (0.90, 0.42, 0.13),
    (0.20, 0.60, 0.36),
    (0.75, 0.22, 0.30),
    (0.48, 0.36, 0.66),
    (0.45, 0.45, 0.47),
)
# Pictures are the host's, whatever the defaults for tensors are.
_OPTIONS: Any = {"dtype": ember.float64, "device": "cpu"}


def _numbers(values) -> ember.Tensor:
    return ember.as_tensor(values, **_OPTIONS).detach()


class Line:
    """One curve: values, where they stand on the x axis, and how it looks."""

    def __init__(
        self,
        y: Sequence[float],
        x: Sequence[float] | None = None,
        label: str = "",
        color: tuple[float, float, float] | None = None,
        width: float = 2.5,
        alpha: float = 1.0,
    ) -> None:
        self.y = _numbers(y)
        self.x = _numbers(range(len(self.y)) if x is None else x)
        self.label, self.color, self.width, self.alpha = label, color, width, alpha


def save_plot(
    path,
    lines: Sequence[Line],
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    size: tuple[int, int] = (960, 600),
    log_y: bool = False,
) -> None:
    """Draw curves and write them to a PNG file.

    >>> import os, tempfile
    >>> from ember.utils.plot import Line, save_plot
    >>> path = os.path.join(tempfile.mkdtemp(), "loss.png")
    >>> save_plot(path, [Line([3.0, 2.0, 1.5], label="loss")], title="Training")
    >>> open(path, "rb").read(4)
    b'\\x89PNG'
    """
    canvas = Canvas(*size)
    axes = _Axes(canvas, lines, log_y)
    axes.draw(xlabel, ylabel)
    canvas.text(title, axes.left, 30, 17, weight=2.0)
    for line, color in zip(lines, _line_colors(lines)):
        points = axes.place(line)
        canvas.polyline(points, line.width, color, line.alpha)
    _legend(canvas, axes, lines)
    image = png(canvas.pixels)
    with replacing(path) as file:
        file.write(image)


def _line_colors(lines: Sequence[Line]) -> list:
    return [line.color or COLORS[i % len(COLORS)] for i, line in enumerate(lines)]


def png(pixels: ember.Tensor) -> bytes:
    """An image [height, width, 3] of values in [0, 1] as a PNG file."""
    pixels = _numbers(pixels)
    height, width, _ = pixels.shape
    levels = (pixels * 255 + 0.5).to(ember.uint8).reshape(height, -1)
    rows = ember.nn.functional.pad(levels, (1, 0))  # each row starts with filter 0

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )


class Canvas:
    """White pixels, and smooth strokes upon them. Coordinates go right and down."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.pixels = ember.ones(height, width, 3, **_OPTIONS)

    def polyline(self, points, width=1.0, color=_INK, alpha: float = 1.0) -> None:
        """Connect points; a single one is a dot. Points that are not finite break it.

        The coverage of all segments is joined before it is blended, so that where
        they meet or cross nothing is drawn twice.
        """
        cover = ember.zeros(self.height, self.width, **_OPTIONS)
        points = list(points) * 2 if len(points) == 1 else points
        for start, end in itertools.pairwise(points):
            if all(map(math.isfinite, (*start, *end))):
                self._cover(cover, start, end, width / 2)
        self._blend(cover * alpha, color)

    def rectangle(self, left, top, right, bottom, color, alpha: float = 1.0) -> None:
        """Fill whole pixels."""
        cover = ember.zeros(self.height, self.width, **_OPTIONS)
        cover[int(top) : int(bottom), int(left) : int(right)] = alpha
        self._blend(cover, color)

    def _cover(self, cover: ember.Tensor, a, b, radius: float) -> None:
        """Raise `cover` to what the segment from a to b covers of each pixel."""
        reach = radius + 1
        left = max(int(min(a[0], b[0]) - reach), 0)
        right = min(int(max(a[0], b[0]) + reach) + 2, self.width)
        top = max(int(min(a[1], b[1]) - reach), 0)
        bottom = min(int(max(a[1], b[1]) + reach) + 2, self.height)
        if left >= right or top >= bottom:
            return
        x = ember.arange(left, right, **_OPTIONS)[None, :] + 0.5 - a[0]
        y = ember.arange(top, bottom, **_OPTIONS)[:, None] + 0.5 - a[1]
        dx, dy = b[0] - a[0], b[1] - a[1]
        length = dx * dx + dy * dy
        along = ((x * dx + y * dy) / length).clamp(0, 1) if length else 0.0
        distance = ember.hypot(x - along * dx, y - along * dy)
        part = cover[top:bottom, left:right]
        ember.maximum(part, (radius + 0.5 - distance).clamp(0, 1), out=part)

    def _blend(self, cover: ember.Tensor, color) -> None:
        touched = cover != 0
        under, weight = self.pixels[touched], cover[touched].unsqueeze(1)
        self.pixels[touched] = under.lerp(_numbers(color), weight)

    def text(
        self, text, x, y, size=13.0, color=_INK, align="left", weight=1.35
    ) -> None:
        """Write on the base line `y`; `size` is the height of a capital letter."""
        unit = size / 6 * 0.82
        advance = 6.0 * unit
        total = advance * len(text) - 2 * unit
        x -= {"left": 0, "center": total / 2, "right": total}[align]
        for char in text:
            for line in strokes(char):
                points = [(x + px * unit, y + (py - 6) * unit) for px, py in line]
                dot = len(line) == 1
                self.polyline(points, weight * 1.6 if dot else weight, color)
            x += advance


def text_width(text: str, size: float = 13.0) -> float:
    """How wide `Canvas.text` writes."""
    unit = size / 6 * 0.82
    return 6.0 * unit * len(text) - 2 * unit


class _Axes:
    """The frame of a plot: where values stand, ticks and their labels."""

    def __init__(self, canvas: Canvas, lines: Sequence[Line], log_y: bool) -> None:
        self.canvas, self.log_y = canvas, log_y
        y = ember.cat([line.y for line in lines] or [_numbers([0])])
        x = ember.cat([line.x for line in lines] or [_numbers([0])])
        y, x = y[y.isfinite()], x[x.isfinite()]
        if log_y:
            y = y[y > 0].log10()
        self.x_low, self.x_high = _range(x, 0.0)
        self.y_low, self.y_high = _range(y, 0.04)
        if not log_y and len(y) and 0 <= y.min() < 0.4 * y.max():
            self.y_low = 0.0
        self.y_ticks = _ticks(self.y_low, self.y_high, 6, whole=log_y)
        self.x_ticks = _ticks(self.x_low, self.x_high, 8)
        self.y_labels = [self._label(t) for t in self.y_ticks]
        widest = max([text_width(label) for label in self.y_labels], default=0)
        self.left, self.right = 34 + widest, canvas.width - 36
        self.top, self.bottom = 72, canvas.height - 62

    def _label(self, tick: float) -> str:
        return _number(10.0**tick if self.log_y else tick)

    def _x(self, x):
        share = (x - self.x_low) / (self.x_high - self.x_low)
        return self.left + share * (self.right - self.left)

    def _y(self, y):
        share = (y - self.y_low) / (self.y_high - self.y_low)
        return self.bottom - share * (self.bottom - self.top)

    def place(self, line: Line) -> list:
        """The points of a curve on the canvas."""
        y = line.y
        if self.log_y:
            y = y.where(y > 0, math.nan).log10()
        return ember.stack([self._x(line.x), self._y(y)], 1).tolist()

    def draw(self, xlabel: str, ylabel: str) -> None:
        canvas, left, right = self.canvas, self.left, self.right
        for tick, label in zip(self.y_ticks, self.y_labels):
            y = round(self._y(tick)) + 0.5
            canvas.polyline([(left, y), (right, y)], 1.0, _FAINT)
            canvas.text(label, left - 10, y + 5, align="right")
        base = round(self.bottom) + 0.5
        for tick in self.x_ticks:
            x = round(self._x(tick)) + 0.5
            canvas.polyline([(x, base), (x, base + 5)], 1.0, _INK)
            canvas.text(_number(tick), x, base + 22, align="center")
        canvas.polyline([(left, base), (right, base)], 1.2, _INK)
        canvas.text(xlabel, (left + right) / 2, canvas.height - 14, align="center")
        canvas.text(ylabel, left, self.top - 18, color=(0.42, 0.44, 0.48))


def _legend(canvas: Canvas, axes: _Axes, lines: Sequence[Line]) -> None:
    named = [(line, c) for line, c in zip(lines, _line_colors(lines)) if line.label]
    if not named:
        return
    width = max(text_width(line.label) for line, _ in named) + 58
    left, top = axes.right - width, axes.top + 6
    bottom = top + 24 * len(named) + 8
    canvas.rectangle(left, top, axes.right, bottom, (1, 1, 1), 0.85)
    for i, (line, color) in enumerate(named):
        y = top + 16 + 24 * i
        swatch = [(left + 12, y), (left + 36, y)]
        canvas.polyline(swatch, max(line.width, 2.5), color, line.alpha)
        canvas.text(line.label, left + 46, y + 5)


def _range(values: ember.Tensor, margin: float) -> tuple[float, float]:
    if len(values) == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if low == high:
        return low - 0.5, high + 0.5
    return low - margin * (high - low), high + margin * (high - low)


def _ticks(low: float, high: float, count: int, whole: bool = False) -> list[float]:
    """About `count` round numbers in [low, high]."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    if whole:
        step = max(1.0, round(step))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def _number(value: float) -> str:
    """A tick as text: 0.25, 1500, 1e-05."""
    text = f"{value:.10g}"
    return f"{value:.3g}" if len(text) > 7 else text.replace("-0", "0", text == "-0")
