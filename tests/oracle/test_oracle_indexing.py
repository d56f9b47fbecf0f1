"""Indices and data that NumPy and PyTorch treat differently: PyTorch is right here."""

import numpy as np
import pytest

import ember

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

KEYS = [
    "x[0, :, i]",
    "x[i, :, 0]",
    "x[:, None, i]",
    "x[i, None, i]",
    "x[[[0, 1], [1, 0]]]",
    "x[[0, None]]",
    "x[True, True]",
    "x[:, True]",
    "x[..., ...]",
    "x[m, None]",
    "x[m, ..., 1:3]",
    "x[[0.5]]",
    "x[lib.tensor(True)]",
    "x[lib.tensor(1), :, i]",
    "x[i22, i]",
]
DATA = [
    [np.float64(1)],
    [np.float32(1), 2],
    [np.bool_(True)],
    [True, 1.5],
    [[1, 2], [3, 4.5]],
    range(4),
    [range(2), range(2)],
    bytearray(b"abc"),
    np.float16(2),
]


def run(lib, source: str):
    scope = {
        "lib": lib,
        "x": lib.arange(24).reshape(2, 3, 4),
        "i": lib.tensor([0, 1]),
        "i22": lib.tensor([[0, 1], [1, 0]]),
        "m": lib.tensor([[True, False, True], [False, True, False]]),
    }
    return eval(source, scope)


@pytest.mark.parametrize("source", KEYS)
def test_index(source):
    got, want = run(ember, source), run(torch, source)
    assert tuple(got.shape) == tuple(want.shape)
    assert got.tolist() == want.tolist()
    assert (got._base is None) == (want._base is None)


@pytest.mark.parametrize("data", DATA, ids=repr)
def test_tensor(data):
    got, want = ember.tensor(data), torch.tensor(data)
    assert str(got.dtype) == str(want.dtype)
    assert got.tolist() == want.tolist()


def test_dlpack_with_torch():
    t = torch.arange(6.0).reshape(2, 3).t()
    x = ember.from_dlpack(t)
    assert x.stride() == t.stride() and x.tolist() == t.tolist()
    x[0, 0] = 9
    assert t[0, 0].item() == 9
    back = torch.from_dlpack(ember.arange(3)[1:])
    assert back.tolist() == [1, 2]
    old = torch.utils.dlpack.from_dlpack(ember.utils.dlpack.to_dlpack(ember.ones(2)))
    assert old.tolist() == [1, 1]
    half = torch.from_dlpack(ember.ones(2, dtype=ember.bfloat16))
    assert half.dtype == torch.bfloat16
