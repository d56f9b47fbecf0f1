"""Errors of workers: written to a file by `record`, told by the agent at the end."""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
FILE = "TORCHELASTIC_ERROR_FILE"


def record(fn: F, error_handler: Any = None) -> F:
    """Decorates the main function of a program: what it raises is written down for the
    launcher's report.

    >>> from ember.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main():
    ...     return 3
    >>> main()
    3
    """

    @functools.wraps(fn)
    def main(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except SystemExit:
            raise
        except BaseException as error:
            write_error(error)
            raise

    return main  # type: ignore[return-value]


def write_error(error: BaseException) -> None:
    """Write an error to the file that the launcher named, if it did."""
    path = os.environ.get(FILE)
    if not path:
        return
    trace = "".join(traceback.format_exception(error))
    message = f"{type(error).__name__}: {error}"
    extra = {"py_callstack": trace, "timestamp": str(int(time.time()))}
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"message": {"message": message, "extraInfo": extra}}, file)
    except OSError:
        pass  # the error itself is what counts


@dataclass
class ProcessFailure:
    """How a worker ended."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str = "<N/A>"
    timestamp: int = field(default_factory=lambda: int(time.time()))
    message: str = ""
    trace: str = ""

    def __post_init__(self) -> None:
        try:
            with open(self.error_file, encoding="utf-8") as file:
                told = json.load(file)["message"]
            self.message = told["message"]
            self.trace = told["extraInfo"]["py_callstack"]
            self.timestamp = int(told["extraInfo"]["timestamp"])
        except (OSError, ValueError, KeyError, TypeError):
            if not self.message:
                self.message = self._how_it_ended()

    def _how_it_ended(self) -> str:
        if self.exitcode < 0:
            name = self.signal_name()
            return f"Signal {-self.exitcode} ({name}) received by PID {self.pid}"
        return "To see the error, decorate the program's main function with @record"

    def signal_name(self) -> str:
        """Of the signal that ended it, or "<N/A>"."""
        try:
            return signal.Signals(-self.exitcode).name if self.exitcode < 0 else "<N/A>"
        except ValueError:
            return "unknown"

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.timestamp))


class ChildFailedError(Exception):
    """Workers failed: `failures` by rank."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank that failed first, and how."""
        rank = min(self.failures, key=lambda r: self.failures[r].timestamp)
        return rank, self.failures[rank]

    def format_msg(self) -> str:
        """The report: the first failure in full, the others in a line."""
        first, failure = self.get_first_failure()
        lines = [
            f"{self.name} FAILED",
            "-" * 60,
            "Root cause (first observed failure):",
            f"  time      : {failure.timestamp_isoformat()}",
            f"  host      : {socket.gethostname()}",
            f"  rank      : {first} (local_rank: {failure.local_rank})",
            f"  exitcode  : {failure.exitcode} (pid: {failure.pid})",
            f"  error_file: {failure.error_file}",
            f"  message   : {failure.message}",
        ]
        lines += [f"  {line}" for line in failure.trace.rstrip().splitlines()]
        others = [r for r in sorted(self.failures) if r != first]
        if others:
            lines.append("Other failures:")
        for rank in others:
            other = self.failures[rank]
            lines.append(f"  rank {rank}: exitcode {other.exitcode}, {other.message}")
        return "\n".join([*lines, "-" * 60])
