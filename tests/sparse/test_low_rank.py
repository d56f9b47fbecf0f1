"""Factorisations of sparse matrices that need products only."""

import pytest

import ember


def _matrix() -> ember.Tensor:
    dense = ember.rand(8, 5, generator=ember.Generator().manual_seed(0))
    return ember.where(dense < 0.4, ember.zeros(()), dense)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("layout", [ember.sparse_coo, ember.sparse_csr])
def test_singular_values_of_a_sparse_matrix(wide, layout):
    dense = _matrix().T.contiguous() if wide else _matrix()
    U, S, V = ember.svd_lowrank(dense.to_sparse(layout=layout), q=5)
    assert ember.allclose((U * S) @ V.mH, dense, atol=1e-5)
    assert ember.allclose(S, ember.linalg.svdvals(dense), atol=1e-5)


@pytest.mark.parametrize("wide", [False, True])
def test_principal_components_of_a_sparse_matrix(wide):
    dense = _matrix().T.contiguous() if wide else _matrix()
    U, S, V = ember.pca_lowrank(dense.to_sparse(), q=5)
    centred = dense - dense.mean(-2, keepdim=True)
    assert ember.allclose((U * S) @ V.mH, centred, atol=1e-5)


def test_largest_eigenvalues_of_a_sparse_matrix():
    dense = ember.diag(ember.arange(1.0, 21.0))
    values, vectors = ember.lobpcg(dense.to_sparse(), k=2)
    assert ember.allclose(values, ember.tensor([20.0, 19.0]), atol=1e-2)
    assert ember.allclose(dense @ vectors, vectors * values, atol=1e-1)
