"""Sparse tensors: products, sums and softmax over the elements that are kept.

A sparse tensor is made by `ember.sparse_coo_tensor`, `ember.sparse_csr_tensor` and
their like, or by `x.to_sparse()`.

>>> import ember
>>> s = ember.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
>>> ember.sparse.mm(s, ember.eye(2))
tensor([[0., 2.],
        [3., 0.]])
"""

from typing import TYPE_CHECKING

import ember
from ember import Tensor, _lazy
from ember._functions import lowrank as _lowrank
from ember.sparse import _matmul, _sums
from ember.sparse._create import check_sparse_tensor_invariants
from ember.sparse._legacy import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from ember.sparse._matmul import sampled_addmm
from ember.sparse._table import TABLE as TABLE, handles as handles
from ember.sparse._tensor import (
    LAYOUT_NAMES as LAYOUT_NAMES,
    SparseTensor,
    wrap as wrap,
)

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "SparseTensor",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix and another; gradients for both.

    For a CSR matrix, `reduce` ("mean", "amax", "amin") can take the place of the sum.

    >>> import ember
    >>> s = ember.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> ember.sparse.mm(s, ember.ones(2, 1))
    tensor([[2.],
            [3.]])
    """
    if reduce is not None:
        return _matmul.reduced_mm(mat1, mat2, reduce)
    if mat1.layout is ember.strided and mat2.layout is ember.strided:
        return ember.mm(mat1, mat2)
    return _matmul.mm(mat1, mat2)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta=1.0, alpha=1.0) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), mat1 being sparse."""
    if mat1.layout is ember.strided and mat2.layout is ember.strided:
        return ember.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    return _matmul.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim=None, dtype=None) -> Tensor:
    """The sum of a sparse tensor over all or some of its dimensions.

    The result is sparse as long as a sparse dimension is left.

    >>> import ember
    >>> s = ember.sparse_coo_tensor([[0, 1], [1, 1]], [2.0, 3.0], (2, 2))
    >>> ember.sparse.sum(s, 0).to_dense()
    tensor([0., 5.])
    """
    if dim is None:
        return input.sum() if dtype is None else input.sum(dtype=dtype)
    dims = [dim] if isinstance(dim, int) else list(dim)
    if not isinstance(input, SparseTensor):
        return input.sum(dims, dtype=dtype)
    if not dims:
        return input.sum(dtype=dtype)
    dims = [wrap("sum", d, input) for d in dims]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(
                f"sum(): dim {d} appears multiple times in the list of dims"
            )
    if dtype is None and len(set(dims) & {*range(input.sparse_dim())}) < (
        input.sparse_dim()
    ):
        dtype = input.dtype  # as in PyTorch: integers do not become wider here
    return _sums.sum_over(input, dims, dtype)


def softmax(input: Tensor, dim: int, *, dtype=None) -> Tensor:
    """Softmax along `dim` over the elements that are kept; the others count as -inf.

    >>> import ember
    >>> s = ember.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3))
    >>> ember.sparse.softmax(s, 1).to_dense()
    tensor([[0.5000, 0.0000, 0.5000]])
    """
    return _sums.softmax(input, dim, False, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype=None) -> Tensor:
    """The logarithm of `softmax`."""
    return _sums.softmax(input, dim, True, dtype)


def spdiags(diagonals: Tensor, offsets: Tensor, shape, layout=None) -> Tensor:
    """A matrix with the rows of `diagonals` on its diagonals.

    Element j of a row stands in column j of the matrix.

    >>> import ember
    >>> d = ember.tensor([[1.0, 2.0, 3.0]])
    >>> ember.sparse.spdiags(d, ember.tensor([1]), (3, 3)).to_dense()
    tensor([[0., 2., 0.],
            [0., 0., 3.],
            [0., 0., 0.]])
    """
    diagonals, offsets = ember.atleast_2d(diagonals), ember.atleast_1d(offsets)
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if diagonals.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if offsets.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({diagonals.shape[0]}) does not match the number of "
            f"offsets ({offsets.shape[0]})"
        )
    if offsets.unique().numel() != offsets.numel():
        raise RuntimeError("Offset tensor contains duplicate values")
    if offsets.dtype != ember.int64:
        raise RuntimeError(
            f"Offset Tensor must have dtype Long but got {offsets.type()}"
        )
    if layout not in (None, ember.sparse_coo, ember.sparse_csr, ember.sparse_csc):
        raise RuntimeError(
            "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got "
            + LAYOUT_NAMES.get(layout, "Strided")
        )
    rows, columns = shape
    width = min(diagonals.shape[1], columns)
    column = ember.arange(width, device=diagonals.device).expand(offsets.numel(), width)
    row = column - offsets.unsqueeze(1)
    inside = (row >= 0) & (row < rows)
    places = ember.stack([row[inside], column[inside]])
    made = ember.sparse_coo_tensor(
        places, diagonals[:, :width][inside], (rows, columns)
    )
    return made if layout is None else made.to_sparse(layout=layout)


def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """Not available on the CPU, as in PyTorch."""
    raise RuntimeError(
        "Calling linear solver with sparse tensors requires compiling PyTorch with "
        "CUDA cuDSS and is not supported in ROCm build."
    )


def as_sparse_gradcheck(gradcheck):
    """Decorate `gradcheck` so that it takes sparse inputs: their values are varied.

    >>> import ember
    >>> check = ember.sparse.as_sparse_gradcheck(ember.autograd.gradcheck)
    >>> s = ember.eye(2, dtype=ember.float64).to_sparse().requires_grad_()
    >>> check(lambda s: s.to_dense() * 2, (s,))
    True
    """

    def checked(function, inputs, **options):
        options.pop("masked", None)
        inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)

        def of_values(*parts):
            made = [
                t._with(p) if isinstance(t, SparseTensor) else p
                for t, p in zip(inputs, parts)
            ]
            result = function(*made)
            outputs = result if isinstance(result, (tuple, list)) else (result,)
            return tuple(o._val if isinstance(o, SparseTensor) else o for o in outputs)

        parts = [t._val if isinstance(t, SparseTensor) else t for t in inputs]
        return gradcheck(of_values, parts, **options)

    return checked


handles("sparse.sum")(sum)

# Written in terms of products, which sparse tensors have.
for _function in (_lowrank.svd_lowrank, _lowrank.pca_lowrank, _lowrank.lobpcg):
    TABLE[_function] = _function.__wrapped__  # type: ignore[union-attr]


if not TYPE_CHECKING:  # a checker reports what is not here
    __getattr__ = _lazy.missing(__name__)
