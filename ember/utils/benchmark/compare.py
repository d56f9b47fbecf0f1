"""Measurements side by side in a table."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from ember.utils.benchmark.measurement import Measurement, select_unit, trim_sigfig


class Colorize(enum.Enum):
    """What colours would compare; tables here are plain text."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table of measurements: a row per task, a column per description.

    >>> from ember.utils.benchmark import Compare, Timer
    >>> runs = [Timer("1 + 1", description=d).timeit(10) for d in ("a", "b")]
    >>> "a" in str(Compare(runs))
    True
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(
                    "Compare: expected Measurement, got " + type(result).__name__
                )
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Show only the digits that mean something."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Accepted for compatibility."""

    def highlight_warnings(self) -> None:
        """Accepted for compatibility."""

    def print(self) -> None:
        """Print the table."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        if not merged:
            return ""
        unit, length = select_unit(min(m.median for m in merged))
        columns = list(dict.fromkeys(m.task_spec.description or "" for m in merged))
        rows: dict[tuple[str, str, int], dict[str, str]] = {}
        for m in merged:
            spec = m.task_spec
            key = (spec.label or "", m.as_row_name, spec.num_threads)
            value = m.median / length
            if self._trim:
                value = trim_sigfig(value, m.significant_figures)
            rows.setdefault(key, {})[spec.description or ""] = f"{value:.4g}"
        head = max(len(name) for _, name, _ in rows) + 2
        widths = [
            max(len(c), *(len(row.get(c, "")) for row in rows.values()))
            for c in columns
        ]
        lines: list[str] = []
        section: tuple[str, int] | None = None
        for (label, name, threads), row in rows.items():
            if section != (label, threads):
                section = (label, threads)
                title = " | ".join(
                    c.rjust(w) for c, w in zip(columns, widths, strict=True)
                )
                lines.append(f"[{label or 'times'}], {threads} thread(s)".strip())
                lines.append(" " * head + "| " + title)
            cells = " | ".join(
                row.get(c, "").rjust(w) for c, w in zip(columns, widths, strict=True)
            )
            lines.append(name.ljust(head) + "| " + cells)
        lines.append(f"Times are in {unit}.")
        return "\n".join(lines)
