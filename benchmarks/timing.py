"""Timing two libraries fairly: in turns, in one process, the best of several rounds.

A case is text that runs unchanged with `t` being torch or ember. Noise of the machine
only ever adds time, so the minimum is what is compared; taking turns gives both the
same share of bad moments.
"""

from __future__ import annotations

import gc
import math
import textwrap
import time
import timeit
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Case:
    """`run` is timed after `setup`; `grad` cases have their own budget."""

    name: str
    run: str
    setup: str = ""
    group: str = ""
    budget: float | None = None


@dataclass
class Result:
    case: Case
    seconds: dict[str, float] = field(default_factory=dict)
    missing: str = ""  # why there is no figure

    @property
    def ratio(self) -> float | None:
        if "ember" not in self.seconds or not self.seconds.get("torch"):
            return None
        return self.seconds["ember"] / self.seconds["torch"]


def timer(case: Case, library: Any) -> timeit.Timer:
    namespace = {"t": library}
    exec(textwrap.dedent(case.setup), namespace)
    return timeit.Timer(case.run, globals=namespace)


def batch_size(timer: timeit.Timer, seconds: float) -> int:
    """How many runs take about `seconds`."""
    number = 1
    while True:
        took = timer.timeit(number)
        if took > seconds / 4 or number >= 1_000_000:
            return max(1, int(number * seconds / max(took, 1e-9)))
        number *= 4


def measure(
    case: Case, libraries: dict[str, Any], rounds: int = 7, seconds: float = 0.02
) -> Result:
    """The best time of each library, measured in turns."""
    result = Result(case)
    timers: dict[str, tuple[timeit.Timer, int]] = {}
    for name, library in libraries.items():
        try:
            one = timer(case, library)
            one.timeit(1)
            timers[name] = (one, batch_size(one, seconds))
        except Exception as error:
            if name != "ember":
                raise
            result.missing = f"{type(error).__name__}: {error}".splitlines()[0]
    gc.collect()
    for _ in range(rounds):
        for name, (one, number) in timers.items():
            time.sleep(0.002)  # the other library's threads stop spinning meanwhile
            one.timeit(1)
            took = one.timeit(number) / number
            result.seconds[name] = min(took, result.seconds.get(name, math.inf))
    return result


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan
