"""The standard's extension `linalg`."""

from __future__ import annotations

from typing import Any, NamedTuple

import ember
from ember import Tensor
from ember.array_api._arrays import pair
from ember.array_api._reduce import sum as _sum


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The product of matrices."""
    return ember.matmul(*pair(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes swapped."""
    if x.ndim < 2:
        raise ValueError("matrix_transpose() of an array with fewer than 2 dimensions")
    return x.mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Products summed over pairs of axes."""
    return ember.tensordot(*pair(x1, x2), dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Inner products along `axis`; the first of them is conjugated."""
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        raise IndexError(f"vecdot(): {axis} is no axis of both arrays, from behind")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError("vecdot(): arrays have to be of one size along axis")
    x1, x2 = pair(x1, x2)
    product = (x1.conj().resolve_conj() if x1.is_complex() else x1) * x2
    return _sum(product, axis=axis, dtype=x1.dtype)


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular factor of a positive definite matrix."""
    return ember.linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of three."""
    if not -min(x1.ndim, x2.ndim) <= axis < max(x1.ndim, x2.ndim):
        raise IndexError(f"cross(): axis {axis} is out of range")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("cross(): both arrays need size 3 along axis")
    x1, x2 = ember.broadcast_tensors(*pair(x1, x2))
    return ember.linalg.cross(x1, x2, dim=axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the matrices."""
    return ember.diagonal(x, offset, -2, -1)


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues and eigenvectors of a symmetric or Hermitian matrix."""
    return EighResult(*ember.linalg.eigh(x))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """A norm of the matrices."""
    return ember.linalg.matrix_norm(x, ord, (-2, -1), keepdims)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values count."""
    if x.ndim < 2:
        raise ValueError("matrix_rank() of an array with fewer than 2 dimensions")
    return ember.linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of the elements of two vectors."""
    return ember.outer(*pair(x1, x2))


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudoinverse."""
    return ember.linalg.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult:
    """An orthogonal matrix and a triangular one."""
    return QRResult(*ember.linalg.qr(x, mode=mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Sign and logarithm of the determinant."""
    return SlogdetResult(*ember.linalg.slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solution of `x1 @ x = x2`; only an `x2` of one dimension is a vector."""
    x1, x2 = pair(x1, x2)
    if x2.ndim == 1:
        return ember.linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    shape = ember.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return ember.linalg.solve(x1, x2.expand(*shape, *x2.shape[-2:]))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular values and vectors."""
    return SVDResult(*ember.linalg.svd(x, full_matrices=full_matrices))


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """A norm of the elements along `axis`, or of all."""
    if axis == ():
        return ember.abs(x) if ord != 0 else (x != 0).to(ember.abs(x).dtype)
    return ember.linalg.vector_norm(x, ord, axis, keepdims)


def det(x: Tensor, /) -> Tensor:
    """The determinant."""
    return ember.linalg.det(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of a symmetric or Hermitian matrix."""
    return ember.linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverse."""
    return ember.linalg.inv(x)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The matrix times itself."""
    return ember.linalg.matrix_power(x, n)


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values."""
    return ember.linalg.svdvals(x)


__all__ = """
    cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power
    matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace
    vecdot vector_norm
    """.split()
