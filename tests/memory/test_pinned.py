"""Memory that others have a pointer to is neither freed nor moved."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import ember

SIZES = [3, 70_000]  # a small block, and one on pages of its own


def churn() -> list:
    """Takes what memory is free, and writes to it."""
    return [
        ember.full((n,), -7.0) for n in (3, 3, 3, 70_000, 70_000) for _ in range(20)
    ]


EXPORTS = {
    "numpy": lambda t: t.numpy(),
    "asarray": np.asarray,
    "__array__": lambda t: t.__array__(),
    "memoryview": lambda t: np.frombuffer(memoryview(t), np.float32),
    "of a view": lambda t: np.asarray(t.view(1, -1)).reshape(-1),
    "of data": lambda t: t.data.numpy(),
    "of detach": lambda t: t.detach().numpy(),
    "storage": lambda t: np.frombuffer(t.untyped_storage(), np.float32),
    "memoryview of storage": lambda t: np.frombuffer(
        memoryview(t.untyped_storage()), np.float32
    ),
    "dlpack": np.from_dlpack,
    "dlpack to ember": lambda t: ember.from_dlpack(t).numpy(),
    "capsule": lambda t: ember.from_dlpack(ember.utils.dlpack.to_dlpack(t)).numpy(),
}
RESIZES = {
    "resize_": lambda t: t.resize_(200_000),
    "resize_as_": lambda t: t.resize_as_(ember.empty(200_000)),
    "storage to 0": lambda t: t.untyped_storage().resize_(0),
    "storage to less": lambda t: t.untyped_storage().resize_(8),
    "storage to more": lambda t: t.untyped_storage().resize_(4 << 20),
    "typed storage": lambda t: t.storage().resize_(0),
    "out=": lambda t: ember.add(ember.ones(200_000), 1, out=t),
    "out= of cat": lambda t: ember.cat([ember.ones(100_000)] * 2, out=t),
    "out= of zeros": lambda t: ember.zeros(200_000, out=t),
    "of data": lambda t: t.data.resize_(200_000),
    "of detach": lambda t: t.detach().resize_(200_000),
}
MOVES = {
    "data=": lambda t: setattr(t, "data", ember.zeros(5)),
    "set_": lambda t: t.set_(ember.zeros(5)),
    "set_ to nothing": lambda t: t.set_(),
    "set_ storage": lambda t: t.set_(ember.UntypedStorage(400), 0, (4,), (1,)),
    "share_memory_": lambda t: t.share_memory_(),
    "share_memory_ of storage": lambda t: t.untyped_storage().share_memory_(),
    "share_memory_ of data": lambda t: t.data.share_memory_(),
    "smaller resize_": lambda t: t.resize_(2),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("resize", RESIZES)
@pytest.mark.parametrize("export", EXPORTS)
def test_a_resize_is_refused_while_somebody_has_a_pointer(export, resize, size):
    t = ember.ones(size)
    seen = EXPORTS[export](t)
    assert not t.untyped_storage().resizable()
    with pytest.raises(RuntimeError, match="not resizable"):
        RESIZES[resize](t)
    taken = churn()
    assert (seen == 1).all() and t.eq(1).all()
    t.fill_(2)
    assert (seen == 2).all()
    del taken


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("export", EXPORTS)
def test_a_pointer_outlives_what_happens_to_the_tensor(export, move, size):
    t = ember.ones(size)
    seen = EXPORTS[export](t)
    MOVES[move](t)
    taken = churn()
    assert (seen == 1).all()
    del t
    gc.collect()
    taken += churn()
    assert (seen == 1).all()
    seen[:] = 3
    assert all((x == -7).all() for x in taken)


def test_several_arrays_of_one_tensor_and_its_successors():
    t = ember.ones(3)
    arrays = []
    for k in range(5):
        arrays.append(t.numpy())
        t.share_memory_()
        t.data = ember.full((3,), float(k))
    taken = churn()
    assert [a[0] for a in arrays] == [1, 0, 1, 2, 3]
    del taken


def test_a_storage_is_resizable_again_without_its_buffers():
    t = ember.ones(3)
    with memoryview(t) as view, memoryview(t.untyped_storage()):
        assert not t.untyped_storage().resizable()
        assert view.nbytes == 12
    assert t.untyped_storage().resizable()
    capsule = t.__dlpack__()
    assert not t.untyped_storage().resizable()
    del capsule
    assert t.resize_(1000).shape == (1000,)


def test_an_array_is_as_good_as_for_ever():
    """Its address may have been passed on, so this is what PyTorch does."""
    t = ember.ones(3)
    t.numpy()
    assert not t.untyped_storage().resizable()


def test_data_follows_its_storage():
    t = ember.arange(3.0)
    before, view = t.data, t[1:]
    t.untyped_storage().resize_(400_000)
    after = t.data
    t[0] = 5.0
    assert before.tolist() == after.tolist() == t.tolist() == [5, 1, 2]
    assert view.tolist() == [1, 2]
    before.resize_(6)
    assert before[:3].tolist() == [5, 1, 2]
    t.share_memory_()
    t[0] = 6.0
    assert before[0] == after[0] == 6
    del t, before, view
    assert after.tolist() == [6, 1, 2]


def test_gradients_are_not_taken_for_free_while_an_array_shows_them():
    x = ember.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    seen = x.grad.numpy()
    held = x.grad
    (x * 3).sum().backward()
    assert held.tolist() == seen.tolist()
    g = ember.ones(3)
    array = np.asarray(g)
    y = x * 1
    y.backward(g)
    (x * 5).sum().backward()
    assert (array == 1).all()
