"""Compiling in the background: one thread, which starts with the first program and ends
with the process. llvmlite lets go of Python's lock meanwhile, so nothing waits for it.
"""

from __future__ import annotations

import os
import queue
import threading
import warnings
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ember.compiler import _llvm

T = TypeVar("T")


class Pending(Generic[T]):
    """What a job gives, some time."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._value: Any = None
        self._error: BaseException | None = None
        self._done = False
        self._process, self._lock = os.getpid(), threading.Lock()

    def ready(self) -> bool:
        """Whether there is a result, or an error."""
        return self._done

    def work(self) -> None:
        """Do the job, in whatever thread comes first."""
        if self._done:
            return
        if self._process != os.getpid():  # the thread that had begun is not here
            self._process, self._lock = os.getpid(), threading.Lock()
        with self._lock:
            make = self._make
            if make is None:
                return
            try:
                self._value = make()
            except Exception as error:
                self._error = error
            self._make = None
            self._done = True

    def result(self) -> T:
        """The result; waits for it, or does the job itself if nobody has begun."""
        self.work()
        if self._error is not None:
            raise self._error
        return self._value


_jobs: queue.SimpleQueue[Pending[Any]] = queue.SimpleQueue()
_lock = threading.Lock()
_owner = 0  # the process that has the thread: a fork has not


def _serve(jobs: queue.SimpleQueue[Pending[Any]]) -> None:
    while True:
        jobs.get().work()


def submit(make: Callable[[], T]) -> Pending[T]:
    """Have a job done in the background."""
    global _jobs, _owner
    pending = Pending(make)
    with _lock:
        if _owner != os.getpid():
            _owner, _jobs = os.getpid(), queue.SimpleQueue()
            name = "ember-compiler"
            threading.Thread(
                target=_serve, args=(_jobs,), name=name, daemon=True
            ).start()
        _jobs.put(pending)
    return pending


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)

_told = False


def is_available() -> bool:
    """Whether programs can be compiled here. Says once why not, where that is so."""
    global _told
    why = _llvm.why_not()
    if why and not _told:
        _told = True
        warnings.warn(f"compile() runs op by op: {why}", RuntimeWarning, stacklevel=3)
    return not why
