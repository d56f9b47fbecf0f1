"""Counts the instructions of a statement, in a process of its own under valgrind.

The process is `python -m ember.utils.benchmark.callgrind JOB`, where JOB is a file that
`collect` wrote. It runs the same loop that is timed, with "read the clock" replaced by
"turn counting on or off".
"""

from __future__ import annotations

import mmap
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import timeit
from pathlib import Path
from typing import Any

import ember
from ember import _C
from ember.utils.benchmark.function_counts import (
    CallgrindStats,
    FunctionCount,
    FunctionCounts,
)
from ember.utils.benchmark.measurement import TaskSpec

__all__ = ["CopyIfCallgrind", "collect"]

_PLAIN_TYPES = (str, bytes, bool, int, float, complex)
_ROW = re.compile(r"^\s*([\d,]+)\s+(.+:.+)$")
_TOTAL = re.compile(r"^\s*([\d,]+).*PROGRAM TOTALS")


class CopyIfCallgrind:
    """A global of a timed statement that another process may use a copy of.

    It is a string, a number or an `nn.Module`; `setup` is run before it is unpickled.

    >>> from ember.utils.benchmark import CopyIfCallgrind, Timer
    >>> Timer("x + 1", globals={"x": CopyIfCallgrind(1)}).timeit(10).number_per_run
    10
    """

    def __init__(self, value: Any, *, setup: str | None = None) -> None:
        if not isinstance(value, (*_PLAIN_TYPES, ember.nn.Module)):
            names = ", ".join(kind.__name__ for kind in _PLAIN_TYPES)
            raise ValueError(
                f"CopyIfCallgrind: expected one of {names} or nn.Module, "
                f"got {type(value).__name__}; make others in the timer's setup"
            )
        self._value = value
        self._setup = setup

    @property
    def value(self) -> Any:
        return self._value

    @property
    def setup(self) -> str | None:
        return self._setup

    @staticmethod
    def unwrap_all(globals: dict[str, Any]) -> dict[str, Any]:
        """The values themselves."""
        return {
            name: value.value if isinstance(value, CopyIfCallgrind) else value
            for name, value in globals.items()
        }


def collect(
    task: TaskSpec,
    globals: dict[str, Any],
    number: int,
    repeats: int,
    collect_baseline: bool,
    retain_out_file: bool,
) -> tuple[CallgrindStats, ...]:
    """Runs `task` under callgrind; what `Timer.collect_callgrind` does."""
    for program in ("valgrind", "callgrind_annotate"):
        if shutil.which(program) is None:
            raise OSError(f"collect_callgrind(): {program} is not installed")
    for name, value in globals.items():
        if not isinstance(value, CopyIfCallgrind):
            raise ValueError(
                f"collect_callgrind(): the global {name!r} would be copied to another "
                f"process; wrap it: CopyIfCallgrind({name})"
            )
    with tempfile.TemporaryDirectory(prefix="callgrind") as folder:
        job, out = Path(folder, "job"), Path(folder, "callgrind.out")
        # Each pickled by itself, as unpickling one may need its setup.
        copies = [
            (name, wrapped.setup, pickle.dumps(wrapped.value))
            for name, wrapped in globals.items()
        ]
        job.write_bytes(pickle.dumps((task, copies, number, repeats, collect_baseline)))
        _run_under_valgrind(job, out)

        def dump(i: int) -> Path:
            return out.with_name(f"{out.name}.{i + 1}")

        def counts(i: int) -> tuple[FunctionCounts, FunctionCounts]:
            return _counts(dump(i), inclusive=True), _counts(dump(i), inclusive=False)

        baseline = (FunctionCounts((), True), FunctionCounts((), False))
        if collect_baseline:
            baseline = counts(repeats)
        debug_symbols = _has_debug_symbols()
        return tuple(
            CallgrindStats(
                task,
                number,
                debug_symbols,
                *baseline,
                *counts(i),
                dump(i).read_text(encoding="utf-8") if retain_out_file else None,
            )
            for i in range(repeats)
        )


def _run_under_valgrind(job: Path, out: Path) -> None:
    valgrind = [
        "valgrind",
        "--tool=callgrind",
        f"--callgrind-out-file={out}",
        "--instr-atstart=no",
        "--collect-atstart=no",
    ]
    run = subprocess.run(
        [*valgrind, sys.executable, "-m", __name__, str(job)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        errors="replace",
    )
    if run.returncode:
        raise OSError(f"collect_callgrind(): the process failed:\n{run.stderr}")


def _counts(dump: Path, inclusive: bool) -> FunctionCounts:
    command = [
        "callgrind_annotate",
        f"--inclusive={'yes' if inclusive else 'no'}",
        "--threshold=100",
        "--show-percs=no",
        str(dump),
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    head, _, table = text.partition("file:function")
    rows: list[FunctionCount] = []
    total = next((m[1] for line in head.splitlines() if (m := _TOTAL.match(line))), "")
    for line in table.splitlines()[1:]:
        if row := _ROW.match(line):
            # A row that has everything is the frame in which counting began.
            if not (inclusive and row[1] == total):
                rows.append(FunctionCount(int(row[1].replace(",", "")), row[2]))
        elif line.strip("-"):
            break
    return FunctionCounts(tuple(sorted(rows, reverse=True)), inclusive)


def _has_debug_symbols() -> bool:
    with (
        open(_C.__file__, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as library,
    ):
        return library.find(b".debug_info") >= 0


def _work(job: Path) -> None:
    """What the process under valgrind does."""
    task, copies, number, repeats, collect_baseline = pickle.loads(job.read_bytes())
    if not _C._under_callgrind():
        sys.exit(
            "ember was built where valgrind's headers (valgrind/callgrind.h) were not "
            "installed, or valgrind did not start"
        )
    ember.set_num_threads(task.num_threads)
    namespace: dict[str, Any] = {"ember": ember, "torch": ember}
    for name, setup, data in copies:
        exec(textwrap.dedent(setup or ""), namespace)
        namespace[name] = pickle.loads(data)
    exec(task.global_setup, namespace)
    _C._callgrind_start()
    stmt = timeit.Timer(task.stmt, task.setup, globals=namespace)
    empty = timeit.Timer()
    for timer in (stmt, empty):
        timer.timeit(min(number, 10))  # warm, as are the caches of the interpreter
        timer.timer = _C._callgrind_toggle  # type: ignore[attr-defined]
    for timer in [stmt] * repeats + [empty] * collect_baseline:
        timer.timeit(number)
        _C._callgrind_dump()


if __name__ == "__main__":
    _work(Path(sys.argv[1]))
