"""Collectives through a store, buckets, backends of programs, fake groups."""

import threading
from datetime import timedelta

import pytest

import ember
import ember.distributed as dist
from tests.distributed.ranks import needs_mpi, run

SOON = timedelta(seconds=0.05)


def together(function, size=3):
    """What `function(rank, collectives)` returns in a thread for each rank."""
    store, found, failed = dist.HashStore(), [None] * size, []

    def one(rank):
        try:
            found[rank] = function(rank, dist._StoreCollectives(store, rank, size))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=one, args=(r,)) for r in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return found


def exchanges(rank, c):
    c.barrier("b")
    sent = c.broadcast_send("x", "hi") if rank == 0 else c.broadcast_recv("x")
    rows = c.gather_recv("g", "0") if rank == 0 else c.gather_send("g", str(rank))
    own = c.scatter_send("s", ["a", "b", "c"]) if rank == 0 else c.scatter_recv("s")
    return sent, rows, own, c.all_gather("all", str(rank)), c.all_sum("sum", rank)


def test_collectives_through_a_store():
    found = together(exchanges)
    assert found[0] == (None, [b"0", b"1", b"2"], b"a", [b"0", b"1", b"2"], 3)
    assert found[2] == (b"hi", None, b"c", [b"0", b"1", b"2"], 3)


def test_who_did_not_come():
    c = dist._StoreCollectives(dist.HashStore(), 1, 3)
    with pytest.raises(
        dist.DistStoreError, match="barrier failed -- missing ranks: 0, 2"
    ):
        c.barrier("b", SOON)
    with pytest.raises(dist.DistStoreError, match="Wait timeout"):
        c.broadcast_recv("x", SOON)
    with pytest.raises(ValueError, match="has already been used"):
        c.all_gather("b", "1", SOON)


def test_barrier_of_a_store_serves_again():
    store = dist.HashStore()
    threads = [
        threading.Thread(target=lambda: [store.barrier("k", 3) for _ in range(4)])
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    with pytest.raises(dist.DistStoreError, match="barrier timeout"):
        store.barrier("k", 3, SOON)


def test_buckets():
    share = dist._compute_bucket_assignment_by_size
    tensors = [ember.empty(50), ember.empty(25).double()] * 3
    assert share(tensors, [400])[0] == [[0, 2], [1, 3], [4], [5]]
    rows, limits = share(tensors, [200, 400])
    assert rows == [[0], [1], [2, 4], [3, 5]] and limits == [200, 200, 400, 400]


class Doubles(dist.ProcessGroup):
    def allreduce(self, tensors, opts=None):
        assert opts.reduceOp == dist.ReduceOp.MAX
        for t in tensors:
            t.mul_(2)
        return dist.Work(result=tensors)

    def broadcast(self, tensors, opts=None):
        tensors[0].fill_(opts.rootRank)
        return dist.Work(result=tensors)


def test_backend_of_a_program():
    made = []

    def make(store, rank, size, timeout):
        made.append((rank, size, timeout))
        return Doubles(rank, size)

    dist.Backend.register_backend("doubles", make)
    assert dist.is_backend_available("doubles") and dist.Backend.DOUBLES == "doubles"
    with pytest.raises(RuntimeError, match="already exist"):
        dist.Backend.register_backend("gloo", make)
    minute = timedelta(minutes=1)
    dist.init_process_group(
        "doubles", store=dist.HashStore(), rank=1, world_size=4, timeout=minute
    )
    try:
        assert made == [(1, 4, minute)]
        assert (dist.get_rank(), dist.get_world_size()) == (1, 4)
        x = ember.ones(2)
        dist.all_reduce(x, dist.ReduceOp.MAX)
        assert x.tolist() == [2, 2]
        dist.broadcast(x, 3)
        assert x.tolist() == [3, 3] and dist.get_backend() == "doubles"
    finally:
        dist.destroy_process_group()


def test_fake_group():
    dist.init_process_group("fake", store=dist.HashStore(), rank=3, world_size=64)
    try:
        rows = [ember.zeros(2) for _ in range(64)]
        dist.all_gather(rows, ember.ones(2))
        assert all(row.tolist() == [1, 1] for row in rows)
        model = ember.nn.parallel.DistributedDataParallel(ember.nn.Linear(2, 2))
        model(ember.ones(1, 2)).sum().backward()
        assert dist.new_group([0, 3]).rank() == 1
        assert dist.new_group([0, 1]) is dist.GroupMember.NON_GROUP_MEMBER
    finally:
        dist.destroy_process_group()


def coalesced(rank):
    x = ember.tensor([rank + 1.0])
    column = ember.full((3, 2), rank + 1.0)[:, 0]
    future = dist.all_reduce_coalesced([x, x, column], async_op=True)
    assert future.wait()[0].tolist() == [3.0]  # once, though it stands there twice
    before = [ember.full((50, 2), float(i))[:, 1] for i in range(20)]
    for t in before:
        dist.all_reduce(t, async_op=True)
    dist.barrier()
    assert all((t == 2 * i).all() for i, t in enumerate(before))
    many = [dist.irecv(ember.zeros(1), 1 - rank, tag=i) for i in range(100)]
    dist.all_reduce(x)  # not kept back by messages that wait
    for i in range(100):
        dist.send(ember.ones(1), 1 - rank, tag=i)
    for work in many:
        work.wait()
    return column.tolist()


@needs_mpi
def test_what_is_begun_together():
    assert run(coalesced, 2) == [[3.0] * 3, [3.0] * 3]
