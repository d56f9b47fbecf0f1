"""Collectives of real processes, against what one process computes."""

from datetime import timedelta

import pytest

import ember
import ember.distributed as dist
from tests.distributed.ranks import needs_mpi, run

pytestmark = needs_mpi
REAL = [ember.float32, ember.float64, ember.float16, ember.bfloat16]
WHOLE = [ember.uint8, ember.int8, ember.int16, ember.int32, ember.int64]


def reductions(rank):
    size = dist.get_world_size()
    mine = [ember.tensor([r + 1, 2 * r + 1, 3]) for r in range(size)]
    stacked = ember.stack(mine)
    expected = {
        "SUM": stacked.sum(0),
        "PRODUCT": stacked.prod(0),
        "MIN": stacked.amin(0),
        "MAX": stacked.amax(0),
    }
    for dtype in REAL + WHOLE:
        for name, value in expected.items():
            x = mine[rank].to(dtype).clone()
            dist.all_reduce(x, getattr(dist.ReduceOp, name))
            assert ember.equal(x, value.to(dtype)), (dtype, name, x)
    for dtype in REAL:
        x = mine[rank].to(dtype).clone()
        dist.all_reduce(x, dist.ReduceOp.AVG)
        assert ember.equal(x, (expected["SUM"].to(dtype) / size)), (dtype, x)
    x, y, z = (mine[rank].clone() for _ in range(3))
    dist.all_reduce(x, dist.ReduceOp.BAND)
    dist.all_reduce(y, dist.ReduceOp.BOR)
    dist.all_reduce(z, dist.ReduceOp.BXOR)
    a, b, c = stacked[0], stacked[0], stacked[0]
    for row in stacked[1:]:
        a, b, c = a & row, b | row, c ^ row
    assert ember.equal(x, a) and ember.equal(y, b) and ember.equal(z, c)
    flag = ember.tensor([rank == 0, False])
    dist.all_reduce(flag)
    assert flag.tolist() == [True, False]
    w = ember.tensor([1 + 2j]) * (rank + 1)
    dist.all_reduce(w)
    assert w.item() == (1 + 2j) * size * (size + 1) / 2
    with pytest.raises(ValueError, match="complex"):
        dist.all_reduce(w, dist.ReduceOp.MAX)
    with pytest.raises(RuntimeError, match="Cannot use BAND"):
        dist.all_reduce(ember.ones(1), dist.ReduceOp.BAND)


def layouts(rank):
    """Strided, empty and zero-dim tensors, and a big one."""
    size = dist.get_world_size()
    x = ember.zeros(4, 6)
    dist.all_reduce(x[:, ::2].add_(1))
    view = ember.ones(4, 6).t()[1:4]
    dist.all_reduce(view)
    assert ember.equal(view, ember.full((3, 4), float(size)))
    scalar = ember.tensor(float(rank))
    dist.all_reduce(scalar)
    assert scalar.item() == size * (size - 1) / 2
    empty = ember.empty(0, 3)
    dist.all_reduce(empty)
    outs = [ember.empty(0) for _ in range(size)]
    dist.all_gather(outs, ember.empty(0))
    big = ember.ones(1 << 20)
    dist.all_reduce(big)
    assert bool((big == size).all())
    strided = ember.zeros(size, 4).t()
    dist.all_gather_into_tensor(strided, ember.full((4,), float(rank)))
    assert strided.reshape(-1).tolist() == [
        float(r) for r in range(size) for _ in range(4)
    ]


def moves(rank):
    size = dist.get_world_size()
    x = ember.full((2,), float(rank))
    dist.broadcast(x, size - 1)
    assert x.tolist() == [size - 1] * 2
    y = ember.tensor([float(rank)])
    dist.reduce(y, 1)
    assert y.item() == (size * (size - 1) / 2 if rank == 1 else rank)
    rows = [ember.zeros(2) for _ in range(size)]
    dist.all_gather(rows, ember.full((2,), float(rank)))
    assert [r[0].item() for r in rows] == list(range(size))
    rows = [ember.zeros(2) for _ in range(size)] if rank == 0 else None
    dist.gather(ember.full((2,), float(rank)), rows, 0)
    assert rows is None or [r[1].item() for r in rows] == list(range(size))
    part = ember.zeros(1)
    given = [ember.tensor([10.0 * r]) for r in range(size)] if rank == 1 else None
    dist.scatter(part, given, 1)
    assert part.item() == 10 * rank
    out = ember.zeros(2)
    dist.reduce_scatter(out, [ember.full((2,), float(r)) for r in range(size)])
    assert out.tolist() == [size * rank] * 2
    dist.reduce_scatter_tensor(out, ember.arange(2.0 * size))
    assert out.tolist() == [size * 2.0 * rank, size * (2.0 * rank + 1)]
    got = [ember.zeros(1) for _ in range(size)]
    dist.all_to_all(got, [ember.tensor([10.0 * rank + r]) for r in range(size)])
    assert [g.item() for g in got] == [10 * r + rank for r in range(size)]
    sizes = [r + 1 for r in range(size)]
    out = ember.zeros((rank + 1) * size)
    dist.all_to_all_single(
        out, ember.full((sum(sizes),), float(rank)), [rank + 1] * size, sizes
    )
    assert out.tolist() == [float(r) for r in range(size) for _ in range(rank + 1)]


def messages(rank):
    size = dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    got = ember.zeros(3)
    ops = [
        dist.P2POp(dist.isend, ember.full((3,), float(rank)), right),
        dist.P2POp(dist.irecv, got, left),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert got.tolist() == [left] * 3
    if rank == 0:
        seen = {dist.recv(got) for _ in range(size - 1)}
        assert seen == set(range(1, size))
    else:
        dist.send(ember.full((3,), float(rank)), 0)
    if rank == 0:
        dist.send_object_list([{"a": 1}, "b"], 1)
    elif rank == 1:
        values = [None, None]
        assert dist.recv_object_list(values, 0) == 0 and values == [{"a": 1}, "b"]


def objects(rank):
    size = dist.get_world_size()
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "text": "x" * rank})
    assert found == [{"rank": r, "text": "x" * r} for r in range(size)]
    values = ["a", 3] if rank == 1 else [None, None]
    dist.broadcast_object_list(values, 1)
    assert values == ["a", 3]
    mine = [None]
    dist.scatter_object_list(
        mine, [f"to {r}" for r in range(size)] if rank == 0 else None, 0
    )
    assert mine == [f"to {rank}"]
    rows = [None] * size if rank == 0 else None
    dist.gather_object(rank, rows, 0)
    assert rows is None or rows == list(range(size))


def works(rank):
    size = dist.get_world_size()
    x = ember.ones(4)
    work = dist.all_reduce(x, async_op=True)
    doubled = work.get_future().then(lambda f: f.value()[0] * 2)
    assert doubled.wait().tolist() == [2 * size] * 4
    assert work.is_completed() and work.is_success() and work.exception() is None
    many = [
        dist.all_reduce(ember.full((8,), float(i)), async_op=True) for i in range(1000)
    ]
    assert [w.result()[0][0].item() for w in many] == [size * i for i in range(1000)]
    for i in range(50):  # works that nobody keeps still get done, in their memory
        dist.all_reduce(ember.ones(1000) * i, async_op=True)
    dist.barrier()
    with dist._coalescing_manager():
        tensors = [ember.ones(2) * i for i in range(4)]
        for t in tensors:
            dist.all_reduce(t)
    assert [t[0].item() for t in tensors] == [size * i for i in range(4)]


def groups(rank):
    evens = dist.new_group([0, 2])
    own, all_pairs = dist.new_subgroups(2)
    assert len(all_pairs) == 2
    x = ember.tensor([float(rank)])
    dist.all_reduce(x, group=own)
    assert x.item() == (1 if rank < 2 else 5)
    if rank % 2 == 0:
        assert dist.get_rank(evens) == rank // 2 and dist.get_process_group_ranks(
            evens
        ) == [0, 2]
        y = ember.tensor([float(rank)])
        dist.broadcast(y, 2, group=evens)
        assert y.item() == 2 and dist.get_global_rank(evens, 1) == 2
    else:
        assert evens == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(evens) == -1
        with pytest.warns(UserWarning, match="does not belong"):
            dist.all_reduce(ember.ones(1), group=evens)
    part = dist.split_group(split_ranks=[[0, 3], [1, 2]])
    z = ember.tensor([float(rank)])
    dist.all_reduce(z, group=part)
    assert z.item() == 3
    with pytest.raises(ValueError, match="within the world_size"):
        dist.new_group([7])


def barriers(rank):
    dist.monitored_barrier(timeout=timedelta(seconds=10))
    if rank == 1:
        return
    with pytest.raises(
        RuntimeError, match=r"Rank 1 failed|Rank 2 successfully reached"
    ):
        dist.monitored_barrier(timeout=timedelta(seconds=0.5 + rank))


def too_late(rank):
    """A collective in which a rank takes no part ends with an error."""
    late = dist.new_group(timeout=timedelta(seconds=0.5))
    if rank == 0:
        with pytest.raises(RuntimeError, match="all_reduce: Timed out waiting 500ms"):
            dist.all_reduce(ember.ones(1), group=late)
    dist.barrier()


def twice(rank):
    """The default group can go and come again, over the same processes."""
    store = dist.distributed_c10d._get_default_store()
    dist.destroy_process_group()
    assert not dist.is_initialized()
    dist.init_process_group(store=store, rank=rank, world_size=2)
    x = ember.ones(1)
    dist.all_reduce(x)
    assert x.item() == 2


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("what", [reductions, layouts, moves, messages, objects, works])
def test_collectives(what, size):
    run(what, size)


def test_groups():
    run(groups, 4)


def test_monitored_barrier():
    run(barriers, 3)


def test_timeout():
    run(too_late, 2)


def test_again():
    run(twice, 2)


def test_one_process_needs_nobody():
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
        x = ember.ones(2)
        dist.all_reduce(x)
        rows = [ember.zeros(2)]
        dist.all_gather(rows, x)
        assert rows[0].tolist() == [1, 1]
        with pytest.raises(TypeError, match=r"torch\.Tensor"):
            dist.all_reduce([x])
    finally:
        dist.destroy_process_group()


def test_without_a_group():
    with pytest.raises(
        ValueError, match="Default process group has not been initialized"
    ):
        dist.all_reduce(ember.ones(1))
    with pytest.raises(RuntimeError, match="NCCL built in"):
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    with pytest.raises(ValueError, match="environment variable"):
        dist.init_process_group("gloo")
