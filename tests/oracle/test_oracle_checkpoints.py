"""Checkpoints that go from ember to torch and back."""

import numpy as np
import pytest

import ember

torch = pytest.importorskip("torch")

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
DTYPES += ["complex64", "complex128", "uint16"]


def make(lib):
    base = lib.arange(12.0)
    state = {str(d): lib.tensor([0, 1, 1]).to(getattr(lib, d)) for d in DTYPES}
    state["view"] = base[2:8].view(2, 3).t()
    state["base"] = base
    state["nested"] = [{"lr": 0.1}, (lib.ones(2, requires_grad=True), None, b"x")]
    state["parameter"] = lib.nn.Parameter(lib.ones(2, 2))
    state["kinds"] = (lib.float32, lib.Size([2]), lib.device("cpu"))
    return state


def check(got, lib):
    want = make(lib)
    assert list(got) == list(want)
    for name, w in want.items():
        if isinstance(w, lib.Tensor):
            g = got[name]
            assert g.dtype == w.dtype and g.stride() == w.stride()
            assert g.storage_offset() == w.storage_offset()
            assert g.requires_grad == w.requires_grad
            assert np.array_equal(np.array(g.tolist()), np.array(w.tolist()))
    assert type(got["parameter"]) is lib.nn.Parameter
    assert got["nested"][1][0].requires_grad and got["nested"][0] == {"lr": 0.1}
    assert got["kinds"] == want["kinds"]
    got["view"][0, 0] = 77
    assert got["base"][2].item() == 77


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(("writer", "reader"), [(ember, torch), (torch, ember)])
def test_interchange(tmp_path, writer, reader, weights_only):
    path = tmp_path / "a.pt"
    writer.save(make(writer), path)
    check(reader.load(path, weights_only=weights_only), reader)


def sparse(lib):
    x = lib.tensor([[0.0, 2, 0, 0], [3, 0, 0, 4]])
    return {
        "coo": x.to_sparse(),
        "repeated": lib.sparse_coo_tensor([[1, 1, 0]], [1.0, 2, 3], (3,)),
        "rows": x.to_sparse(1),
        "csr": x.to_sparse_csr(),
        "csc": x.to_sparse_csc(),
        "bsr": x.to_sparse_bsr((2, 2)),
    }


@pytest.mark.parametrize(("writer", "reader"), [(ember, torch), (torch, ember)])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_interchange_of_sparse_tensors(tmp_path, writer, reader):
    path = tmp_path / "a.pt"
    writer.save(sparse(writer), path)
    got, want = reader.load(path), sparse(reader)
    assert {name: repr(t) for name, t in got.items()} == {
        name: repr(t) for name, t in want.items()
    }
