"""Calls of functions in other processes.

    rpc.init_rpc("worker1", rank=1, world_size=2)
    rpc.rpc_sync("worker0", ember.add, args=(x, 1))        # the result
    rpc.rpc_async("worker0", ember.add, args=(x, 1))       # a future of it
    rpc.remote("worker0", Model, args=(size,))             # a reference: it stays there
    rpc.shutdown()

Arguments and results are pickled, so functions must be importable at both ends, and
are trusted: only workers that know the secret of the run are connected. Calls run in
threads of the worker. `_agent.py` has the connections, `_rref.py` the references.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ember import _lazy, _unavailable
from ember.distributed import REASON
from ember.distributed._stores import PrefixStore
from ember.distributed.rendezvous import rendezvous
from ember.distributed.rpc import _agent, _rref, functions
from ember.distributed.rpc._agent import RemoteException, WorkerInfo
from ember.distributed.rpc._rref import RRef
from ember.distributed.rpc.options import (
    BackendType,
    RpcBackendOptions,
    TensorPipeRpcBackendOptions,
)
from ember.futures import Future

PyRRef = RRef
_generation = 0

__all__ = [
    "BackendType",
    "PyRRef",
    "RRef",
    "RemoteException",
    "RpcBackendOptions",
    "TensorPipeRpcBackendOptions",
    "WorkerInfo",
    "functions",
    "get_rpc_timeout",
    "get_worker_info",
    "init_rpc",
    "is_available",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]
_unavailable.fill(
    globals(),
    "distributed.rpc",
    REASON,
    """AllGatherStates RemoteProfilerManager RpcAgent TensorPipeAgent
    enable_gil_profiling method_factory new_method""",
)


def is_available() -> bool:
    """True: calls need nothing but sockets."""
    return True


def init_rpc(
    name: str,
    backend: BackendType | None = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: RpcBackendOptions | None = None,
) -> None:
    """Join the workers; all of them call this, each with a name of its own.

    >>> import ember, os
    >>> from ember.distributed import rpc
    >>> os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1)
    >>> rpc.rpc_sync("alone", ember.add, args=(ember.ones(2), 1))
    tensor([2., 2.])
    >>> rpc.shutdown()
    """
    global _generation
    if not isinstance(name, str) or not name:
        raise ValueError("init_rpc(): a worker needs a name")
    if _rref._current is not None:
        raise RuntimeError("RPC is already initialized")
    options = rpc_backend_options or TensorPipeRpcBackendOptions()
    size = -1 if world_size is None else world_size
    wait = timedelta(seconds=options.rpc_timeout or 1e6)
    timeout = max(wait, timedelta(seconds=60))
    found = rendezvous(options.init_method, rank, size, timeout=timeout)
    store, rank, size = next(found)
    count = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    own = PrefixStore(f"rpc/{count}/{_generation}", store)
    _generation += 1
    threads = getattr(options, "num_worker_threads", 16)
    agent = _agent.Agent(own, name, rank, size, threads, options.rpc_timeout)
    agent.calls["call"] = _run
    agent.calls["make"] = _make
    _rref.begin(agent)
    own.barrier("begun", size, _agent._PATIENCE)


def shutdown(graceful: bool = True, timeout: float = 0) -> None:
    """Leave the workers: `graceful` waits until all have called this and no call is
    unanswered."""
    if _rref._current is None:
        return
    agent = _rref._current[0]
    try:
        if graceful:
            wait = timedelta(seconds=timeout) if timeout else timedelta(days=1)
            agent.wait_for_calls()
            agent.store.barrier("done", agent.size, wait)
            agent.wait_for_calls()  # of functions that others called here
            agent.store.barrier("left", agent.size, wait)
            if agent.info.id == 0 and agent.size > 1:  # it may keep the store
                agent.store.wait([f"gone/{r}" for r in range(1, agent.size)], wait)
            elif agent.size > 1:
                agent.store.set(f"gone/{agent.info.id}", "")
    finally:
        _rref.end()
        agent.close()


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """A worker by its name; this one, if none is given."""
    agent = _rref.current()[0]
    return agent.info if worker_name is None else agent.worker(worker_name)


def get_rpc_timeout() -> float:
    """Seconds after which a call fails, unless it is told; 0 for never."""
    return _rref.current()[0].timeout


def _ask(kind: str, to: Any, what: Any, timeout: float) -> Future:
    agent = _rref.current()[0]
    return agent.ask(agent.worker(to), kind, what, None if timeout < 0 else timeout)


def rpc_async(
    to: Any,
    func: Callable[..., Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    timeout: float = -1.0,
) -> Future:
    """Call a function on a worker; a future of its result."""
    if not callable(func):
        raise TypeError(f"function should be callable, not {func!r}")
    return _ask("call", to, (func, tuple(args or ()), kwargs or {}), timeout)


def rpc_sync(
    to: Any,
    func: Callable[..., Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    timeout: float = -1.0,
) -> Any:
    """Call a function on a worker; its result."""
    return rpc_async(to, func, args, kwargs, timeout).wait()


def remote(
    to: Any,
    func: Callable[..., Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    timeout: float = -1.0,
) -> RRef:
    """Call a function on a worker, where its result stays; a reference to it."""
    if not callable(func):
        raise TypeError(f"function should be callable, not {func!r}")
    agent, values = _rref.current()
    owner = agent.worker(to)
    made = RRef._of(owner, values.new_key(agent.info.id))
    what = (made._key, func, tuple(args or ()), kwargs or {})
    if owner.id == agent.info.id:
        values.count(made._key, 1)
    made._made = _ask("make", to, what, timeout)
    return made


def _call(func: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """What a function returns; of one marked `async_execution`, a future of it."""
    return func(*args, **kwargs)


def _is_async(func: Any) -> bool:
    inner = func.func if isinstance(func, functools.partial) else func
    return getattr(inner, "_wrapped_async_rpc_function", None) is not None


def _run(what: tuple) -> Any:
    func, args, kwargs = what
    if func is _rref._method:
        method = getattr(type(args[0].local_value()), args[1], None)
        later = _is_async(method)
    else:
        later = _is_async(func)
    value = _call(func, args, kwargs)
    if not later:
        return value
    if not isinstance(value, Future):
        raise RuntimeError(
            "Functions decorated with @rpc.functions.async_execution must return a "
            f"torch.futures.Future object, but got {type(value)}."
        )
    return _agent._Later(value)


def _make(what: tuple) -> None:
    key, func, args, kwargs = what
    agent, values = _rref.current()
    if key[0] != agent.info.id:
        values.count(key, 1)
    future = values.future(key)
    try:
        value = _run((func, args, kwargs))
    except BaseException as error:
        future.set_exception(error)
        raise
    if isinstance(value, _agent._Later):
        value.future.add_done_callback(lambda f: _copy(f, future))
    else:
        future.set_result(value)


def _copy(given: Future, into: Future) -> None:
    try:
        into.set_result(given.value())
    except BaseException as error:
        into.set_exception(error)


__getattr__ = _lazy.missing(__name__)
