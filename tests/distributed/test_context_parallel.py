"""Attention over sequences that are cut across processes equals that of one process."""

import pytest

import ember
import ember.distributed as dist
import ember.nn.functional as F
from ember import nn
from ember.distributed.tensor.experimental import context_parallel
from ember.distributed.tensor.experimental._attention import (
    _order,
    _positions,
    context_parallel_unshard,
    set_rotate_method,
)
from tests.distributed.ranks import needs_mpi, run


def test_parts():
    assert _positions(4, 0, 2) == [range(2), range(6, 8)]
    assert _positions(4, 1, 2) == [range(2, 4), range(4, 6)]
    assert _positions(3, 1, 2) == [range(3, 6)]
    for local, ranks in [(4, 2), (3, 2), (6, 4), (5, 1)]:
        assert sorted(_order(local, ranks).tolist()) == list(range(local * ranks))


def test_rotate_method():
    set_rotate_method("alltoall")
    set_rotate_method("allgather")
    with pytest.raises(NotImplementedError, match="ring"):
        set_rotate_method("ring")


def inputs(length, heads=4, groups=4):
    ember.manual_seed(1)
    make = lambda h: ember.randn(2, h, length, 8, dtype=ember.float64)  # noqa: E731
    return make(heads), make(groups), make(groups), make(heads)


def attention(rank, ranks, length, causal, gqa):
    mesh = dist.init_device_mesh("cpu", (ranks,))
    tensors = inputs(length, groups=2 if gqa else 4)
    q, k, v, g = (t.clone() for t in tensors)
    with context_parallel(mesh, buffers=[q, k, v, g], buffer_seq_dims=[2] * 4):
        assert q.shape[2] == length // ranks
        parts = [t.clone().requires_grad_() for t in (q, k, v)]
        out = F.scaled_dot_product_attention(*parts, is_causal=causal, enable_gqa=gqa)
        out.backward(g)
    for before, after in zip(tensors, (q, k, v, g)):
        assert before.equal(after)
    found = [out, *(p.grad for p in parts)]
    whole = context_parallel_unshard(mesh, found, [2] * 4)
    parts = [t.clone().requires_grad_() for t in tensors[:3]]
    out = F.scaled_dot_product_attention(*parts, is_causal=causal, enable_gqa=gqa)
    out.backward(tensors[3])
    for a, b in zip(whole, [out, *(p.grad for p in parts)]):
        assert a.allclose(b, atol=1e-12)
    with context_parallel(mesh), pytest.raises(NotImplementedError, match="mask"):
        F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    if length % ranks == 0:
        odd = ember.ones(1, length + 1)
        with pytest.raises(ValueError, match="equal parts"):
            context_parallel(mesh, buffers=[odd], buffer_seq_dims=[1]).__enter__()
    return True


@needs_mpi
@pytest.mark.parametrize(
    "ranks, length, causal, gqa",
    [
        (2, 8, True, False),
        (2, 6, True, True),
        (2, 8, False, False),
        (4, 16, True, True),
    ],
)
def test_attention(ranks, length, causal, gqa):
    assert all(run(attention, ranks, ranks, length, causal, gqa))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(10, 16), nn.Embedding(16, 16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 10)

    def forward(self, x, places):
        h = self.token(x) + self.place(places)
        q, k, v = (
            t.unflatten(-1, (4, 4)).transpose(1, 2) for t in self.qkv(h).chunk(3, -1)
        )
        h = h + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(
            1, 2
        ).flatten(2)
        return self.out(h)


def training(rank=0, ranks=1):
    ember.manual_seed(5)
    model = Model().double()
    optimizer = ember.optim.SGD(model.parameters(), lr=0.5)
    tokens = ember.randint(10, (3, 17))
    x, y, places = tokens[:, :-1].clone(), tokens[:, 1:].clone(), ember.arange(16)
    mesh = dist.init_device_mesh("cpu", (ranks,)) if ranks > 1 else None
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        if mesh is None:
            loss = F.cross_entropy(model(x, places).flatten(0, 1), y.flatten())
            loss.backward()
        else:
            with context_parallel(
                mesh, buffers=[x, y, places], buffer_seq_dims=[1, 1, 0]
            ):
                loss = F.cross_entropy(model(x, places).flatten(0, 1), y.flatten())
                loss.backward()
            loss = loss.detach()
            for t in [loss, *(p.grad for p in model.parameters())]:
                dist.all_reduce(t, dist.ReduceOp.AVG)
        optimizer.step()
        losses.append(loss.item())
    return losses


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_training_equals_one_process(ranks):
    found = run(training, ranks, ranks)
    assert found[0] == pytest.approx(training(), abs=1e-9)
    assert all(losses == found[0] for losses in found)
