"""A worker process of a DataLoader: gets indices, makes batches, sends them.

It ends when the other end of its socket is closed, which happens by itself when the
main process ends, in whatever way; and when it finds itself with another parent, in
case some other process has inherited that end.
"""

import os
import pickle
import random
import select
import sys
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ember
from ember import _C
from ember.multiprocessing._connection import Connection
from ember.utils.data import _collate, _info
from ember.utils.data._fetch import _DatasetKind, make_fetcher
from ember.utils.data._transfer import Slots

CHECK_SECONDS = 1.0  # how often a worker that waits looks for its parent
BATCH, FAILED, ENDED = range(3)


class KeyErrorMessage(str):
    """A message that `KeyError` prints as it is, not as a repr."""

    def __repr__(self) -> str:
        return self[:]


class ExceptionWrapper:
    """An exception of a worker, to be raised again in the main process."""

    def __init__(self, where: str) -> None:
        kind, value, trace = sys.exc_info()
        assert kind is not None
        text = "".join(traceback.format_exception(kind, value, trace))
        self.exc_type: Any = kind
        self.exc_msg = f"Caught {kind.__name__} {where}.\nOriginal {text}"

    def reraise(self) -> None:
        """Raise it, with the worker's traceback in its message."""
        message: str = self.exc_msg
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:  # it is made from something else
            raise RuntimeError(message) from None
        raise error


@dataclass
class Job:
    """What a worker is to do."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable
    drop_last: bool
    base_seed: int
    init_fn: Callable | None
    number: int
    workers: int

    def fetcher(self) -> Callable:
        return make_fetcher(
            self.kind,
            self.dataset,
            self.auto_collation,
            self.collate_fn,
            self.drop_last,
        )

    def start(self) -> None:
        """Make this process the worker."""
        seed = self.base_seed + self.number
        random.seed(seed)
        ember.manual_seed(seed)
        ember.set_num_threads(1)
        _C._keep_heap()
        _seed_numpy(self.base_seed, self.number)
        _info.current = _info.WorkerInfo(self.number, self.workers, seed, self.dataset)


def _seed_numpy(base_seed: int, worker: int) -> None:
    """Seed NumPy by its own mixing, so that workers' datasets draw independently."""
    try:
        from numpy import random
    except ModuleNotFoundError:
        return  # then nobody draws from it
    words = [worker, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    random.seed(random.SeedSequence(words).generate_state(4))  # noqa: NPY002


class Worker:
    """The loop of a worker."""

    def __init__(self, connection: Connection, job: Job) -> None:
        self.connection, self.job = connection, job
        self.parent = os.getppid()
        self.slots = Slots()
        self.tasks: deque = deque()
        self.epoch = 0
        self.fetch: Callable | None = None
        self.failure: ExceptionWrapper | None = None
        self._readable = select.poll()
        self._readable.register(connection.fileno(), select.POLLIN)
        self._writable = select.poll()
        self._writable.register(connection.fileno(), select.POLLOUT)

    def run(self) -> None:
        """Work until there is nobody to work for."""
        _collate.allocate = self.slots.allocate
        self.job.start()
        try:
            if self.job.init_fn is not None:
                self.job.init_fn(self.job.number)
        except Exception:
            self.failure = self._failure()
        while True:
            while self._poll(self._readable, not self.tasks):
                self._take_message()
            number, indices = self.tasks.popleft()
            self._send(number, *self._make(indices))

    def _failure(self) -> ExceptionWrapper:
        """The exception being handled."""
        return ExceptionWrapper(f"in DataLoader worker process {self.job.number}")

    def _take_message(self) -> None:
        data = self.connection._recv_bytes().getbuffer()
        epoch, free, forgotten, tasks = pickle.loads(data)
        self.slots.returned(free, forgotten)
        if epoch != self.epoch:
            self.epoch, self.fetch = epoch, None
            self.tasks.clear()
        self.tasks.extend(tasks)

    def _make(self, indices) -> tuple[int, Any]:
        if self.failure is not None:  # of worker_init_fn
            failure, self.failure = self.failure, None
            return FAILED, failure
        try:
            if self.fetch is None:
                self.fetch = self.job.fetcher()
            return BATCH, self.fetch(indices)
        except Exception as error:
            streams = self.job.kind == _DatasetKind.Iterable
            if streams and isinstance(error, StopIteration):
                self.tasks.clear()
                return ENDED, None
            return FAILED, self._failure()

    def _send(self, number: int, kind: int, result) -> None:
        dropped, self.slots.dropped = self.slots.dropped, []
        message = (self.epoch, number, kind, dropped, result)
        try:
            data, parcel = self.slots.dump(message)
        except Exception:  # a batch, or the class of an exception, that is not sent
            failure = result if kind == FAILED else self._failure()
            failure.exc_type = RuntimeError
            message = (self.epoch, number, FAILED, dropped, failure)
            data, parcel = self.slots.dump(message)
        del result, message
        try:
            whole = memoryview(self.connection.pack(data, parcel))
            descriptors, many = parcel.descriptors, len(parcel.descriptors) > 250
            while whole:
                sent = _C._send_message(
                    self.connection.fileno(), whole, descriptors, many
                )
                whole = whole[sent:]
                if sent:
                    descriptors = []
                if whole:
                    self._poll(self._writable, True)
        finally:
            parcel.close()

    def _poll(self, poll, wait: bool) -> bool:
        """Whether the socket is ready; if asked to `wait`, it is."""
        while not poll.poll(CHECK_SECONDS * 1000 if wait else 0):
            if not wait:
                return False
            if os.getppid() != self.parent:
                raise EOFError
        return True


def run_worker(connection: Connection, job: Job, others: Callable) -> None:
    """The main function of the process."""
    try:
        others()
        Worker(connection, job).run()
    except (EOFError, ConnectionError, KeyboardInterrupt):
        pass  # the main process has ended, or is about to
