"""Collectives that run: `Work` and its future."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ember import _C, Tensor
from ember.distributed._errors import DistBackendError
from ember.futures import Future

_FOREVER = 1e8
_unfinished: deque[Work] = deque()  # keeps the memory of what nobody holds any more


def unfinished(comm: int, but: Work) -> list[Work]:
    """Collectives of a communicator that may still run, without one of them."""
    return [w for w in _unfinished if w.comm == comm and w is not but and comm >= 0]


class Work:
    """A collective that was begun.

    `finish` is called once when it is done, by whoever notices first: it copies results
    that had to be computed elsewhere.
    """

    comm = -1
    name = ""

    def __init__(
        self,
        handle: Any = None,
        result: Any = None,
        keep: Any = None,
        finish: Callable[[], None] | None = None,
    ) -> None:
        self._handle, self._result, self._keep = handle, result, keep
        self._finish, self._error = finish, ""
        self._lock = threading.RLock()
        self._done = False
        self._future: Future | None = None
        if handle is not None:
            while _unfinished and _unfinished[0].is_completed():
                _unfinished.popleft()
            _unfinished.append(self)
        else:
            self._settle("")

    def _settle(self, error: str) -> None:
        with self._lock:
            if self._done:
                return
            if not error and self._finish is not None:
                self._finish()
            self._error, self._finish, self._done = error, None, True
            if not error:  # MPI may still write into the memory of what failed
                self._keep = None

    def _poll(self, seconds: float) -> bool:
        if not self._done:
            error = _C._dist_wait(self._handle, seconds)
            if error is None:
                return False
            self._settle(error)
        return True

    def is_completed(self) -> bool:
        """Whether it is done, well or not."""
        return self._poll(0.0)

    def is_success(self) -> bool:
        """Whether it is done without an error."""
        return self._poll(0.0) and not self._error

    def exception(self) -> BaseException | None:
        """Its error."""
        return (
            DistBackendError(self._error) if self._poll(0.0) and self._error else None
        )

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Wait until it is done; its error is raised."""
        seconds = timeout.total_seconds()
        span = _C._profile_begin(f"{self.name} wait") if self.name else None
        done = self._poll(seconds or _FOREVER)
        del span
        if not done:
            raise DistBackendError(
                f"Timed out waiting {round(seconds * 1000)}ms for the work to complete"
            )
        if self._error:
            raise DistBackendError(self._error)
        return True

    def synchronize(self) -> None:
        """The same as `wait`."""
        self.wait()

    def result(self) -> list[Tensor]:
        """The tensors that it wrote."""
        self.wait()
        return self._result if isinstance(self._result, list) else [self._result]

    def source_rank(self) -> int:
        """Who sent what was received."""
        return _C._dist_source(self._handle)

    _source_rank = source_rank

    def boxed(self) -> Work:
        """Itself."""
        return self

    def get_future(self) -> Future:
        """A future of the list of tensors that it wrote."""
        with self._lock:
            if self._future is None:
                self._future = Future()
                if self._done:
                    self._resolve()
                else:
                    threading.Thread(target=self._resolve, daemon=True).start()
            return self._future

    def _resolve(self) -> None:
        assert self._future is not None
        try:
            self.wait()
        except Exception as error:
            self._future.set_exception(error)
        else:
            self._future.set_result(self._result)


class Works(Work):
    """Several collectives as one."""

    def __init__(self, works: list[Work], result: Any = None) -> None:
        self._works = works
        super().__init__(result=result)

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def is_success(self) -> bool:
        return all(work.is_success() for work in self._works)

    def exception(self) -> BaseException | None:
        return next((e for w in self._works if (e := w.exception())), None)

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        for work in self._works:
            work.wait(timeout)
        return True
