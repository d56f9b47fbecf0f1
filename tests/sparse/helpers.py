"""What the tests of sparse tensors share."""

import numpy as np

import ember
from ember.sparse import SparseTensor

COMPRESSED = (ember.sparse_csr, ember.sparse_csc, ember.sparse_bsr, ember.sparse_bsc)
LAYOUTS = (ember.sparse_coo, *COMPRESSED)


def matrix(rows=4, columns=6, seed=0, dtype=ember.float64):
    """A dense matrix of which about a third is not zero, one row being empty."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-4, 5, (rows, columns)) * (rng.random((rows, columns)) < 0.5)
    x[rows // 2] = 0
    return ember.tensor(x.astype(float)).to(dtype)


def in_layout(x, layout):
    size = (2, 2) if layout in (ember.sparse_bsr, ember.sparse_bsc) else None
    return x.to_sparse(layout=layout, blocksize=size)


def same(a, b):
    if isinstance(a, SparseTensor):
        a = a.to_dense()
    assert a.shape == b.shape and a.dtype == b.dtype
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-12)


def uncoalesced():
    return ember.sparse_coo_tensor(
        [[1, 0, 1, 1], [2, 0, 2, 1]], ember.tensor([1.0, 2, 3, 4]).double(), (3, 4)
    )


def embedded(weight, ids, **options):
    return ember.nn.functional.embedding(ids, weight, sparse=True, **options)
