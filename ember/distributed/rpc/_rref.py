"""References to values of other workers.

The owner counts the references that others hold. Whoever sends a reference first has
the owner count one more, and waits for it; whoever receives it gives that one back when
its reference dies. So a value lives as long as anybody can reach it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ember.distributed.rpc import _agent
from ember.distributed.rpc._agent import WorkerInfo
from ember.futures import Future

T = TypeVar("T")
Key = tuple[int, int]  # who made it, and its number there


class _Values:
    """The values that this worker owns for others."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.next = 0
        self.held: dict[Key, tuple[Future, int]] = {}
        self.dropped: queue.SimpleQueue[tuple[WorkerInfo, Key] | None] = (
            queue.SimpleQueue()
        )

    def new_key(self, rank: int) -> Key:
        with self.lock:
            self.next += 1
            return rank, self.next

    def future(self, key: Key) -> Future:
        """The future of a value, perhaps one that is still to be made."""
        with self.lock:
            if key not in self.held:
                self.held[key] = (Future(), 0)
            return self.held[key][0]

    def count(self, key: Key, by: int) -> None:
        with self.lock:
            future, holders = self.held.get(key) or (Future(), 0)
            if holders + by <= 0:
                self.held.pop(key, None)
            else:
                self.held[key] = future, holders + by

    def give_back(self, agent: Any) -> None:
        """Tells owners of references that died, from a thread of its own."""
        while (item := self.dropped.get()) is not None:
            owner, key = item
            try:
                agent.ask(owner, "count", (key, -1))
            except Exception:
                pass  # the owner has ended, and its values with it


class RRef(Generic[T]):
    """A value of this or another worker: `RRef(value)`, or what `rpc.remote` gives."""

    _made: Future | None = None  # the call that makes the value, where it was made

    def __init__(self, value: Any, type_hint: Any = None) -> None:
        agent, values = current()
        self._owner, self._key = agent.info, values.new_key(agent.info.id)
        values.count(self._key, 1)
        values.future(self._key).set_result(value)

    @classmethod
    def _of(cls, owner: WorkerInfo, key: Key) -> RRef:
        made = cls.__new__(cls)
        made._owner, made._key = owner, key
        return made

    def is_owner(self) -> bool:
        """Whether the value is here."""
        return self._owner.id == current()[0].info.id

    def owner(self) -> WorkerInfo:
        """The worker that has the value."""
        return self._owner

    def owner_name(self) -> str:
        """Its name."""
        return self._owner.name

    def confirmed_by_owner(self) -> bool:
        """Whether the owner has answered the call that makes the value."""
        return self._made is None or self._made.done()

    def local_value(self) -> T:
        """The value itself, on its owner."""
        if not self.is_owner():
            raise RuntimeError(
                f"For RRef({self._key}), cannot call localValue() on a non-owner: it "
                f"is on {self._owner.name}. Call to_here() instead."
            )
        return current()[1].future(self._key).wait()

    def to_here(self, timeout: float = -1.0) -> T:
        """A copy of the value."""
        if self.is_owner():
            return self.local_value()
        seconds = None if timeout < 0 else timeout
        if self._made is not None:
            self._made.wait()
        agent = current()[0]
        return agent.ask(self._owner, "fetch", self._key, seconds).wait()

    def _get_type(self, timeout: float = -1.0, blocking: bool = True) -> Any:
        from ember.distributed.rpc import rpc_async

        future = rpc_async(self._owner, _type_of, (self,))
        return future.wait() if blocking else future

    def rpc_sync(self, timeout: float = -1.0) -> Any:
        """Calls methods of the value on its owner: `ref.rpc_sync().method(...)`."""
        from ember.distributed.rpc import rpc_sync

        return _Methods(self, rpc_sync, timeout)

    def rpc_async(self, timeout: float = -1.0) -> Any:
        """The same, with futures."""
        from ember.distributed.rpc import rpc_async

        return _Methods(self, rpc_async, timeout)

    def remote(self, timeout: float = -1.0) -> Any:
        """The same, with references to the results."""
        from ember.distributed.rpc import remote

        return _Methods(self, remote, timeout)

    def __reduce__(self) -> tuple:
        agent, values = current()
        if self.is_owner():
            values.count(self._key, 1)
        else:
            agent.ask(self._owner, "count", (self._key, 1)).wait()
        return _arrive, (tuple(self._owner), self._key)

    def __repr__(self) -> str:
        kind = "OwnerRRef" if self.is_owner() else "UserRRef"
        return f"{kind}(owner={self._owner.name}, id={self._key})"

    def __del__(self) -> None:
        if _current is None or not hasattr(self, "_key"):
            return
        agent, values = _current
        if self._owner.id == agent.info.id:
            values.count(self._key, -1)
        else:
            values.dropped.put((self._owner, self._key))


def _arrive(owner: tuple, key: Key) -> RRef:
    return RRef._of(WorkerInfo(*owner), key)


def _type_of(ref: RRef) -> type:
    return type(ref.local_value())


def _method(ref: RRef, name: str, args: tuple, kwargs: dict) -> Any:
    return getattr(ref.local_value(), name)(*args, **kwargs)


class _Methods:
    def __init__(self, ref: RRef, how: Callable[..., Any], timeout: float) -> None:
        self._ref, self._how, self._timeout = ref, how, timeout

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            what = (self._ref, name, args, kwargs)
            return self._how(
                self._ref.owner(), _method, args=what, timeout=self._timeout
            )

        return call


_current: tuple[_agent.Agent, _Values] | None = None


def current() -> tuple[_agent.Agent, _Values]:
    """This process's agent and values."""
    if _current is None:
        raise RuntimeError(
            "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."
        )
    return _current


def begin(agent: _agent.Agent) -> None:
    """References belong to this agent from now on."""
    global _current
    values = _Values()
    agent.kinds["count"] = lambda what: values.count(*what)
    agent.calls["fetch"] = lambda key: values.future(key).wait()
    _current = agent, values
    threading.Thread(target=values.give_back, args=(agent,), daemon=True).start()


def end() -> None:
    """Forget all values."""
    global _current
    if _current is not None:
        _current[1].dropped.put(None)
        _current = None
