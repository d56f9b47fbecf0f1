"""out= of ops on sparse tensors: written, or refused; never ignored."""

import pytest

import ember

A = ember.tensor([[0.0, 2.0], [3.0, 0.0]])
B = ember.tensor([[1.0, 0.0], [4.0, 5.0]])
PAIR = ember.stack([A, B])
COO, CSR = A.to_sparse(), A.to_sparse_csr()

CASES = {
    "add": lambda **k: ember.add(COO, B.to_sparse(), **k),
    "add dense": lambda **k: ember.add(B, COO, **k),
    "sub": lambda **k: ember.sub(COO, B.to_sparse(), **k),
    "mul": lambda **k: ember.mul(COO, B.to_sparse(), **k),
    "div": lambda **k: ember.div(COO, 2.0, **k),
    "pow": lambda **k: ember.pow(COO, 2.0, **k),
    "neg": lambda **k: ember.neg(COO, **k),
    "sin": lambda **k: ember.sin(COO, **k),
    "mm": lambda **k: ember.mm(COO, B, **k),
    "mm sparse": lambda **k: ember.mm(COO, B.to_sparse(), **k),
    "mv": lambda **k: ember.mv(COO, B[0], **k),
    "bmm": lambda **k: ember.bmm(PAIR.to_sparse(), PAIR.flip(0), **k),
    "matmul": lambda **k: ember.matmul(COO, B, **k),
    "addmm": lambda **k: ember.addmm(B, COO, B, **k),
    "hspmm": lambda **k: ember.hspmm(COO, B, **k),
    "sspaddmm": lambda **k: ember.sspaddmm(COO, COO, B, **k),
    "sampled_addmm": lambda **k: ember.sparse.sampled_addmm(CSR, A, B, **k),
    "cat": lambda **k: ember.cat([COO, COO], **k),
    "stack": lambda **k: ember.stack([COO, COO], **k),
    "index_select": lambda **k: ember.index_select(
        COO, 0, ember.tensor([1, 0, 1]), **k
    ),
}


def dense(t):
    return t if t.layout is ember.strided else t.to_dense()


def blank(layout, dtype=ember.float32):
    t = ember.zeros(1, 1, dtype=dtype)
    return t if layout is ember.strided else t.to_sparse(layout=layout)


@pytest.mark.parametrize("name", CASES)
def test_out_is_written(name):
    made = CASES[name]()
    out = blank(made.layout, ember.float64)
    assert CASES[name](out=out) is out
    assert out.dtype is ember.float64
    assert out.layout is made.layout
    assert dense(out).equal(dense(made).double())


@pytest.mark.parametrize("name", CASES)
def test_out_that_cannot_hold_the_result(name):
    made = CASES[name]()
    layouts = {ember.strided, ember.sparse_coo, ember.sparse_csr} - {made.layout}
    for layout in layouts:
        with pytest.raises((RuntimeError, NotImplementedError), match="layout"):
            CASES[name](out=blank(layout))
    for out in (3, "out", [made]):
        with pytest.raises(TypeError, match="out"):
            CASES[name](out=out)
    with pytest.raises(RuntimeError, match="cast"):
        CASES[name](out=blank(made.layout, ember.int64))
