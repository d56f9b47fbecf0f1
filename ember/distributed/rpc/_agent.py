"""The process's end of all calls: sockets, threads and answers.

A worker has one connection to every other that it calls, opened at the first call. Who
connects must know the secret of the run; only then is anything unpickled. A connection
that breaks ends all calls that wait for it, with an error that names the worker.
"""

from __future__ import annotations

import heapq
import io
import itertools
import pickle
import socket
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from multiprocessing.connection import (
    Connection,
    answer_challenge,
    deliver_challenge,
)
from typing import Any, NamedTuple

from ember.distributed import _world
from ember.distributed._secret import secret
from ember.distributed._stores import Store
from ember.futures import Future

_PATIENCE = timedelta(seconds=120)


class WorkerInfo(NamedTuple):
    """A worker: its name and its number."""

    name: str
    id: int


class RemoteException(Exception):
    """An error of a worker that could not be sent as it is."""


class _Peer:
    """A connection to another worker, for requests from here."""

    def __init__(self, agent: Agent, info: WorkerInfo) -> None:
        where = agent.store.get(f"at/{info.id}").decode().rsplit(":", 1)
        end = socket.create_connection((where[0], int(where[1])), timeout=30)
        end.settimeout(None)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = Connection(end.detach())
        answer_challenge(self.connection, secret())
        deliver_challenge(self.connection, secret())
        self.info, self.lock, self.agent = info, threading.Lock(), agent
        self.waiting: dict[int, Future] = {}
        self.broken = ""
        threading.Thread(target=self._answers, daemon=True).start()

    def send(self, number: int, kind: str, data: bytes, future: Future | None) -> None:
        with self.lock:
            if self.broken:
                raise RuntimeError(self.broken)
            if future is not None:
                self.waiting[number] = future
            try:
                self.connection.send_bytes(pickle.dumps((number, kind)))
                self.connection.send_bytes(data)
            except OSError as error:
                self.waiting.pop(number, None)
                raise RuntimeError(self._lost(error)) from None

    def _lost(self, error: BaseException) -> str:
        return (
            f"worker {self.info.name} (rank {self.info.id}) is lost: {error or 'end'}"
        )

    def _answers(self) -> None:
        try:
            while True:
                number, well = pickle.loads(self.connection.recv_bytes())
                data = self.connection.recv_bytes()
                future = self.waiting.pop(number, None)
                if future is not None:
                    self.agent.pool.submit(_settle, future, well, data)
        except (OSError, EOFError) as error:
            with self.lock:
                self.broken = self._lost(error)
                left, self.waiting = self.waiting, {}
            for future in left.values():
                _fail(future, RuntimeError(self.broken))


def _settle(future: Future, well: bool, data: bytes) -> None:
    try:
        value = loads(data)
    except Exception as error:
        well, value = False, error
    if well:
        if not future.done():
            future.set_result(value)
    else:
        _fail(future, value)


def _fail(future: Future, error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def dumps(value: Any) -> bytes:
    """Pickled, functions of the main module too."""
    stream = io.BytesIO()
    pickle.Pickler(stream, protocol=4).dump(value)
    return stream.getvalue()


def loads(data: bytes) -> Any:
    return pickle.loads(data)


class Agent:
    """Serves calls of others and makes calls."""

    def __init__(
        self,
        store: Store,
        name: str,
        rank: int,
        size: int,
        threads: int,
        timeout: float,
    ) -> None:
        self.store, self.info, self.size = store, WorkerInfo(name, rank), size
        self.timeout = timeout
        self.kinds: dict[str, Callable[[Any], Any]] = {}  # answered in order, at once
        self.calls: dict[str, Callable[[Any], Any]] = {}  # in a thread of the pool
        self.pool = ThreadPoolExecutor(max(threads, 4), thread_name_prefix="rpc")
        self._peers: dict[int, _Peer] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._open = True
        self._pending: set[Future] = set()
        self._deadlines: list[tuple[float, int, Future, float]] = []
        self._tick = threading.Condition()
        self._meet(name)
        threading.Thread(target=self._watch, daemon=True).start()

    # --- meeting ---

    def _meet(self, name: str) -> None:
        store, rank = self.store, self.info.id
        store.set(f"host/{rank}", _world._host())
        ranks = range(self.size)
        hosts = _world._wait_for(store, {r: f"host/{r}" for r in ranks}, _PATIENCE)
        address = _world._interface(store, len(set(hosts)) == 1)
        self._listener = socket.create_server((address, 0), backlog=128)
        threading.Thread(target=self._accept, daemon=True).start()
        store.set(f"at/{rank}", f"{address}:{self._listener.getsockname()[1]}")
        store.set(f"name/{rank}", name)
        _world._wait_for(store, {r: f"at/{r}" for r in ranks}, _PATIENCE)
        names = _world._wait_for(store, {r: f"name/{r}" for r in ranks}, _PATIENCE)
        self.workers = [WorkerInfo(n.decode(), r) for r, n in enumerate(names)]
        self.by_name = {w.name: w for w in self.workers}
        if len(self.by_name) != self.size:
            raise RuntimeError("init_rpc(): two workers have the same name")

    def worker(self, to: Any) -> WorkerInfo:
        """A worker by name, number or info."""
        if isinstance(to, WorkerInfo):
            return to
        if isinstance(to, str):
            if to not in self.by_name:
                raise RuntimeError(f"Unknown destination worker {to}")
            return self.by_name[to]
        if isinstance(to, int) and 0 <= to < self.size:
            return self.workers[to]
        raise ValueError(f"Cannot get WorkerInfo from {to!r}")

    # --- serving ---

    def _accept(self) -> None:
        while self._open:
            try:
                end, _ = self._listener.accept()
            except OSError:
                return
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(end,), daemon=True).start()

    def _serve(self, end: socket.socket) -> None:
        connection, lock = Connection(end.detach()), threading.Lock()
        try:
            deliver_challenge(connection, secret())
            answer_challenge(connection, secret())
            while True:
                number, kind = pickle.loads(connection.recv_bytes())
                data = connection.recv_bytes()

                def answer(well: bool, value: Any, number: int = number) -> None:
                    reply = _packed(well, value)
                    try:
                        with lock:
                            connection.send_bytes(pickle.dumps((number, reply[0])))
                            connection.send_bytes(reply[1])
                    except OSError:
                        pass  # the caller is gone

                if kind in self.kinds:
                    self._answer(self.kinds[kind], data, answer)
                else:
                    self.pool.submit(self._answer, self.calls[kind], data, answer)
        except Exception:
            pass  # a stranger, or the caller has ended
        finally:
            connection.close()

    def _answer(self, what: Callable, data: bytes, answer: Callable) -> None:
        try:
            value = what(loads(data))
        except BaseException as error:
            answer(False, error)
            return
        if isinstance(value, _Later):
            value.future.add_done_callback(lambda f: _forward(f, answer))
        else:
            answer(True, value)

    # --- calling ---

    def ask(
        self, to: WorkerInfo, kind: str, value: Any, timeout: float | None = None
    ) -> Future:
        """A future of the answer of a worker, which may be this one."""
        future: Future[Any] = Future()
        with self._tick:
            self._pending.add(future)
        future.add_done_callback(self._ended)
        data = dumps(value)
        seconds = self.timeout if timeout is None else timeout
        if to.id == self.info.id:

            def answer(well: bool, value: Any) -> None:
                _settle(future, *_packed(well, value))

            if kind in self.kinds:
                self._answer(self.kinds[kind], data, answer)
            else:
                self.pool.submit(self._answer, self.calls[kind], data, answer)
        else:
            try:
                self._peer(to).send(next(self._numbers), kind, data, future)
            except RuntimeError as error:
                _fail(future, error)
        if seconds > 0:
            end = time.monotonic() + seconds
            with self._tick:
                item = (end, next(self._numbers), future, seconds)
                heapq.heappush(self._deadlines, item)
                self._tick.notify()
        return future

    def _peer(self, to: WorkerInfo) -> _Peer:
        with self._lock:
            if to.id not in self._peers:
                if not self._open:
                    raise RuntimeError("RPC has been shut down")
                try:
                    self._peers[to.id] = _Peer(self, to)
                except (OSError, EOFError) as error:
                    text = f"worker {to.name} (rank {to.id}) cannot be reached: {error}"
                    raise RuntimeError(text) from None
            return self._peers[to.id]

    def _ended(self, future: Future) -> None:
        with self._tick:
            self._pending.discard(future)
            self._tick.notify_all()

    def _watch(self) -> None:
        """Ends calls whose time is up."""
        while self._open:
            with self._tick:
                while self._deadlines and self._deadlines[0][2].done():
                    heapq.heappop(self._deadlines)
                now = time.monotonic()
                if not self._deadlines or self._deadlines[0][0] > now:
                    left = self._deadlines[0][0] - now if self._deadlines else 1.0
                    self._tick.wait(min(left, 1.0))
                    continue
                _, _, future, seconds = heapq.heappop(self._deadlines)
            _fail(
                future,
                RuntimeError(
                    f"RPC ran for more than set timeout ({round(seconds * 1000)} ms) "
                    "and will now be marked with an error"
                ),
            )

    def wait_for_calls(self) -> None:
        """Until no call from here is unanswered."""
        with self._tick:
            while self._pending:
                self._tick.wait(0.2)

    def close(self) -> None:
        """Stop serving and calling."""
        self._open = False
        with self._tick:
            self._tick.notify_all()
        self._listener.close()
        with self._lock:
            for peer in self._peers.values():
                try:
                    peer.connection.close()
                except OSError:
                    pass
        self.pool.shutdown(wait=False)


class _Later:
    """An answer that is a future's value."""

    def __init__(self, future: Future) -> None:
        self.future = future


def _forward(future: Future, answer: Callable) -> None:
    try:
        value = future.value()
    except BaseException as error:
        answer(False, error)
    else:
        answer(True, value)


def _packed(well: bool, value: Any) -> tuple[bool, bytes]:
    """An answer; of an error, its class and its text with the stack."""
    if well:
        try:
            return True, dumps(value)
        except Exception as error:
            well, value = False, error
    stack = "".join(traceback.format_exception(value))
    try:
        same = type(value)(f"{value}\n\nOn the worker:\n{stack}")
        data = dumps(same)
        loads(data)
        return False, data
    except Exception:
        return False, dumps(RemoteException(stack))
