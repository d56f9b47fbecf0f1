"""The worker processes of one host: starting, watching, stopping; their output."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntFlag
from typing import IO, Any

from ember import _C
from ember.distributed.elastic.multiprocessing.errors import FILE, write_error

GRACE = 15.0  # seconds between the request to end and SIGKILL


class Std(IntFlag):
    """Which streams of a worker go to a file."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = 3

    @classmethod
    def from_str(cls, text: str) -> Std | dict[int, Std]:
        """ "3" for all workers, or "0:1,1:2" by local rank."""
        known = {str(int(kind)): kind for kind in (cls.NONE, *cls, cls.ALL)}
        try:
            if ":" not in text:
                return known[text]
            pairs = (pair.split(":") for pair in text.split(","))
            return {int(rank): known[value] for rank, value in pairs}
        except (KeyError, ValueError):
            raise ValueError(
                f"{text}: expected a number from 0 to 3, or RANK:NUMBER,..."
            ) from None


def std_of(setting: Std | dict[int, Std], local_rank: int) -> Std:
    """What holds for a worker."""
    if isinstance(setting, dict):
        return setting.get(local_rank, Std.NONE)
    return setting


@dataclass
class Output:
    """Where the output of workers goes."""

    folder: str
    redirects: Std | dict[int, Std] = Std.NONE
    tee: Std | dict[int, Std] = Std.NONE
    shown: set[int] | None = None  # local ranks whose output is shown; None: all
    role: str = "default"


@dataclass
class Worker:
    """One process. `process` is a Popen or a multiprocessing.Process."""

    rank: int
    local_rank: int
    process: Any
    error_file: str
    readers: list[threading.Thread] = field(default_factory=list)
    answer: Any = None  # of a function: the end of a pipe
    result: Any = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def ended(self) -> int | None:
        """The exit code, or None while it runs."""
        if isinstance(self.process, subprocess.Popen):
            return self.process.poll()
        if self.answer is not None and self.answer.poll():
            try:
                self.result = self.answer.recv()
            except EOFError:
                pass
            self.answer = None
        return self.process.exitcode

    def kill(self, number: int) -> None:
        """Send a signal to it and, if it leads one, to its group."""
        try:
            if isinstance(self.process, subprocess.Popen):
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            pass


def start(
    entry: Sequence[str] | Callable[..., Any],
    args: tuple[Any, ...],
    rank: int,
    local_rank: int,
    variables: Mapping[str, str],
    output: Output,
    start_method: str,
) -> Worker:
    """Start a worker: a command, or a function of this program."""
    folder = os.path.join(output.folder, str(local_rank))
    os.makedirs(folder, exist_ok=True)
    error_file = os.path.join(folder, "error.json")
    environment = {**os.environ, **variables, FILE: error_file}
    if callable(entry):
        return _start_function(
            entry, args, rank, local_rank, environment, error_file, start_method
        )
    return _start_command(entry, rank, local_rank, environment, error_file, output)


def _start_command(
    command: Sequence[str],
    rank: int,
    local_rank: int,
    environment: dict[str, str],
    error_file: str,
    output: Output,
) -> Worker:
    files, tee = std_of(output.redirects, local_rank), std_of(output.tee, local_rank)
    hidden = output.shown is not None and local_rank not in output.shown
    caught = files | tee | (Std.ALL if hidden else Std.NONE)
    process = subprocess.Popen(
        list(command),
        env=environment,
        stdout=subprocess.PIPE if caught & Std.OUT else None,
        stderr=subprocess.PIPE if caught & Std.ERR else None,
        start_new_session=True,  # its children are ended with it
        preexec_fn=_die_with_agent,
    )
    worker = Worker(rank, local_rank, process, error_file)
    streams = (
        (Std.OUT, process.stdout, sys.stdout, "stdout.log"),
        (Std.ERR, process.stderr, sys.stderr, "stderr.log"),
    )
    for kind, pipe, screen, name in streams:
        if pipe is None:
            continue
        path = os.path.join(os.path.dirname(error_file), name)
        shown = screen if tee & kind and not hidden else None
        prefix = f"[{output.role}{rank}]:"
        kept = path if (files | tee) & kind else None
        reader = threading.Thread(
            target=_copy, args=(pipe, kept, shown, prefix), daemon=True
        )
        reader.start()
        worker.readers.append(reader)
    return worker


def _die_with_agent() -> None:
    _C._die_with_parent(signal.SIGTERM)


def _copy(pipe: IO[bytes], path: str | None, screen: Any, prefix: str) -> None:
    """Lines of a worker to a file, and to the screen with who said them."""
    with pipe, open(path or os.devnull, "ab", buffering=0) as file:
        for line in pipe:
            file.write(line)
            if screen:
                screen.write(prefix + line.decode("utf-8", "replace"))
                screen.flush()


def _start_function(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    rank: int,
    local_rank: int,
    environment: dict[str, str],
    error_file: str,
    start_method: str,
) -> Worker:
    context: Any = multiprocessing.get_context(start_method)
    receive, send = context.Pipe(duplex=False)
    process = context.Process(
        target=_call, args=(function, args, environment, send), daemon=False
    )
    process.start()
    send.close()
    return Worker(rank, local_rank, process, error_file, answer=receive)


def _call(function: Callable, args: tuple, environment: dict, answer: Any) -> None:
    _die_with_agent()
    os.environ.update(environment)
    try:
        answer.send(function(*args))
    except BaseException as error:
        write_error(error)
        raise


def stop(workers: Sequence[Worker], number: int = signal.SIGTERM) -> None:
    """End workers: a signal, and SIGKILL for those that go on."""
    for worker in workers:
        if worker.ended() is None:
            worker.kill(number)
    end = time.monotonic() + GRACE
    while any(w.ended() is None for w in workers) and time.monotonic() < end:
        time.sleep(0.02)
    for worker in workers:
        worker.kill(signal.SIGKILL)  # what it may have left of its group, too
    for worker in workers:
        if isinstance(worker.process, subprocess.Popen):
            worker.process.wait()
        else:
            worker.process.join()
        for reader in worker.readers:
            reader.join(timeout=5)
