"""Results that are there later."""

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Future(Generic[T]):
    """A result that somebody sets and others wait for.

    >>> import ember
    >>> future = ember.futures.Future()
    >>> doubled = future.then(lambda f: f.value() * 2)
    >>> future.set_result(4)
    >>> doubled.wait()
    8
    """

    def __init__(self, *, devices=None) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable] = []
        self._result: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Whether a result or an error is there."""
        return self._event.is_set()

    def wait(self) -> Any:
        """The result, as soon as it is there; or its error, raised."""
        self._event.wait()
        return self.value()

    def value(self) -> Any:
        """The result of a future that is done."""
        if not self.done():
            raise RuntimeError("value() of a future that is not done; wait() for it")
        if self._error is not None:
            raise self._error
        return self._result

    def set_result(self, result: Any) -> None:
        """Set the result and run what waits for it. Once only."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait` raises."""
        if not isinstance(result, BaseException):
            raise AssertionError(
                f"{result} is of type {type(result)}, not an Exception."
            )
        self._finish(None, result)

    def _finish(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._event.is_set():
                raise RuntimeError("Future already has a result: it can be set once")
            self._result, self._error = result, error
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable) -> None:
        """Call `callback(self)` when the result is there."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable) -> "Future":
        """A future of what `callback(self)` returns."""
        made: Future = Future()

        def run(done: Future) -> None:
            try:
                made.set_result(callback(done))
            except Exception as error:
                made.set_exception(error)

        self.add_done_callback(run)
        return made


def collect_all(futures: list) -> Future:
    """A future of the list of futures, done when all of them are."""
    made: Future = Future()
    left = len(futures)
    lock = threading.Lock()

    def one(_: Future) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            made.set_result(futures)

    if not futures:
        made.set_result(futures)
    for future in futures:
        future.add_done_callback(one)
    return made


def wait_all(futures: list) -> list:
    """The results of all futures."""
    return [future.wait() for future in collect_all(futures).wait()]


__all__ = ["Future", "collect_all", "wait_all"]
