"""Measurements side by side in a table."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from ember.utils.benchmark.measurement import (
    Measurement,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

# A time that is this many times the best one has this colour.
_COLOURS = (
    (1.25, "\033[92m\033[1m"),
    (1.5, "\033[92m"),
    (2.0, "\033[93m"),
    (4.0, "\033[91m"),
)
_WORST, _RESET = "\033[91m\033[1m", "\033[0m"


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Each element once, in order of first appearance.

    >>> from ember.utils.benchmark import ordered_unique
    >>> ordered_unique("hello")
    ['h', 'e', 'l', 'o']
    """
    return list(dict.fromkeys(elements))


class Colorize(enum.Enum):
    """What the colours of a table compare with: nothing, its column, or its row."""

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
        self._warn = False
        self._colorize = Colorize.NONE
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
        """Colour times by how they compare with the best of their column (or row)."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Say of times that vary by more than 10 % by how much they do."""
        self._warn = True

    def print(self) -> None:
        """Print the table."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = ordered_unique(m.task_spec.label for m in merged)
        return "\n".join(
            self._table(label, [m for m in merged if m.task_spec.label == label])
            for label in labels
        )

    def _table(self, label: str | None, results: list[Measurement]) -> str:
        unit, length = select_unit(min(m.median for m in results))
        columns = ordered_unique(_column(m) for m in results)
        rows: dict[tuple[int, str], dict[str, Measurement]] = {}
        for m in sorted(results, key=lambda m: m.task_spec.num_threads):
            row = rows.setdefault((m.task_spec.num_threads, m.as_row_name), {})
            row[_column(m)] = m
        widths = dict.fromkeys(columns, 0)
        for m in results:
            widths[_column(m)] = max(
                widths[_column(m)], len(_column(m)), len(self._text(m, length))
            )
        head = max(len(name) for _, name in rows) + 8
        title = " " * head + _cells(c.center(widths[c]) for c in columns)
        name = f" {label or 'times'} "
        lines = [f"[{name:-^{len(title) - 2}}]", title]
        shown = 0
        for (threads, name), row in rows.items():
            if threads != shown:
                lines.append(f"{threads} threads: ".ljust(len(title), "-"))
                shown = threads
            cells = []
            for c in columns:
                text = self._text(row[c], length) if c in row else ""
                peers = [r[c] for r in rows.values() if c in r]
                if self._colorize is Colorize.ROWWISE:
                    peers = list(row.values())
                cells.append(self._coloured(text.rjust(widths[c]), row.get(c), peers))
            lines.append(f"      {name}".ljust(head) + _cells(cells))
        note = f"Times are in {unit_to_english(unit)}s ({unit})."
        return "\n".join([*(line.rstrip() for line in lines), "", note, ""])

    def _text(self, m: Measurement, length: float) -> str:
        value = m.median / length
        if self._trim:
            value = trim_sigfig(value, m.significant_figures)
        warning = ""
        if self._warn and m.has_warnings:
            warning = f" (! {100 * m.iqr / m.median:.0f}%)"
        return f"{value:.4g}{warning}"

    def _coloured(
        self, text: str, m: Measurement | None, peers: list[Measurement]
    ) -> str:
        if m is None or self._colorize is Colorize.NONE:
            return text
        ratio = m.median / min(peer.median for peer in peers)
        colour = next((c for limit, c in _COLOURS if ratio <= limit), _WORST)
        return f"{colour}{text}{_RESET}"


def _column(m: Measurement) -> str:
    return m.task_spec.description or ""


def _cells(texts: Iterable[str]) -> str:
    return "".join(f"|  {text}  " for text in texts).rstrip()
