"""Products of matrices of which some are sparse. The loops are the core's `_csr_mm` and
`_csr_sample` (core/ops/sparse.cpp).
"""

import ember
from ember import _C, Tensor
from ember.sparse import _convert
from ember.sparse._arithmetic import add, like, mul
from ember.sparse._convert import to_coo
from ember.sparse._copies import sparse_mask
from ember.sparse._out import writes_out
from ember.sparse._places import check_bounds, coalesced
from ember.sparse._shape import expand_rows, transpose
from ember.sparse._table import handles
from ember.sparse._tensor import LAYOUT_NAMES, SparseTensor, coo, need_layout

_csr_mm, _csr_sample = _C._ops["_csr_mm"], _C._ops["_csr_sample"]


def compressed_rows(t: SparseTensor) -> tuple[Tensor, Tensor, Tensor, bool]:
    """(start, columns, values, transposed) of a matrix, or of its transpose."""
    check_bounds(t)
    if t._layout is ember.sparse_csr:
        return *t._index, t._val, False
    if t._layout is ember.sparse_csc:
        return *t._index, t._val, True
    source = coalesced(to_coo(t))
    if source is not t and t._rows is not None and t._coalesced:
        source._rows = t._rows
    if source._rows is None:
        rows, columns = source._index[0].unbind(0)
        counts = ember.bincount(rows, minlength=source._size[0])
        start = ember.cat([counts.new_zeros(1), counts.cumsum(0)])
        source._rows = start, columns.contiguous()
        if t._coalesced:
            t._rows = source._rows
    return *source._rows, source._val, False


def _check(a: Tensor, b: Tensor) -> None:
    for x in (a, b):
        if x.dim() != 2 or (isinstance(x, SparseTensor) and x.dense_dim()):
            raise RuntimeError(
                f"mm: Expected matrices (2 sparse dimensions), got {list(x.shape)}"
            )
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    if a.dtype != b.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{a.dtype} != {b.dtype}"
        )


@handles("mm")
@writes_out
def mm(input, mat2) -> Tensor:
    """The product of two matrices: dense, unless both are sparse."""
    _check(input, mat2)
    if not isinstance(mat2, SparseTensor):
        start, columns, values, turned = compressed_rows(input)
        width = input.shape[0] if turned else input.shape[1]
        made = _csr_mm(start, columns, values, mat2, width, turned)
    elif not isinstance(input, SparseTensor):
        start, columns, values, turned = compressed_rows(mat2)
        width = mat2.shape[0] if turned else mat2.shape[1]
        made = _csr_mm(start, columns, values, input.t(), width, not turned).t()
    else:
        made = like(_sparse_by_sparse(input, mat2), input)
    return made


def _sparse_by_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Each element (r, k) of a meets the elements of row k of b."""
    left, right = coalesced(to_coo(a)), coalesced(to_coo(b))
    check_bounds(left)
    start, columns, values, _ = compressed_rows(right)
    inner = left._index[0][1]
    counts = (start[1:] - start[:-1])[inner]
    mine, place = expand_rows(counts)
    theirs = start[inner[mine]] + place
    rows = ember.stack([left._index[0][0][mine], columns[theirs]])
    products = left._val.index_select(0, mine) * values.index_select(0, theirs)
    return coalesced(coo(rows, products, (a.shape[0], b.shape[1])))


@handles("mv")
@writes_out
def mv(input, vec) -> Tensor:
    """A sparse matrix times a vector."""
    if vec.dim() != 1 or input.dim() != 2:
        raise RuntimeError(
            "mv: two tensor dim should be 2 and 1, but got "
            f"{list(input.shape)} and {list(vec.shape)}"
        )
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            "mv: expected self.size(-1) == vec.size(-1), got "
            f"{input.shape[1]} and {vec.shape[0]}"
        )
    made = mm(input, vec.unsqueeze(1))
    made = (
        made.squeeze(1)
        if made.layout is ember.strided
        else _convert.to_dense(made).squeeze(1)
    )
    return made


@handles("bmm")
@writes_out
def bmm(input, mat2) -> Tensor:
    """A batch of sparse matrices times one of dense ones, as one block matrix."""
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        raise NotImplementedError("bmm(): only sparse @ dense is implemented")
    source = coalesced(to_coo(input))
    if input.dim() != 3 or mat2.dim() != 3 or source.sparse_dim() != 3:
        raise RuntimeError(
            "bmm_sparse: Tensor 'self' and 'mat2' must have 3 dimensions"
        )
    (batch, rows, inner), columns = input.shape, mat2.shape[2]
    if tuple(mat2.shape[:2]) != (batch, inner):
        raise RuntimeError(
            f"bmm_sparse: shapes {list(input.shape)} and {list(mat2.shape)} do not fit"
        )
    check_bounds(source)
    each, row, column = source._index[0].unbind(0)
    places = ember.stack([each * rows + row, each * inner + column])
    size = (batch * rows, batch * inner)
    whole = coo(places, source._val, size, coalesced=True)
    made = mm(whole, mat2.reshape(batch * inner, columns))
    return made.reshape(batch, rows, columns)


@handles("matmul __matmul__")
@writes_out
def matmul(input, other) -> Tensor:
    """`@` for vectors, matrices and batches."""
    dims = input.dim(), other.dim()
    if dims == (2, 2):
        return mm(input, other)
    if dims == (2, 1):
        return mv(input, other)
    if dims == (1, 2) and not isinstance(input, SparseTensor):
        return mv(transpose(other, 0, 1), input)
    if dims == (3, 3):
        return bmm(input, other)
    if dims[1] == 2 and dims[0] > 2 and not isinstance(input, SparseTensor):
        flat = mm(input.reshape(-1, input.shape[-1]), other)
        return flat.reshape(*input.shape[:-1], other.shape[1])
    raise NotImplementedError(
        f"matmul(): not implemented for shapes {list(input.shape)} and "
        f"{list(other.shape)} in layouts {input.layout} and {other.layout}"
    )


def _rmatmul(input, other) -> Tensor:
    return matmul(other, input)


handles("__rmatmul__")(_rmatmul)


@handles("addmm")
@writes_out
def addmm(input, mat1, mat2, *, beta=1, alpha=1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    product = mm(mat1, mat2)
    if alpha != 1:
        product = product * alpha
    input = input if beta == 1 else input * beta
    if beta == 0:
        made = product
    elif isinstance(product, SparseTensor) != isinstance(input, SparseTensor):
        made = add(
            *((product, input) if isinstance(input, SparseTensor) else (input, product))
        )
    else:
        made = input + product
    return made


@handles("addmm_")
def addmm_(input, mat1, mat2, *, beta=1, alpha=1) -> Tensor:
    """input = beta * input + alpha * (mat1 @ mat2)."""
    made = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return input._become(made) if isinstance(input, SparseTensor) else input.copy_(made)


@handles("nn.functional.linear linear")
def linear(input, weight, bias=None) -> Tensor:
    """input @ weight.T + bias."""
    turned = transpose(weight, 0, 1) if isinstance(weight, SparseTensor) else weight.t()
    made = matmul(input, turned)
    return made if bias is None else bias + made


@writes_out
def hspmm(mat1, mat2) -> Tensor:
    """sparse @ dense as a COO tensor with one sparse dimension."""
    need_layout("hspmm", mat1)
    return _convert.dense_to_coo(mm(mat1, mat2), 1)


def spmm(input, mat2) -> Tensor:
    """The product of two matrices, sparse or not."""
    return ember.mm(input, mat2)


def saddmm(input, mat1, mat2, *, beta=1, alpha=1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    return ember.addmm(input, mat1, mat2, beta=beta, alpha=alpha)


dsmm, hsmm = spmm, hspmm


def smm(input, mat2) -> Tensor:
    """sparse @ dense as a COO tensor.

    Args:
        input (Tensor): a sparse matrix.
        mat2 (Tensor): a dense matrix.

    >>> import ember
    >>> ember.eye(2).to_sparse().smm(ember.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    need_layout("smm", input)
    return _convert.to_sparse(mm(input, mat2))


@writes_out
def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) for a sparse input and mat1.

    Args:
        input (Tensor): a sparse matrix.
        mat1 (Tensor): a sparse matrix.
        mat2 (Tensor): a dense matrix.
        beta (number, default 1): factor of `input`.
        alpha (number, default 1): factor of the product.

    >>> import ember
    >>> x = ember.eye(2).to_sparse()
    >>> x.sspaddmm(x, ember.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    if not isinstance(mat1, SparseTensor):
        raise RuntimeError(
            "sspaddmm: expected 'mat1' to have sparse layout, got 'mat1' with layout "
            "Strided"
        )
    if isinstance(mat2, SparseTensor):
        raise RuntimeError(
            "sspaddmm: expected 'mat2' to have strided layout, got 'mat2' with layout "
            f"{LAYOUT_NAMES[mat2._layout]}"
        )
    need_layout("sspaddmm", input)
    product = _convert.to_sparse(mm(mat1, mat2))
    return add(mul(input, beta), product, alpha=alpha)


# --- with a reduction, and sampled ----------------------------------------------------


def reduced_mm(a: SparseTensor, b: Tensor, reduce: str) -> Tensor:
    """sparse @ dense with the mean, maximum or minimum in place of the sum."""
    if not isinstance(a, SparseTensor) or a._layout is not ember.sparse_csr:
        raise RuntimeError("torch.sparse.mm: reduce needs a CSR matrix as mat1")
    _check(a, b)
    if reduce == "sum":
        return mm(a, b)
    if reduce not in ("mean", "amax", "amin"):
        raise RuntimeError(
            "reduce argument must be either sum, mean, amax or amin, got " + reduce
        )
    start = a._index[0]
    counts = start[1:] - start[:-1]
    if reduce == "mean":
        return mm(a, b) / counts.clamp(min=1).to(b.dtype).unsqueeze(1)
    rows = ember.arange(counts.numel(), device=b.device).repeat_interleave(counts)
    terms = a._val.unsqueeze(1) * b.index_select(0, a._index[1])
    at = rows.unsqueeze(1).expand(terms.shape)
    zeros = b.detach().new_zeros((a.shape[0], b.shape[1]))
    return zeros.scatter_reduce(0, at, terms, reduce, include_self=False)


@writes_out
def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) at the places of a CSR matrix."""
    if not isinstance(input, SparseTensor) or input._layout is not ember.sparse_csr:
        raise RuntimeError(
            f"Expected input tensor to have sparse csr layout but got {input.layout}"
        )
    for name, m in (("mat1", mat1), ("mat2", mat2)):
        if m.layout is not ember.strided:
            raise RuntimeError(
                f"Expected {name} to have strided layout, got {m.layout}"
            )
        if m.dim() < 2 or m.dim() != input.dim():
            raise RuntimeError(f"sampled_addmm: Expected {name} to be a matrix")
        if m.dtype != input.dtype:
            raise RuntimeError(
                f"sampled_addmm: Expected {name} and input to have the same dtype, but "
                f"got {m.dtype} and {input.dtype}"
            )
    if mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied "
            f"({mat1.shape[-2]}x{mat1.shape[-1]} and {mat2.shape[-2]}x{mat2.shape[-1]})"
        )
    if mat1.shape[-2] != input.shape[-2] or mat2.shape[-1] != input.shape[-1]:
        raise RuntimeError(
            f"sampled_addmm: input of shape {list(input.shape)} does not fit mat1 of "
            f"shape {list(mat1.shape)} and mat2 of shape {list(mat2.shape)}"
        )
    if input.dim() > 2:
        product = sparse_mask(ember.matmul(mat1, mat2), input)._val
    else:
        product = _csr_sample(*input._index, mat1, mat2.t())
    made = input._with(input._val * beta + product * alpha)
    return made


__all__ = ["mul"]
