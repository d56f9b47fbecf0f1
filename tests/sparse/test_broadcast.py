"""Broadcasting of sparse tensors, and the dtype of the indices of compressed ones."""

import itertools

import pytest

import ember

SHAPES = [(), (1,), (3,), (2, 1), (2, 3), (4, 2, 1), (1, 2, 3)]
COMPRESSED = {
    ember.sparse_csr: ("crow_indices", "col_indices"),
    ember.sparse_csc: ("ccol_indices", "row_indices"),
}


def some(shape: tuple[int, ...]) -> ember.Tensor:
    """Every second element is zero."""
    n = max(1, ember.Size(shape).numel())
    return (ember.arange(n) % 2 * ember.arange(1.0, n + 1) + 0.5).reshape(shape)


@pytest.mark.parametrize(("a", "b"), [*itertools.product(SHAPES, SHAPES)])
def test_mul(a, b):
    x, y = some(a), some(b)
    expected = x * y
    assert (x.to_sparse() * y.to_sparse()).to_dense().equal(expected)
    assert (x.to_sparse() * y).to_dense().equal(expected)
    assert (x * y.to_sparse()).to_dense().equal(expected)


@pytest.mark.parametrize(
    ("size", "sparse_dim", "to"),
    [((2, 1), 2, (2, 3)), ((2, 1), 1, (2, 3)), ((1, 2), 1, (5, 4, 2)), ((), 0, (2, 2))],
)
def test_broadcast_to(size, sparse_dim, to):
    x = some(size)
    made = ember.broadcast_to(x.to_sparse(sparse_dim), to)
    assert made.to_dense().equal(x.broadcast_to(to))


@pytest.mark.parametrize("to", [(3,), (2, 3), (3, 3, 3)])
def test_shapes_that_do_not_fit(to):
    with pytest.raises(RuntimeError, match="broadcast"):
        ember.broadcast_to(some((2, 2)).to_sparse(), to)


def test_mul_of_shapes_that_do_not_fit():
    with pytest.raises(RuntimeError, match="same sizes"):
        some((2, 2)).to_sparse() * some((3,)).to_sparse()


def test_permute_by_name():
    x = some((2, 3))
    assert ember.permute(x.to_sparse(), dims=(1, 0)).to_dense().equal(x.T)


@pytest.mark.parametrize("dtype", [ember.int32, ember.int64])
@pytest.mark.parametrize("layout", COMPRESSED)
def test_index_dtype_is_kept(layout, dtype):
    start, other = (
        ember.tensor([0, 1, 2], dtype=dtype),
        ember.tensor([1, 0], dtype=dtype),
    )
    t = ember.sparse_compressed_tensor(start, other, [3.0, 4.0], (2, 2), layout=layout)
    for to, names in COMPRESSED.items():
        made = (t * 2).to_sparse(layout=to)
        assert {getattr(made, name)().dtype for name in names} == {dtype}
        assert made.to_dense().equal(t.to_dense() * 2)
