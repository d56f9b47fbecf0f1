"""What a timer found out, and how to say it."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_ENGLISH = {
    "ns": "nanosecond",
    "us": "microsecond",
    "ms": "millisecond",
    "s": "second",
}


def select_unit(t: float) -> tuple[str, float]:
    """The unit that suits a time, and its length in seconds.

    >>> from ember.utils.benchmark import select_unit
    >>> select_unit(0.002)
    ('ms', 0.001)
    """
    fitting = [(name, unit) for name, unit in _UNITS.items() if t >= unit]
    return fitting[-1] if fitting else ("ns", 1e-9)


def unit_to_english(u: str) -> str:
    """'us' -> 'microsecond'."""
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """`x` rounded to `n` significant digits.

    >>> from ember.utils.benchmark import trim_sigfig
    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    if x == 0:
        return 0.0
    scale = 10 ** (math.ceil(math.log10(abs(x))) - n)
    return float(round(x / scale) * scale)


@dataclass(frozen=True)
class TaskSpec:
    """What was measured, in words and code."""

    stmt: str
    setup: str = ""
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        name = self.label or self.stmt.strip().splitlines()[0]
        return f"{name}: {self.sub_label}" if self.sub_label else name

    def setup_str(self) -> str:
        """The setup as a line or block of text, empty if there is none."""
        if self.setup in ("", "pass"):
            return ""
        if "\n" in self.setup:
            return "setup:\n" + textwrap.indent(self.setup, "  ")
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """All that names the task, a line each."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(part for part in parts if part)


@dataclass
class Measurement:
    """Times of blocks of `number_per_run` runs each, in seconds."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict = field(default_factory=dict)

    @property
    def times(self) -> list[float]:
        """Seconds of a single run, one for each block."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """How far apart the quartiles are."""
        if len(self.raw_times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something."""
        spread = max(self.iqr / 1.35, 1e-12) / math.sqrt(len(self.raw_times))
        digits = math.floor(math.log10(self.median)) - math.floor(math.log10(spread))
        return min(max(digits + 1, 1), 5)

    @property
    def has_warnings(self) -> bool:
        return self.iqr / self.median > 0.1

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def env(self) -> str:
        return self.task_spec.env or ""

    @property
    def as_row_name(self) -> str:
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __getattr__(self, name: str):
        if name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'")

    def __repr__(self) -> str:
        unit, length = select_unit(self.median)
        value = trim_sigfig(self.median / length, self.significant_figures)
        lines = [f"<{type(self).__module__}.Measurement>", self.task_spec.summarize()]
        lines.append(f"  Median: {value:g} {unit}")
        if len(self.raw_times) > 1:
            lines.append(f"  IQR:    {self.iqr / length:.2f} {unit}")
        count, threads = len(self.raw_times), self.task_spec.num_threads
        runs = f"{count} measurement{'s' * (count > 1)}"
        threads_text = f"{threads} thread{'s' * (threads > 1)}"
        lines.append(f"  {runs}, {self.number_per_run} runs each, {threads_text}")
        if self.has_warnings:
            lines.append("  WARNING: the times vary by more than 10 %")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same task joined into one each."""
        groups: dict[tuple[TaskSpec, int], list[float]] = {}
        for m in measurements:
            times = groups.setdefault((m.task_spec, m.number_per_run), [])
            times.extend(m.raw_times)
        return [
            Measurement(number, times, spec) for (spec, number), times in groups.items()
        ]
