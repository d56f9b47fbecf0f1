"""The main process's side of a DataLoader with workers.

Batch `i` goes to worker `i % n`, as in PyTorch, and at most `prefetch_factor` batches
are ahead per worker. Each worker has a socket of its own: nothing is shared that a
killed worker could leave locked, and its end of the socket closing is how its death is
noticed, at once.
"""

import itertools
import os
import pickle
import select
import signal
import time
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn

import ember.multiprocessing as mp
from ember import _C
from ember.multiprocessing import reductions
from ember.multiprocessing._connection import Connection, Pipe
from ember.utils.data._transfer import Mapped
from ember.utils.data._worker import ENDED, Job, run_worker

_JOIN_SECONDS = 5.0  # that a worker gets to finish what it is doing
_CHECK_SECONDS = 2.0
_links: weakref.WeakSet["Link"] = weakref.WeakSet()


def _close_links() -> None:
    """In a forked worker: the main process's ends are not for it to keep open."""
    for link in list(_links):
        link.connection.close()


def _nothing() -> None:
    """In a worker that inherits nothing."""


class Link:
    """One worker, seen from the main process."""

    def __init__(self, context, job: Job) -> None:
        self.connection, end = Pipe()
        self.mapped = Mapped()
        self.active = True  # has work left in this epoch
        self.outstanding = 0
        self.tasks: list = []  # to be sent
        self._unsent = b""
        _links.add(self)
        forks = context.get_start_method() == "fork"
        self.process = context.Process(
            target=run_worker,
            args=(end, job, _close_links if forks else _nothing),
            daemon=True,
        )
        try:
            self.process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            end.close()

    def flush(self, epoch: int) -> bool:
        """Send the tasks, as much as goes without waiting; whether that is all."""
        if self.tasks:
            message = (epoch, *self.mapped.give_back(), self.tasks)
            data = pickle.dumps(message, 5)
            self._unsent += Connection.pack(data, reductions.Parcel())
            self.tasks = []
        if self._unsent:
            fileno = self.connection.fileno()
            try:
                sent = _C._send_message(fileno, self._unsent, (), False)
            except (BrokenPipeError, ConnectionResetError):
                sent = len(self._unsent)  # it has died; reading will tell
            self._unsent = self._unsent[sent:]
        return not self._unsent

    def receive(self) -> tuple[int, int, int, Any]:
        """Epoch, number, kind and content of the next batch. Raises EOFError."""
        data = self.connection._recv_bytes().getbuffer()
        epoch, number, kind, dropped, result = self.mapped.load(data)
        self.mapped.drop(dropped)
        return epoch, number, kind, result

    def cause_of_death(self) -> str:
        """A sentence for the user."""
        self.process.join(_JOIN_SECONDS)
        pid, code = self.process.pid, self.process.exitcode
        if code is not None and code < 0:
            text = f"DataLoader worker (pid {pid}) is killed by signal: "
            return f"{text}{signal.strsignal(-code)}. "
        if code:
            return (
                f"DataLoader worker (pid {pid}) exited unexpectedly with exit code "
                f"{code}. Details are lost due to multiprocessing. Rerunning with "
                "num_workers=0 may give better error trace."
            )
        return f"DataLoader worker (pid(s) {pid}) exited unexpectedly"


class Crew:
    """The workers of a loader, and the batches that are under way."""

    def __init__(self, loader, base_seed: int) -> None:
        self._owner = os.getpid()
        self._links: list[Link] = []
        self._poll = select.poll()
        self._by_fileno: dict[int, Link] = {}
        self._epoch = 0
        self._error: str | None = None
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._prefetch = loader.prefetch_factor
        context = loader.multiprocessing_context or mp.get_context()
        try:
            for i in range(loader.num_workers):
                self._add(Link(context, _job(loader, base_seed, i)))
        except BaseException:
            self.close()
            raise

    def _add(self, link: Link) -> None:
        self._links.append(link)
        fileno = link.connection.fileno()
        self._by_fileno[fileno] = link
        self._poll.register(fileno, select.POLLIN)

    @property
    def processes(self) -> list:
        """The workers; none are left once this is closed."""
        return [link.process for link in self._links]

    def begin(self, indices: Iterator) -> None:
        """Start a pass over these indices; what is left of the last is dropped."""
        self._epoch += 1
        self._indices = indices
        self._sent = self._wanted = 0  # numbers of batches
        self._batches: dict[int, tuple] = {}  # those that came too early
        self._worker_of: dict[int, Link] = {}  # for those not yet given out
        self._turn = itertools.cycle(self._links)
        for link in self._links:
            link.active, link.outstanding, link.tasks = True, 0, []
        for _ in range(self._prefetch * len(self._links)):
            self._hand_out()
        self._flush()

    def _hand_out(self) -> None:
        """Give the next batch to the worker whose turn it is."""
        indices = next(self._indices, self)
        if indices is self:
            return
        most = self._prefetch * len(self._links)
        for link in itertools.islice(self._turn, len(self._links)):
            if not link.active:
                continue
            if self._in_order or link.outstanding < most // self._count_active():
                link.tasks.append((self._sent, indices))
                self._worker_of[self._sent] = link
                link.outstanding += 1
                self._sent += 1
                return

    def _count_active(self) -> int:
        return sum(link.active for link in self._links)

    def _flush(self) -> bool:
        done = True
        for link in self._links:
            if link.tasks or link._unsent:
                done &= link.flush(self._epoch)
        return done

    def next(self) -> tuple[int, Any]:
        """Kind and content of the next batch. Raises StopIteration at the end."""
        if self._error is not None:
            raise RuntimeError(self._error)
        if os.getpid() != self._owner:
            raise RuntimeError(
                "next(): this DataLoader iterator belongs to another process; make one "
                "in this process with iter()"
            )
        deadline = time.monotonic() + self._timeout if self._timeout else None
        while True:
            self._skip_ended()
            if not self._worker_of:
                raise StopIteration
            number = self._wanted
            if not self._in_order and self._batches:
                number = next(iter(self._batches))
            if number in self._batches:
                return self._give(number)
            self._wait(deadline)

    def _skip_ended(self) -> None:
        """Pass over batches that a worker at the end of its stream will not make."""
        while self._wanted < self._sent:
            link = self._worker_of.get(self._wanted)
            if link is not None and (link.active or self._wanted in self._batches):
                return
            self._worker_of.pop(self._wanted, None)
            self._wanted += 1

    def _give(self, number: int) -> tuple[int, Any]:
        link = self._worker_of.pop(number)
        link.outstanding -= 1
        batch = self._batches.pop(number)
        self._hand_out()
        self._flush()
        return batch

    def _wait(self, deadline: float | None) -> None:
        """Take in what arrives, at least one message."""
        seconds = _CHECK_SECONDS
        if deadline is not None:
            seconds = min(seconds, deadline - time.monotonic())
            if seconds <= 0:
                raise RuntimeError(
                    f"DataLoader timed out after {self._timeout} seconds"
                )
        if not self._flush():
            seconds = min(seconds, 0.01)  # a worker is still reading what we sent
        ready = self._poll.poll(max(seconds * 1000, 1))
        for fileno, _ in ready:
            self._take(self._by_fileno[fileno])
        if not ready:  # normally a socket tells, unless somebody inherited its end
            for link in self._links:
                if not link.process.is_alive():
                    self._fail(link)

    def _take(self, link: Link) -> None:
        try:
            epoch, number, kind, result = link.receive()
        except (EOFError, ConnectionError):
            self._fail(link)
        except BaseException:  # in the middle of a message, so there is no next one
            self._error = "DataLoader was interrupted while it received a batch"
            self.close()
            raise
        if epoch != self._epoch:
            return
        if kind == ENDED:
            link.active = False
            self._hand_out()
        else:
            self._batches[number] = (kind, result)

    def _fail(self, link: Link) -> NoReturn:
        self._error = link.cause_of_death()
        self.close()
        raise RuntimeError(self._error) from None

    def close(self) -> None:
        """End the workers."""
        links, self._links = self._links, []
        if os.getpid() != self._owner:
            return
        for link in links:
            link.connection.close()  # which they notice
        deadline = time.monotonic() + _JOIN_SECONDS
        for link in links:
            process = link.process
            process.join(max(deadline - time.monotonic(), 0.01))
            if process.is_alive():
                process.terminate()
                process.join(1)
            if process.is_alive():
                process.kill()
                process.join()

    def __del__(self) -> None:
        if getattr(self, "_links", None):
            self.close()


def _job(loader, base_seed: int, number: int) -> Job:
    return Job(
        loader._dataset_kind,
        loader.dataset,
        loader._auto_collation,
        loader.collate_fn,
        loader.drop_last,
        base_seed,
        loader.worker_init_fn,
        number,
        loader.num_workers,
    )
