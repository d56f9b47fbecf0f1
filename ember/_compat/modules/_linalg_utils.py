"""Products of dense or sparse matrices, as `lobpcg` and `svd_lowrank` need them."""

from __future__ import annotations

from typing import Any

import ember
from ember import Tensor
from ember._compat.removed import eig, lstsq, matrix_rank, solve  # noqa: F401


def is_sparse(A: Any) -> bool:
    """Whether A is a sparse tensor of the COO layout."""
    if isinstance(A, Tensor):
        return A.layout is ember.sparse_coo
    raise TypeError(f"expected Tensor but got {type(A)}")


def get_floating_dtype(A: Tensor) -> Any:
    """The dtype of A where it is a floating one, else float32."""
    return A.dtype if A.dtype.is_floating_point else ember.float32


def matmul(A: Tensor | None, B: Tensor) -> Tensor:
    """A @ B; B where A is None, which stands for the identity."""
    if A is None:
        return B
    return ember.sparse.mm(A, B) if is_sparse(A) else ember.matmul(A, B)


def bform(X: Tensor, A: Tensor | None, Y: Tensor) -> Tensor:
    """X^T A Y."""
    return matmul(X.mT, matmul(A, Y))


def qform(A: Tensor | None, S: Tensor) -> Tensor:
    """S^T A S."""
    return bform(S, A, S)


def basis(A: Tensor) -> Tensor:
    """An orthonormal basis of the columns of A."""
    return ember.linalg.qr(A).Q


def symeig(A: Tensor, largest: bool | None = False) -> tuple[Tensor, Tensor]:
    """Eigenvalues and vectors of a symmetric matrix, the largest first if asked."""
    values, vectors = ember.linalg.eigh(A, UPLO="U")
    if largest:
        values, vectors = ember.flip(values, (-1,)), ember.flip(vectors, (-1,))
    return values, vectors
