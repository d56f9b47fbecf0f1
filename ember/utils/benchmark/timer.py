"""Times statements in blocks that are long enough to be trusted."""

from __future__ import annotations

import contextlib
import enum
import textwrap
import timeit
from collections.abc import Callable, Iterator
from time import perf_counter as timer
from typing import Any

import ember
from ember.utils.benchmark.callgrind import CopyIfCallgrind, collect
from ember.utils.benchmark.measurement import Measurement, TaskSpec

__all__ = ["Language", "Timer", "set_torch_threads", "timer"]


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Ops use `n` threads within the `with` block.

    >>> import ember
    >>> from ember.utils.benchmark import set_torch_threads
    >>> with set_torch_threads(1):
    ...     ember.get_num_threads()
    1
    """
    before = ember.get_num_threads()
    ember.set_num_threads(n)
    try:
        yield
    finally:
        ember.set_num_threads(before)


class Language(enum.Enum):
    """In what statements are written."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures the time of `stmt`, run after `setup`, with `num_threads` threads.

    >>> from ember.utils.benchmark import Timer
    >>> Timer("sum(range(10))").timeit(100).number_per_run
    100
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Timer: statements must be Python, got {language!r}")
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._globals = globals or {}
        namespace = {
            "ember": ember,
            "torch": ember,
            **CopyIfCallgrind.unwrap_all(self._globals),
        }
        self._timer = timeit.Timer(stmt, setup, timer, namespace)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _run(self, number: int) -> float:
        with set_torch_threads(self._task_spec.num_threads):
            return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One block of `number` runs, after a short warm-up."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        raise NotImplementedError("Timer.repeat(): use blocked_autorange() instead")

    def autorange(self, callback: Callable | None = None) -> None:
        raise NotImplementedError("Timer.autorange(): use blocked_autorange() instead")

    def _block_size(self, min_run_time: float) -> int:
        """Runs per block, so that reading the clock costs less than 0.1 %."""
        overhead = min(self._clock_cost() for _ in range(5))
        number = 1
        while True:
            took = self._run(number)
            if took > 1000 * overhead and took > min_run_time / 1000:
                return number
            if took > min_run_time:
                return number
            number *= 10 if took < min_run_time / 100 else 2

    @staticmethod
    def _clock_cost() -> float:
        start = timer()
        return max(timer() - start, 1e-8)

    def blocked_autorange(
        self,
        callback: Callable[[int, float], Any] | None = None,
        min_run_time: float = 0.2,
    ) -> Measurement:
        """Blocks of runs until they took `min_run_time` seconds together."""
        number = self._block_size(min_run_time)
        times: list[float] = []
        while sum(times) < min_run_time:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Blocks of runs until their times agree within `threshold`, or time is up."""
        number = self._block_size(min_run_time)
        times: list[float] = []
        while True:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
            result = Measurement(number, times, self._task_spec)
            total = sum(times)
            settled = len(times) > 3 and result.meets_confidence(threshold)
            if total > max_run_time or (total > min_run_time and settled):
                return result

    def collect_callgrind(
        self,
        number: int = 100,
        *,
        repeats: int | None = None,
        collect_baseline: bool = True,
        retain_out_file: bool = False,
    ) -> Any:
        """Counts the instructions of `number` runs, in a process under valgrind.

        Counts hardly vary from run to run, so that a change of a few percent shows,
        and shows where. Globals have to be wrapped in `CopyIfCallgrind`. Returns a
        `CallgrindStats`, or a tuple of `repeats` of them; with `collect_baseline` they
        hold the counts of an empty loop too, with `retain_out_file` callgrind's file.
        """
        if repeats is not None and repeats < 1:
            raise ValueError(f"collect_callgrind(): repeats is {repeats}, not >= 1")
        self._run(1)  # what is wrong with the statement is better said in this process
        stats = collect(
            self._task_spec,
            self._globals,
            number,
            repeats or 1,
            collect_baseline,
            retain_out_file,
        )
        return stats[0] if repeats is None else stats
