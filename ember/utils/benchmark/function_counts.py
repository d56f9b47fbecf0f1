"""How many instructions ran in which functions, as callgrind counts them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ember import _tensor_str
from ember.utils.benchmark.measurement import TaskSpec

__all__ = ["CallgrindStats", "FunctionCount", "FunctionCounts"]

_MOST_ROWS = 18  # of a printed table, unless it was sliced to size
# What differs between two builds of the same function: the library that it is in and
# the folder that its source was in.
_LIBRARY = re.compile(r"\s\[[^]]+\]$")
_FOLDER = re.compile(r"^.+/(?=(Python|Objects|core)/)")
# CPython's look-up of names, which varies with the hashes of a run.
_NOISE = ("dictobject.c:lookdict_unicode", "dictobject.c:unicodekeys_lookup")


class FunctionCount(NamedTuple):
    """The instructions of one function, named "file:function [library]"."""

    count: int  # type: ignore[assignment]  # not tuple.count
    function: str


@dataclass(repr=False, eq=False, frozen=True)
class FunctionCounts:
    """The functions of a run, from the most instructions to the least.

    >>> from ember.utils.benchmark import FunctionCount, FunctionCounts
    >>> before = FunctionCounts((FunctionCount(9, "f"), FunctionCount(2, "g")), False)
    >>> after = FunctionCounts((FunctionCount(5, "f"), FunctionCount(2, "g")), False)
    >>> list(after - before)
    [FunctionCount(count=-4, function='f')]
    >>> (before + after).filter(lambda name: name == "g").sum()
    4
    """

    _data: tuple[FunctionCount, ...]
    inclusive: bool  # whether a function's count holds those of the ones it calls
    truncate_rows: bool = True
    _linewidth: int | None = None

    def __iter__(self) -> Iterator[FunctionCount]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, item: Any) -> FunctionCount | FunctionCounts:
        if isinstance(item, slice):
            return FunctionCounts(self._data[item], self.inclusive, truncate_rows=False)
        return self._data[item]

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._joined(other, 1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._joined(other, -1)

    def __mul__(self, other: float) -> FunctionCounts:
        return self._sorted({name: int(n * other) for n, name in self})

    def transform(self, map_fn: Callable[[str], str]) -> FunctionCounts:
        """With other names; counts of functions that become one are added up."""
        counts: Counter[str] = Counter()
        for n, name in self:
            counts[map_fn(name)] += n
        return self._sorted(counts)

    def filter(self, filter_fn: Callable[[str], bool]) -> FunctionCounts:
        """Only the functions for whose name `filter_fn` is true."""
        found = tuple(row for row in self if filter_fn(row.function))
        return FunctionCounts(found, self.inclusive)

    def sum(self) -> int:
        """The instructions of all functions."""
        return sum(row.count for row in self)

    def denoise(self) -> FunctionCounts:
        """Without the functions of CPython whose counts change from run to run."""
        return self.filter(lambda name: not any(noise in name for noise in _NOISE))

    def _joined(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        if self.inclusive != other.inclusive:
            raise AssertionError("inclusive counts do not add up with exclusive ones")
        counts: Counter[str] = Counter()
        for n, name in self:
            counts[name] += n
        for n, name in other:
            counts[name] += sign * n
        return self._sorted(counts)

    def _sorted(self, counts: dict[str, int]) -> FunctionCounts:
        rows = (FunctionCount(n, name) for name, n in counts.items() if n)
        return FunctionCounts(tuple(sorted(rows, reverse=True)), self.inclusive)

    def __repr__(self) -> str:
        digits = max((len(str(n)) for n, _ in self), default=0)
        width = self._linewidth or _tensor_str.PRINT_OPTS.linewidth
        width = max(width - digits - 4, 40)
        lines = [f"  {n:>{digits}}  {_shortened(name, width)}" for n, name in self]
        if self.truncate_rows and len(lines) > _MOST_ROWS:
            half = _MOST_ROWS // 2
            lines[half:-half] = ["...".rjust(digits + 2)]
        if not self.inclusive:
            lines += ["", f"Total: {self.sum()}"]
        return "\n".join([object.__repr__(self), *lines])


def _shortened(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    left = (width - 5) // 2
    return f"{name[:left]} ... {name[left + 5 - width :]}"


@dataclass(repr=False, eq=False, frozen=True)
class CallgrindStats:
    """What `Timer.collect_callgrind` found out.

    `baseline_*` are the counts of a loop that does nothing.
    """

    task_spec: TaskSpec
    number_per_run: int
    built_with_debug_symbols: bool
    baseline_inclusive_stats: FunctionCounts
    baseline_exclusive_stats: FunctionCounts
    stmt_inclusive_stats: FunctionCounts
    stmt_exclusive_stats: FunctionCounts
    stmt_callgrind_out: str | None

    def stats(self, inclusive: bool = False) -> FunctionCounts:
        """The counts by function; `inclusive` ones hold those of what it calls."""
        return self.stmt_inclusive_stats if inclusive else self.stmt_exclusive_stats

    def counts(self, *, denoise: bool = False) -> int:
        """The number of all instructions."""
        stats = self.stmt_exclusive_stats
        return (stats.denoise() if denoise else stats).sum()

    def delta(self, other: CallgrindStats, inclusive: bool = False) -> FunctionCounts:
        """By how much each function's count is larger than in `other`."""
        return self.stats(inclusive) - other.stats(inclusive)

    def as_standardized(self) -> CallgrindStats:
        """With names that do not tell where a library is or was built.

        So that `delta` of two builds pairs what is the same.
        """

        def plain(name: str) -> str:
            return _FOLDER.sub("", _LIBRARY.sub("", name))

        return replace(
            self,
            baseline_inclusive_stats=self.baseline_inclusive_stats.transform(plain),
            baseline_exclusive_stats=self.baseline_exclusive_stats.transform(plain),
            stmt_inclusive_stats=self.stmt_inclusive_stats.transform(plain),
            stmt_exclusive_stats=self.stmt_exclusive_stats.transform(plain),
            stmt_callgrind_out=None,  # it has the names that were
        )

    def __repr__(self) -> str:
        base, threads = self.baseline_exclusive_stats, self.task_spec.num_threads
        all_base, quiet_base = base.sum(), base.denoise().sum()
        lines = [
            object.__repr__(self),
            self.task_spec.summarize(),
            " " * 27 + "All" + " " * 10 + "Noisy symbols removed",
            f"    Instructions: {self.counts():>12}{self.counts(denoise=True):>27}",
            f"    Baseline:     {all_base:>12}{quiet_base:>27}",
            f"{self.number_per_run} runs per measurement, "
            f"{threads} thread{'s' * (threads > 1)}",
        ]
        if not self.built_with_debug_symbols:
            lines.append(
                "Warning: ember was built without debug symbols, so that files of its "
                "functions are not known (see docs/building.md, preset dev)"
            )
        return "\n".join(lines)
