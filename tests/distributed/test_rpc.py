"""Calls in other processes: results, errors, references, and who may call."""

import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
import traceback

import pytest

import ember
from ember.distributed import rpc
from ember.futures import Future


def _worker(function, rank, size, path, answers):
    ember.set_num_threads(1)
    try:
        options = rpc.TensorPipeRpcBackendOptions(
            init_method=f"file://{path}", rpc_timeout=20
        )
        rpc.init_rpc(
            f"w{rank}", rank=rank, world_size=size, rpc_backend_options=options
        )
        answer = function(rank)
        rpc.shutdown()
        answers.put((rank, True, answer))
    except BaseException:
        answers.put((rank, False, traceback.format_exc()))


def run(function, size, expect=None):
    """What `function(rank)` returns on each of `size` workers."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "store")
        processes = [
            context.Process(target=_worker, args=(function, r, size, path, answers))
            for r in range(size)
        ]
        for process in processes:
            process.start()
        found = {}
        try:
            for _ in range(size if expect is None else len(expect)):
                rank, well, answer = answers.get(timeout=60)
                assert well, f"worker {rank}:\n{answer}"
                found[rank] = answer
            for process in processes:
                process.join(20)
                assert process.exitcode is not None, "a worker did not end"
        finally:
            for process in processes:
                process.kill()
                process.join()
    return [found.get(r) for r in range(size)]


class Counter:
    def __init__(self, start=0):
        self.value = start
        self.lock = threading.Lock()

    def add(self, by):
        with self.lock:
            self.value += by
        return self.value

    def get(self):
        return self.value


def fails(x):
    raise KeyError(f"no {x}")


def call_back(to, x):
    return rpc.rpc_sync(to, ember.mul, args=(x, 2)) + 1


def value_of(ref):
    return ref.local_value().value if ref.is_owner() else ref.to_here().value


class Own:
    """Not picklable."""

    def __reduce__(self):
        raise TypeError("stays here")


def calls(rank):
    other = f"w{1 - rank}"
    x = ember.arange(4.0)
    assert rpc.rpc_sync(other, ember.add, args=(x, 1)).equal(x + 1)
    assert rpc.rpc_sync(1 - rank, ember.add, (x,), {"other": 2}).equal(x + 2)
    futures = [rpc.rpc_async(other, ember.mul, (x, i)) for i in range(50)]
    for i, future in enumerate(futures):
        assert future.wait().equal(x * i)
    # A function there calls one here.
    assert rpc.rpc_sync(other, call_back, (f"w{rank}", x)).equal(x * 2 + 1)
    big = ember.arange(1_000_000)
    assert rpc.rpc_sync(other, ember.flip, (big, [0])).equal(big.flip(0))
    with pytest.raises(KeyError, match=r"no 7[\s\S]*On the worker"):
        rpc.rpc_sync(other, fails, (7,))
    with pytest.raises(TypeError, match="stays here"):
        rpc.rpc_sync(other, Own)
    with pytest.raises(RuntimeError, match="more than set timeout"):
        rpc.rpc_sync(other, time.sleep, (1.0,), timeout=0.1)
    with pytest.raises(RuntimeError, match="Unknown destination worker"):
        rpc.rpc_sync("nobody", ember.add, (x, 1))
    info = rpc.get_worker_info(other)
    assert (info.name, info.id) == (other, 1 - rank)
    assert rpc.rpc_sync(info, os.getpid) != os.getpid()
    assert rpc.get_worker_info().id == rank and rpc.get_rpc_timeout() == 20
    return rpc.rpc_sync(f"w{rank}", ember.add, (1, 2))


def test_calls():
    assert run(calls, 2) == [3, 3]


def held(rank=None):
    from ember.distributed.rpc import _rref

    return len(_rref.current()[1].held)


def references(rank):
    if rank:
        return None
    counter = rpc.remote("w1", Counter, args=(5,))
    assert not counter.is_owner() and counter.owner_name() == "w1"
    assert counter.rpc_sync().add(2) == 7
    assert counter.rpc_async().get().wait() == 7
    assert counter.remote().get().to_here() == 7
    assert counter._get_type() is Counter
    # Handed on: the owner gets its own value, a third worker the reference.
    assert rpc.rpc_sync("w1", value_of, (counter,)) == 7
    with pytest.raises(RuntimeError, match="non-owner"):
        counter.local_value()
    passed = [rpc.rpc_async(w, sums, (counter,)) for w in ("w1", "w2", "w2")]
    for future in passed:
        future.wait()
    assert counter.rpc_sync().get() == 7 + 3 * 10
    mine = rpc.RRef(Counter(1))
    assert rpc.rpc_sync("w2", sums, (mine,)) == 11 and mine.local_value().value == 11
    with pytest.raises(KeyError, match="no 3"):
        rpc.remote("w1", fails, (3,)).to_here()
    del counter, mine
    end = time.monotonic() + 10
    while (left := [rpc.rpc_sync(f"w{i}", held) for i in range(3)]) != [0, 1, 0]:
        assert time.monotonic() < end, left  # what failed stays as an error
        time.sleep(0.05)
    return True


def sums(ref):
    return max(ref.rpc_sync().add(1) for _ in range(10))


def test_references_live_as_long_as_they_are_held():
    assert run(references, 3) == [True, None, None]


@rpc.functions.async_execution
def through(to, x):
    return rpc.rpc_async(to, ember.add, (x, 1)).then(lambda f: f.wait() * 10)


@rpc.functions.async_execution
def forgets(x):
    return x


def later(rank):
    other = f"w{1 - rank}"
    found = rpc.rpc_sync(other, through, (f"w{rank}", ember.ones(2)))
    assert found.tolist() == [20, 20]
    with pytest.raises(RuntimeError, match=r"must return a torch\.futures\.Future"):
        rpc.rpc_sync(other, forgets, (1,))
    return isinstance(rpc.rpc_async(other, ember.ones, (1,)), Future)


def test_functions_that_answer_later():
    assert run(later, 2) == [True, True]


def dies(rank):
    if rank == 1:
        time.sleep(30)
        return None
    future = rpc.rpc_async("w1", time.sleep, (20,))
    rpc.rpc_async("w1", os.kill, (rpc.rpc_sync("w1", os.getpid), signal.SIGKILL))
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"worker w1 \(rank 1\) is lost"):
        future.wait()
    assert time.monotonic() - start < 5
    with pytest.raises(RuntimeError, match=r"worker w1 \(rank 1\)"):
        rpc.rpc_sync("w1", ember.ones, (1,))
    rpc.shutdown(graceful=False)
    return True


def test_a_worker_that_dies():
    assert run(dies, 2, expect={0})[0]


def test_strangers_are_not_served(monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "0")
    with pytest.raises(RuntimeError, match="has not been initialized"):
        rpc.rpc_sync("alone", ember.ones, (1,))
    rpc.init_rpc("alone", rank=0, world_size=1)
    from ember.distributed.rpc import _rref

    agent = _rref.current()[0]
    address = agent._listener.getsockname()
    assert address[0] == "127.0.0.1"
    with socket.create_connection(address) as raw:
        raw.settimeout(5)
        raw.recv(64)
        raw.sendall(b"\0\0\0\x10" + b"x" * 16)
        while raw.recv(1024):
            pass
    assert rpc.rpc_sync("alone", ember.ones, (1,)).item() == 1
    with pytest.raises(RuntimeError, match="already initialized"):
        rpc.init_rpc("again", rank=0, world_size=1)
    rpc.shutdown()
    rpc.shutdown()
