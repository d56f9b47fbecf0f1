"""Factorisations written in terms of others: lu with infos, low rank, lobpcg."""

from __future__ import annotations

import ember
from ember._C import Tensor
from ember._overridable import overridable

__all__ = ["lobpcg", "lu", "pca_lowrank", "svd_lowrank"]


@overridable
def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: tuple | None = None
) -> tuple:
    """Packed LU factors of matrices and their pivots, the old name of `lu_factor`.

    With `get_infos` a third tensor says which matrices are singular, which is an error
    otherwise.

    >>> import ember
    >>> LU, pivots = ember.lu(ember.tensor([[2.0, 1.0], [4.0, 4.0]]))
    >>> LU
    tensor([[ 4.0000,  4.0000],
            [ 0.5000, -1.0000]])
    >>> pivots
    tensor([2, 2], dtype=torch.int32)
    """
    result = ember._C._ops["_lu_with_info"](A, pivot=pivot, check_errors=not get_infos)
    if out is not None:
        wanted = 3 if get_infos else 2
        if not isinstance(out, (tuple, list)):
            raise TypeError(
                f"argument 'out' must be tuple of Tensors, not {type(out).__name__}"
            )
        if len(out) != wanted:
            raise TypeError(
                f"expected tuple of {wanted} elements but got {len(out)} elements"
            )
        with ember.no_grad():
            for place, value in zip(out, result):
                place.resize_as_(value).copy_(value)
        return out
    return result if get_infos else (result[0], result[1])


# --- low rank -------------------------------------------------------------------------


def _product(A: Tensor, M: Tensor | None, X: Tensor) -> Tensor:
    """(A - M) @ X; A may be sparse, and stays so."""
    return A @ X if M is None else A @ X - M @ X


def _range_basis(A, AH, M, MH, q: int, niter: int) -> Tensor:
    """An orthonormal basis of what A - M makes of `q` random vectors."""
    start = ember.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = ember.linalg.qr(_product(A, M, start)).Q
    for _ in range(niter):
        Q = ember.linalg.qr(_product(AH, MH, Q)).Q
        Q = ember.linalg.qr(_product(A, M, Q)).Q
    return Q


@overridable
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The `q` largest singular values of A - M and their vectors, by a random range.

    Returns U, S, V with A - M close to `U @ diag(S) @ V.mH`. Halko, Martinsson and
    Tropp, "Finding structure with randomness" (2009), algorithms 4.4 and 5.1.

    >>> import ember
    >>> A = ember.ones(5, 4)
    >>> U, S, V = ember.svd_lowrank(A, q=2)
    >>> ember.allclose(U @ ember.diag(S) @ V.T, A, atol=1e-5)
    True
    """
    q = 6 if q is None else q
    niter = 2 if niter is None else niter
    sparse = A.layout is not ember.strided
    M = None if M is None else M.broadcast_to(A.shape)
    if M is not None and not sparse:
        A, M = A - M, None
    AH = A.transpose(-2, -1).conj() if sparse else A.mH
    MH = None if M is None else M.mH
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A, AH, M, MH = AH, A, MH, M
    Q = _range_basis(A, AH, M, MH, q, niter)
    U, S, Vh = ember.linalg.svd(_product(AH, MH, Q).mH, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


@overridable
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components: U, S, V of the centred matrix, whose rows are samples.

    The columns of V are the principal directions.

    >>> import ember
    >>> A = ember.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> U, S, V = ember.pca_lowrank(A, q=1)
    >>> ember.allclose(V.abs(), ember.tensor([[0.2], [0.8]]).sqrt())
    True
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)="
            f"{min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not (A.is_floating_point() or A.is_complex()):
        raise ValueError(f"pca_lowrank(): expected floating point, got {A.dtype}")
    if not center:
        return svd_lowrank(A, q, niter)
    if A.layout is ember.sparse_coo:  # stays sparse; only the mean is subtracted
        mean = ember.sparse.sum(A, -2).to_dense() / m
        return svd_lowrank(A, q, niter, M=mean.unsqueeze(-2).expand(m, n))
    return svd_lowrank(A - A.mean(-2, keepdim=True), q, niter)


# --- some eigenvalues of a large matrix -----------------------------------------------


@overridable
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker=None,
    ortho_iparams: dict | None = None,
    ortho_fparams: dict | None = None,
    ortho_bparams: dict | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) eigenvalues of A x = e B x and their vectors.

    A is symmetric, B positive definite; both may be anything with `@`. The search
    starts from X, or from random vectors; iK makes residuals better directions. Each
    step solves the problem within the span of the guesses, their preconditioned
    residuals and the last directions (Knyazev, 2001), orthonormalised. Where a gradient
    is needed, the dense problem is solved instead.

    >>> import ember
    >>> A = ember.diag(ember.arange(1.0, 13.0))
    >>> E, X = ember.lobpcg(A, k=2)
    >>> [round(e, 3) for e in E.tolist()]
    [12.0, 11.0]
    """
    size = A.shape[-1]
    if A.ndim < 2 or A.shape[-2] != size:
        raise ValueError(f"lobpcg(): A must be square, got {tuple(A.shape)}")
    count = k or (n if n is not None else X.shape[-1] if X is not None else 1)
    if size < 3 * (n or (X.shape[-1] if X is not None else count)):
        raise ValueError(
            f"LPBPCG algorithm is not applicable when the number of A rows (={size}) "
            f"is smaller than 3 x the number of requested eigenpairs (={count})"
        )
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg(): method must be 'basic' or 'ortho', got {method!r}")
    largest = True if largest is None else largest
    needs_grad = A.requires_grad or (B is not None and B.requires_grad)
    if ember.is_grad_enabled() and needs_grad:
        E, V = _dense_eigenpairs(A, B, largest)
        return E[..., :count], V[..., :count]
    with ember.no_grad():
        guesses = n or count
        if X is None:
            shape = (*A.shape[:-2], size, guesses)
            X = ember.randn(shape, dtype=A.dtype, device=A.device)
        E, V = _lobpcg_steps(
            A, B, X, iK, niter or 1000, tol, -1.0 if largest else 1.0, tracker
        )
    return E[..., :count], V[..., :count]


def _dense_eigenpairs(A: Tensor, B: Tensor | None, largest: bool):
    """All eigenpairs by `eigh`, the wanted ones first."""
    if B is None:
        E, V = ember.linalg.eigh(A)
    else:
        L = ember.linalg.cholesky(B)
        half = ember.linalg.solve_triangular(L, A, upper=False)
        C = ember.linalg.solve_triangular(L, half.mH, upper=False)
        E, V = ember.linalg.eigh(C)
        V = ember.linalg.solve_triangular(L.mH, V, upper=True)
    return (E.flip(-1), V.flip(-1)) if largest else (E, V)


def _lobpcg_steps(A, B, X, iK, niter, tol, sign, tracker):
    """Iterates until every residual is small; `sign` is -1 for the largest."""
    count = X.shape[-1]
    if tol is None:
        tol = ember.finfo(X.dtype).eps ** 0.5
    P = None
    E, X = _rayleigh_ritz(A, B, X, sign, count)
    for step in range(niter):
        BX = X if B is None else B @ X
        R = A @ X - BX * E.unsqueeze(-2)
        scale = (A @ X).norm(dim=-2) + (E.abs() * BX.norm(dim=-2))
        if tracker is not None:
            tracker({"istep": step, "E": E, "X": X, "R": R})
        if bool((R.norm(dim=-2) <= tol * scale).all()):
            break
        W = R if iK is None else iK @ R
        span = ember.cat([X, W] if P is None else [X, W, P], -1)
        E, new = _rayleigh_ritz(A, B, span, sign, count)
        P = new - X @ (X.mH @ (new if B is None else B @ new))
        X = new
    return E, X


def _rayleigh_ritz(A, B, S, sign, count):
    """The best eigenpairs within the span of S; directions it lacks are dropped."""
    S = ember.linalg.qr(S / S.norm(dim=-2, keepdim=True).clamp_min(1e-30)).Q
    if B is None:
        H = S.mH @ (A @ S)
        E, V = ember.linalg.eigh((H + H.mH) * (0.5 * sign))
    else:
        L = ember.linalg.cholesky(S.mH @ (B @ S))
        S = ember.linalg.solve_triangular(L.mH, S, upper=True, left=False)
        H = S.mH @ (A @ S)
        E, V = ember.linalg.eigh((H + H.mH) * (0.5 * sign))
    return E[..., :count] * sign, S @ V[..., :count]
