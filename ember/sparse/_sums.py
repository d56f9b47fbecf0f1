"""Ops on sparse tensors that add up elements along dimensions."""

import ember
from ember import Tensor
from ember.sparse import _convert
from ember.sparse._arithmetic import like
from ember.sparse._convert import to_coo
from ember.sparse._out import writes_out
from ember.sparse._places import add_rows, check_bounds, coalesced, keys_of
from ember.sparse._shape import unsqueeze
from ember.sparse._table import handles
from ember.sparse._tensor import SparseTensor, coo, wrap


def sum_over(input, dims: list[int], dtype=None, keepdim: bool = False) -> Tensor:
    """The sum over some dimensions: sparse as long as a sparse dimension is left."""
    source = to_coo(input)
    check_bounds(source)
    (indices,), values, sparse = source._index, source._val, source.sparse_dim()
    if dtype is None and not (values.is_floating_point() or values.is_complex()):
        dtype = ember.int64
    inner = [d - sparse + 1 for d in dims if d >= sparse]
    if inner:
        values = values.sum(inner, dtype=dtype)
    values = values if dtype is None else values.to(dtype)
    rest = [d for d in range(sparse) if d not in dims]
    dense = [input._size[d] for d in range(sparse, input.dim()) if d not in dims]
    if not rest:
        made = values.sum(0, dtype=values.dtype)
    elif len(rest) == sparse:
        made = coo(indices, values, [*input._size[:sparse], *dense], source._coalesced)
    else:
        size = [*(input._size[d] for d in rest), *dense]
        made = coalesced(coo(indices[rest], values, size))
    if keepdim:
        for d in sorted(dims):
            made = (
                unsqueeze(made, d)
                if isinstance(made, SparseTensor)
                else (made.unsqueeze(d))
            )
    return made


@handles("sum")
@writes_out
def sum_(input, dim=None, keepdim: bool = False, *, dtype=None) -> Tensor:
    """The sum of all elements, dense, or over some dimensions."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        if dtype is None and not (input.is_floating_point() or input.is_complex()):
            dtype = ember.int64
        return input._val.sum(dtype=dtype)
    dims = [dim] if isinstance(dim, int) else list(dim)
    dims = [wrap("sum", d, input) for d in dims]
    if not input.is_sparse:
        if not keepdim:
            raise RuntimeError(
                "Reduction operations on CSR tensors with keepdim=False is unsupported"
            )
        return like(sum_over(input, dims, dtype, keepdim), input)
    return sum_over(input, dims, dtype, keepdim)


@handles("norm")
def norm(input, p="fro", dim=None, keepdim: bool = False, dtype=None) -> Tensor:
    """The norm over all elements."""
    if dim not in (None, []):
        raise RuntimeError("norm_sparse currently only supports full reductions")
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if dtype is not None and p == "fro":
        raise ValueError("dtype argument is not supported in frobenius norm")
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    t = coalesced(to_coo(input))
    flat = t._val.reshape(-1)
    return flat.norm(2 if p in (None, "fro") else p)


@handles("any")
def any_(input, dim=None, keepdim: bool = False) -> Tensor:
    """Whether some element is not zero."""
    if dim is not None:
        raise NotImplementedError("any(): only over all of a sparse tensor")
    return coalesced(to_coo(input))._val.any()


@handles("is_nonzero")
def is_nonzero(input) -> bool:
    """Whether the one element is not zero."""
    return bool(input)


def group_keys(t: SparseTensor, dim: int) -> Tensor:
    """The line along `dim` that each element belongs to."""
    (indices,), sparse = t._index, t.sparse_dim()
    rest = [d for d in range(sparse) if d != dim]
    return keys_of(indices[rest], [t._size[d] for d in rest])


def softmax(input, dim: int, log: bool, dtype=None) -> Tensor:
    """Softmax along a dimension, over the elements that are kept."""
    if not isinstance(input, SparseTensor):
        raise RuntimeError("softmax: input must be a sparse tensor")
    d = wrap("softmax", dim, input)
    t = coalesced(to_coo(input))
    values = t._val if dtype is None else t._val.to(dtype)
    sparse = t.sparse_dim()
    if d >= sparse:
        function = ember.log_softmax if log else ember.softmax
        return like(t._with(function(values, d - sparse + 1)), input)
    lines, line = ember.unique(group_keys(t, d), return_inverse=True)
    shape = (lines.numel(), *values.shape[1:])
    with ember.no_grad():
        at = line.reshape(-1, *[1] * (values.dim() - 1)).expand(values.shape)
        most = values.detach().new_zeros(shape)
        most = most.scatter_reduce(0, at, values.detach(), "amax", include_self=False)
    shifted = values - most.index_select(0, line)
    total = add_rows(shape, line, shifted.exp())
    if log:
        made = shifted - total.log().index_select(0, line)
    else:
        made = shifted.exp() / total.index_select(0, line)
    return like(t._with(made), input)


@handles("_sparse_softmax")
def _softmax(input, dim, dtype=None, **options) -> Tensor:
    return softmax(input, dim, False, dtype)


__all__ = ["_convert"]
