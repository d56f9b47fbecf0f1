"""The checks of sparse parts, and functions that were removed."""

import pytest

import ember


def test_parts_that_belong_together():
    ember._validate_sparse_csr_tensor_args([0, 1], [0], [1.0], (1, 1))
    ember._validate_sparse_coo_tensor_args([[0]], [1.0], (1,))


def test_parts_that_do_not():
    with pytest.raises(RuntimeError, match="nnz"):
        ember._validate_sparse_csr_tensor_args([0, 2], [0], [1.0], (1, 1))
    with pytest.raises(RuntimeError, match="found index 3"):
        ember._validate_sparse_coo_tensor_args([[3]], [1.0], (1,))


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_removed(name):
    with pytest.raises(RuntimeError, match="deprecated since version"):
        getattr(ember, name)(ember.eye(2))


def test_linalg_utils():
    from ember import _linalg_utils as utils

    a = ember.tensor([[2.0, 1.0], [1.0, 3.0]])
    assert utils.qform(a, a).equal(a.mT @ a @ a)
    assert utils.matmul(a.to_sparse(), a).equal(a @ a)
    values, _ = utils.symeig(a, largest=True)
    assert values[0] > values[1]
    basis = utils.basis(a)
    ember.testing.assert_close(basis.mT @ basis, ember.eye(2))
