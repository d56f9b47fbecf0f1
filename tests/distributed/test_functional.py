"""Collectives that return new tensors, and their gradients."""

import pytest

import ember
import ember.distributed as dist
from ember.distributed import _functional_collectives as funcol
from ember.distributed.nn import functional
from tests.distributed.ranks import needs_mpi, run

pytestmark = needs_mpi
SIZE = 3


def row(rank, shape=(SIZE, 2)):
    return ember.arange(float(ember.Size(shape).numel())).view(shape) + 10 * rank


def _plain(rank):
    x, everyone = row(rank), [row(r) for r in range(SIZE)]
    total = sum(everyone)
    made = funcol.all_reduce(x, "sum", dist.group.WORLD)
    assert isinstance(made, funcol.AsyncCollectiveTensor)
    assert (made + 1 == total + 1).all()
    assert not isinstance(made * 1, funcol.AsyncCollectiveTensor) and made.completed
    assert funcol.wait_tensor(made).equal(total) and x.equal(row(rank))
    for dim in (0, 1, -1):
        got = funcol.wait_tensor(funcol.all_gather_tensor(x, dim, [0, 1, 2]))
        assert got.equal(ember.cat(everyone, dim))
        wide = row(rank, (SIZE, 2 * SIZE))
        kept = sum(row(r, (SIZE, 2 * SIZE)) for r in range(SIZE)).chunk(SIZE, dim)
        part = funcol.reduce_scatter_tensor(wide, "avg", dim, dist.group.WORLD)
        ember.testing.assert_close(funcol.wait_tensor(part), kept[rank] / SIZE)
    got = funcol.all_to_all_single(x, None, None, dist.group.WORLD)
    assert got.tolist() == [row(r)[rank].tolist() for r in range(SIZE)]
    got = funcol.broadcast(x, 1, dist.group.WORLD)
    assert got.tolist() == row(1).tolist()
    got = funcol.permute_tensor(x, [1, 2, 0], dist.group.WORLD)
    assert got.tolist() == row((rank - 1) % SIZE).tolist()
    with pytest.raises(ValueError, match="unsupported"):
        funcol.all_reduce(x, "median")
    with pytest.raises(ValueError, match="Invalid type for group"):
        funcol.all_reduce(x, "sum", 3.0)


def test_collectives_return_new_tensors():
    run(_plain, SIZE)


CALLS = {  # on the tensors of all ranks: what each rank gets, in plain ops
    "all_reduce": (
        lambda x: functional.all_reduce(x),
        lambda all_, rank: sum(all_),
    ),
    "mean": (
        lambda x: functional.all_reduce(x, dist.ReduceOp.AVG),
        lambda all_, rank: sum(all_) / SIZE,
    ),
    "broadcast": (lambda x: functional.broadcast(x, 1), lambda all_, rank: all_[1]),
    "reduce": (
        lambda x: functional.reduce(x, 2),
        lambda all_, rank: sum(all_) * (rank == 2),
    ),
    "gather": (
        lambda x: ember.stack(functional.gather(x, 1)),
        lambda all_, rank: ember.stack(all_) * (rank == 1),
    ),
    "scatter": (
        lambda x: functional.scatter(list(x.unbind()), 1),
        lambda all_, rank: all_[1][rank],
    ),
    "all_gather": (
        lambda x: ember.stack(functional.all_gather(x)),
        lambda all_, rank: ember.stack(all_),
    ),
    "reduce_scatter": (
        lambda x: functional.reduce_scatter(x[0].detach(), list(x.unbind())),
        lambda all_, rank: sum(all_)[rank],
    ),
    "all_to_all": (
        lambda x: ember.stack(
            functional.all_to_all([x[0].detach()] * SIZE, list(x.unbind()))
        ),
        lambda all_, rank: ember.stack([x[rank] for x in all_]),
    ),
    "all_gather_tensor": (
        lambda x: funcol.all_gather_tensor_autograd(x, 1, dist.group.WORLD),
        lambda all_, rank: ember.cat(all_, 1),
    ),
    "all_to_all_single": (
        lambda x: funcol.all_to_all_single_autograd(x, None, None, dist.group.WORLD),
        lambda all_, rank: ember.stack([x[rank] for x in all_]),
    ),
}


def _gradients(rank):
    for name, (call, plain) in CALLS.items():
        leaves = [row(r).requires_grad_() for r in range(SIZE)]
        wanted = [plain(leaves, r) for r in range(SIZE)]
        # The loss is the sum of what all ranks have; cubes tell elements apart.
        loss = sum(((r + 1) * y**3).sum() for r, y in enumerate(wanted))
        loss.backward()
        x = row(rank).requires_grad_()
        y = call(x)
        ember.testing.assert_close(y, wanted[rank], msg=name)
        ((rank + 1) * y**3).sum().backward()
        expected = leaves[rank].grad
        expected = ember.zeros_like(x) if expected is None else expected
        ember.testing.assert_close(x.grad, expected, msg=name)
    x = row(rank)
    assert functional.all_reduce(x, dist.ReduceOp.MAX).equal(row(SIZE - 1))
    with pytest.raises(ValueError, match="gradient"):
        functional.all_reduce(x.requires_grad_(), dist.ReduceOp.MAX)


def test_gradients_are_those_of_the_sum_over_ranks():
    run(_gradients, SIZE)
