"""Storages made too small for the tensors over them: an error, on every device."""

from __future__ import annotations

import pytest

import ember
from tests.ops import bridge
from tests.ops.entry import load
from tools.schemas import registered

from .children import deaths

ENTRIES = {name: entry for name, entry in load().items() if name in registered()}
DEVICES = ["cpu", "opencl"]


@pytest.fixture(params=DEVICES)
def device(request):
    if request.param == "opencl" and not ember.opencl.is_available():
        pytest.skip("no OpenCL device")
    return request.param


def freed(t, size: int = 0):
    t.untyped_storage().resize_(size)
    return t


USES = {
    "add": lambda t: t + 1,
    "add_": lambda t: t.add_(1),
    "radd": lambda t: 1 - t,
    "sum": lambda t: t.sum(),
    "clone": lambda t: t.clone(),
    "matmul": lambda t: t @ t.T,
    "fill_": lambda t: t.fill_(1),
    "zero_": lambda t: t.zero_(),
    "copy_": lambda t: t.copy_(ember.ones(3, 4)),
    "copy_ from": lambda t: ember.ones(3, 4, device=t.device).copy_(t),
    "item": lambda t: t[2, 3].item(),
    "bool": lambda t: bool(t[2, 3]),
    "repr": lambda t: repr(t),
    "tolist": lambda t: t.tolist(),
    "out=": lambda t: ember.add(ember.ones(3, 4, device=t.device), 1, out=t),
    "index": lambda t: t[:, [0, 1]],
    "setitem": lambda t: t.__setitem__(2, 0),
    "cat": lambda t: ember.cat([t, t]),
    "to": lambda t: t.to(ember.float64),
    "cpu": lambda t: t.cpu().add(1),
    "transposed": lambda t: t.T.contiguous(),
    "data": lambda t: t.data.sum(),
    "detach": lambda t: t.detach().exp(),
    "softmax": lambda t: t.softmax(0),
    "sort": lambda t: t.sort(),
    "where": lambda t: ember.where(t > 0, t, t),
    "uniform_": lambda t: t.uniform_(),
    "save": lambda t: ember.save(t, __import__("io").BytesIO()) or t.sum(),
}


@pytest.mark.parametrize("size", [0, 4, 44])
@pytest.mark.parametrize("use", USES)
def test_use_of_freed_memory_is_an_error(use, size, device):
    t = ember.ones(3, 4).to(device)
    t.untyped_storage().resize_(size)
    with pytest.raises((RuntimeError, ValueError)):
        USES[use](t)


@pytest.mark.parametrize("use", ["numpy", "asarray", "memoryview", "dlpack"])
def test_freed_memory_is_not_handed_out(use):
    import numpy as np

    t = freed(ember.ones(3))
    with pytest.raises(RuntimeError, match="resized to 0 bytes"):
        {
            "numpy": t.numpy,
            "asarray": lambda: np.asarray(t) + np.ones(3),
            "memoryview": lambda: memoryview(t),
            "dlpack": lambda: np.from_dlpack(t),
        }[use]()


def test_what_needs_no_memory_works(device):
    t = freed(ember.ones(3, 4).to(device))
    assert t.shape == (3, 4) and t.view(12).shape == (12,) and t.T.shape == (4, 3)
    assert t.untyped_storage().nbytes() == 0
    assert t.to("meta").shape == (3, 4)
    assert ember.ones_like(t).sum() == 12
    assert t[:0].sum() == 0
    if device == "cpu":
        assert t.data_ptr() == 0


def test_memory_given_back_works_again(device):
    t = ember.arange(4.0).to(device)
    view = t[1:3]
    kept = t.cpu().clone()
    storage = t.untyped_storage()
    for _ in range(3):
        storage.resize_(0)
        with pytest.raises(RuntimeError, match="resized to 0 bytes"):
            view + 1
        storage.resize_(8)
        assert t[:2].copy_(kept[:2]).tolist() == [0, 1]
        with pytest.raises(RuntimeError, match="resized to 8 bytes"):
            view + 1
        storage.resize_(16)
        t.copy_(kept)
        assert view.tolist() == [1, 2] and (t + 1).tolist() == [1, 2, 3, 4]
        storage.resize_(64)
        assert (t * 2).tolist() == [0, 2, 4, 6]


def test_saved_tensors_and_gradients_that_were_freed(device):
    x = ember.ones(3, device=device, requires_grad=True)
    w = ember.full((3,), 2.0, device=device)
    y = (x * w).sum()
    freed(w)
    with pytest.raises(RuntimeError, match="resized to 0 bytes"):
        y.backward()
    w.untyped_storage().resize_(12)
    w.fill_(4.0)
    x.grad = freed(ember.ones(3, device=device))
    with pytest.raises(RuntimeError):
        (x * 2).sum().backward()
    with pytest.raises(RuntimeError):
        ember.optim.SGD([x], lr=0.1).step()


def calls_with_freed(names, device):
    for name in names:
        for number, sample in enumerate(ENTRIES[name].samples[:3]):
            count = len(sample.tensors())
            for which in range(count):
                for size in (0, 2):
                    yield (
                        f"{name} sample {number} tensor {which} of {size} bytes",
                        lambda n=name, s=sample, w=which, b=size: call_with_freed(
                            n, s, w, b, device
                        ),
                    )


def call_with_freed(name, sample, which, size, device) -> None:
    position = iter(range(1000))

    def ready(t):
        t = t.clone() if device == "cpu" else t.to(device)
        if next(position) == which:
            t.untyped_storage().resize_(min(size, t.untyped_storage().nbytes()))
        return t

    call = bridge.tensors(sample, ENTRIES[name].names[0])
    for function in (ember._C._ops.get(name), getattr(ember.Tensor, name, None)):
        if function is None:
            continue
        position = iter(range(1000))
        made = visit(call, ready)
        try:
            result = function(*made.args, **made.kwargs)
        except Exception:
            continue
        for out in bridge.outputs(result):
            if not out.numel() or out.device.type == "meta":
                continue
            out.untyped_storage()  # a view of freed memory, perhaps
            try:
                out.clone()
            except RuntimeError:
                pass


def visit(call, function):
    """`function` of every tensor of a call."""

    def one(value):
        if isinstance(value, ember.Tensor):
            return function(value)
        if isinstance(value, (list, tuple)):
            return type(value)(one(v) for v in value)
        return value

    return type(call)(
        *(one(a) for a in call.args), **{k: one(a) for k, a in call.kwargs.items()}
    )


@pytest.mark.parametrize("part", range(8))
def test_no_op_dies_of_freed_memory(part):
    assert deaths(list(calls_with_freed(sorted(ENTRIES)[part::8], "cpu"))) == []
