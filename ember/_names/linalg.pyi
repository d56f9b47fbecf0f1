# Written by `make stubs` from the schemas of the compiled module. Do not edit.
# mypy: disable-error-code="overload-overlap,overload-cannot-match"
from builtins import (
    bool as _bool,
    complex as _complex,
    float as _float,
    int as _int,
    str as _str,
)
from collections.abc import Sequence as _Sequence
from typing import Any, Literal, NamedTuple, overload

from ember._C import (
    Generator,
    Size,
    Tensor,
    _DeviceLike,
    _Dims,
    _DtypeLike,
    _Number,
    _Operand,
    _Size,
    memory_format,
)


class _L_info(NamedTuple):
    L: Tensor
    info: Tensor

class _eigenvalues_eigenvectors(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class _inverse_info(NamedTuple):
    inverse: Tensor
    info: Tensor

class _LD_pivots(NamedTuple):
    LD: Tensor
    pivots: Tensor

class _LD_pivots_info(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class _solution_residuals_rank_singular_values(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class _P_L_U(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class _LU_pivots(NamedTuple):
    LU: Tensor
    pivots: Tensor

class _LU_pivots_info(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _Q_R(NamedTuple):
    Q: Tensor
    R: Tensor

class _sign_logabsdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _result_info(NamedTuple):
    result: Tensor
    info: Tensor

class _U_S_Vh(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

def cholesky(input: Tensor, *, upper: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The lower triangular L with L @ L.mH equal to the matrix, or its adjoint."""

def cholesky_ex(input: Tensor, *, upper: _bool = ..., check_errors: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _L_info:
    """Cholesky factors of matrices, and which of them have none."""

@overload
def cond(input: Tensor, p: _Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Condition numbers of matrices, with the norm of order `p`."""
@overload
def cond(input: Tensor, p: _str, *, out: Tensor | None = ...) -> Tensor: ...

def cross(input: Tensor, other: Tensor, *, dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Cross products of vectors of three along `dim`."""

def det(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The determinants of square matrices."""

def diagonal(A: Tensor, *, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """A view of the diagonals of matrices."""

def eig(input: Tensor, *, out: _Sequence[Tensor] | None = ...) -> _eigenvalues_eigenvectors:
    """Eigenvalues and eigenvectors of square matrices; both complex."""

def eigh(input: Tensor, UPLO: _str = ..., *, out: _Sequence[Tensor] | None = ...) -> _eigenvalues_eigenvectors:
    """Eigenvalues, ascending, and eigenvectors of symmetric or Hermitian matrices."""

def eigvals(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Eigenvalues of square matrices, complex."""

def eigvalsh(input: Tensor, UPLO: _str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Eigenvalues of symmetric or Hermitian matrices, ascending."""

def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The first columns of a product of Householder reflectors."""

def inv(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverses of square matrices."""

def inv_ex(A: Tensor, *, check_errors: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _inverse_info:
    """Inverses of matrices, and which of them are singular."""

def ldl_factor(input: Tensor, *, hermitian: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _LD_pivots:
    """Packed LDL factors of symmetric or Hermitian matrices, and their pivots."""

def ldl_factor_ex(input: Tensor, *, hermitian: _bool = ..., check_errors: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _LD_pivots_info:
    """Packed LDL factors of symmetric matrices, their pivots, and the info."""

def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The X with A @ X = B, from the packed LDL factors of A."""

def lstsq(input: Tensor, b: Tensor, rcond: _float | None = ..., *, driver: _str | None = ..., out: _Sequence[Tensor] | None = ...) -> _solution_residuals_rank_singular_values:
    """The X of least norm that makes the norm of A @ X - B smallest."""

def lu(A: Tensor, *, pivot: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _P_L_U:
    """The permutation, lower and upper triangular factors of matrices."""

def lu_factor(A: Tensor, *, pivot: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _LU_pivots:
    """Packed LU factors of matrices, and their pivots."""

def lu_factor_ex(A: Tensor, *, pivot: _bool = ..., check_errors: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _LU_pivots_info:
    """Packed LU factors of matrices, their pivots, and which of them are singular."""

def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = ..., adjoint: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The X with A @ X = B (or X @ A = B), from the packed LU factors of A."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The same as matmul."""

def matrix_exp(input: Tensor) -> Tensor:
    """The exponentials of square matrices."""

@overload
def matrix_norm(input: Tensor, ord: _Number, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Norms of matrices: order 1, -1, 2, -2, inf or -inf."""
@overload
def matrix_norm(input: Tensor, ord: _str = ..., dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor: ...

def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = ...) -> Tensor:
    """Square matrices to the power `n`."""

@overload
def matrix_rank(input: Tensor, tol: Tensor, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """How many singular values are larger than `tol`."""
@overload
def matrix_rank(input: Tensor, tol: _float, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def matrix_rank(input: Tensor, *, atol: Tensor | None = ..., rtol: Tensor | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def matrix_rank(input: Tensor, *, atol: _float | None = ..., rtol: _float | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

def multi_dot(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """The product of several matrices, multiplied in the order that costs least."""

@overload
def norm(input: Tensor, ord: _Number | None = ..., dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Norms of vectors or of matrices, over `dim`."""
@overload
def norm(input: Tensor, ord: _str, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor: ...

@overload
def pinv(input: Tensor, *, atol: Tensor | None = ..., rtol: Tensor | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The pseudo-inverses of matrices."""
@overload
def pinv(input: Tensor, *, atol: _float | None = ..., rtol: _float | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def pinv(input: Tensor, rcond: Tensor, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def pinv(input: Tensor, rcond: _float, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor: ...

def qr(A: Tensor, mode: _str = ..., *, out: _Sequence[Tensor] | None = ...) -> _Q_R:
    """An orthogonal Q and an upper triangular R with A = Q @ R."""

def slogdet(A: Tensor, *, out: _Sequence[Tensor] | None = ...) -> _sign_logabsdet:
    """The sign of determinants, and the logarithm of their absolute value."""

def solve(A: Tensor, B: Tensor, *, left: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The X with A @ X = B (or X @ A = B)."""

def solve_ex(A: Tensor, B: Tensor, *, left: _bool = ..., check_errors: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _result_info:
    """Solutions of linear systems, and which of the matrices are singular."""

def solve_triangular(input: Tensor, B: Tensor, *, upper: _bool, left: _bool = ..., unitriangular: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The X with A @ X = B (or X @ A = B), A being triangular."""

def svd(A: Tensor, full_matrices: _bool = ..., *, driver: _str | None = ..., out: _Sequence[Tensor] | None = ...) -> _U_S_Vh:
    """Singular vectors and values: A = U @ diag(S) @ Vh."""

def svdvals(A: Tensor, *, driver: _str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Singular values in descending order."""

def tensorinv(input: Tensor, ind: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverse of a tensor as a map between its first `ind` dimensions and the
    rest.
    """

def tensorsolve(input: Tensor, other: Tensor, dims: _Size | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The X with tensordot(self, X, X.ndim) = other."""

def vander(x: Tensor, *, N: _int | None = ...) -> Tensor:
    """Powers 0, 1 ... N - 1 of each element, in a new last dimension."""

def vecdot(x: Tensor, y: Tensor, *, dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Dot products of vectors along `dim`, the first conjugated."""

def vector_norm(input: Tensor, ord: _Number = ..., dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Norm of order `ord` of vectors over `dim`."""
