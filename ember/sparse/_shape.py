"""Ops on sparse tensors that move elements along dimensions, or choose some."""

import ember
from ember import Tensor
from ember.sparse._arithmetic import like
from ember.sparse._convert import to_coo
from ember.sparse._out import writes_out
from ember.sparse._places import check_bounds, coalesced, unravel
from ember.sparse._table import TABLE, handles
from ember.sparse._tensor import BLOCKS, SparseTensor, coo, make, wrap

# --- rearranging ----------------------------------------------------------------------


@handles("broadcast_to")
def broadcast_to(input, size) -> Tensor:
    """The tensor repeated along dimensions of size 1, and along new ones before them,
    which are sparse.
    """
    t = to_coo(input)
    check_bounds(t)
    size, (indices,) = ember.Size(size), t._index
    new = len(size) - t.dim()
    sparse = new + t.sparse_dim()
    old = [1] * new + list(t._size)
    if new < 0 or any(n not in (1, m) for n, m in zip(old, size)):
        raise RuntimeError(
            f"broadcast_to(): a sparse tensor of shape {list(t._size)} does not "
            f"broadcast to {list(size)}"
        )
    repeated = [d for d in range(sparse) if d < new or old[d] != size[d]]
    across = ember.Size([size[d] for d in repeated])
    count, nnz = across.numel(), indices.shape[1]
    places = unravel(ember.arange(count, device=indices.device), across)
    steps = dict(zip(repeated, places.repeat(1, nnz))) if repeated else {}
    rows = [
        steps[d] if d in steps else indices[d - new].repeat_interleave(count)
        for d in range(sparse)
    ]
    places = ember.stack(rows) if rows else indices.repeat_interleave(count, 1)
    values = t._val.expand(nnz, *size[sparse:]).repeat_interleave(count, 0)
    made = coo(places, values, size)
    return like(coalesced(made) if t._coalesced else made, input)


@handles("permute")
def permute(input, *given, dims=None) -> Tensor:
    """The dimensions in another order; sparse ones stay before dense ones."""
    dims = given if dims is None else tuple(dims)
    if len(dims) == 1 and not isinstance(dims[0], int):
        dims = tuple(dims[0])
    order = [wrap("permute", d, input) for d in dims]
    if len(set(order)) != len(order):
        raise RuntimeError("permute(sparse_coo): duplicate dims are not allowed")
    if len(order) != input.dim():
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not "
            f"match the length of the desired ordering of dimensions i.e. input.dim() "
            f"= {input.dim()} is not equal to len(dims) = {len(order)}"
        )
    if not input.is_sparse:
        if order == [1, 0]:
            return _transposed(input)
        raise NotImplementedError(f"permute(): not implemented for {input.layout}")
    (indices,), sparse = input._index, input.sparse_dim()
    if sorted(order[:sparse]) != list(range(sparse)):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions "
            "are not allowed."
        )
    values = input._val
    if order[sparse:] != list(range(sparse, input.dim())):
        values = values.permute(0, *(d - sparse + 1 for d in order[sparse:]))
    rows = indices[order[:sparse]] if sparse else indices
    same = order[:sparse] == list(range(sparse)) or not indices.numel()
    kept = input._coalesced and same
    size = [input._size[d] for d in order]
    return coo(rows, values, size, kept, input._checked)


_OTHER = {
    ember.sparse_csr: ember.sparse_csc,
    ember.sparse_csc: ember.sparse_csr,
    ember.sparse_bsr: ember.sparse_bsc,
    ember.sparse_bsc: ember.sparse_bsr,
}


def _transposed(t: SparseTensor) -> SparseTensor:
    """A compressed matrix by its other layout: the same parts."""
    batch = t._index[0].dim() - 1
    values = t._val
    if t._layout in BLOCKS:
        values = values.transpose(batch + 1, batch + 2)
    size = [*t._size]
    size[batch], size[batch + 1] = size[batch + 1], size[batch]
    return make(_OTHER[t._layout], t._index, values, size, True, t._checked)


@handles("transpose swapaxes swapdims")
def transpose(input, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    a, b = wrap("transpose", dim0, input), wrap("transpose", dim1, input)
    if a == b:
        return input
    if not input.is_sparse:
        batch = input._index[0].dim() - 1
        if {a, b} == {batch, batch + 1}:
            return _transposed(input)
        raise NotImplementedError(
            f"transpose(): only the rows and columns of {input.layout} can be exchanged"
        )
    order = list(range(input.dim()))
    order[a], order[b] = b, a
    return permute(input, order)


@handles("transpose_ swapaxes_ swapdims_")
def transpose_(input, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged, in place."""
    return input._become(transpose(input, dim0, dim1))


@handles("t")
def t(input) -> Tensor:
    """The transpose of a matrix."""
    if input.dim() > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{input.dim()} dimensions"
        )
    return input if input.dim() < 2 else transpose(input, 0, 1)


@handles("t_")
def t_(input) -> Tensor:
    """Transpose in place."""
    return input._become(t(input))


def _reversed(input) -> Tensor:
    return permute(input, list(range(input.dim()))[::-1])


def _last_two(input) -> Tensor:
    return transpose(input, -2, -1)


def _adjoint(input) -> Tensor:
    made = transpose(input, -2, -1)
    return made._with(made._val.conj()) if made.is_complex() else made


for _names, _function in (("T", _reversed), ("mT", _last_two), ("H mH", _adjoint)):
    for _name in _names.split():
        TABLE[getattr(Tensor, _name).__get__] = _function
handles("adjoint")(_adjoint)


@handles("unsqueeze")
def unsqueeze(input, dim: int) -> Tensor:
    """A new dimension of size 1."""
    d = wrap("unsqueeze", dim, input.dim() + 1)
    source = to_coo(input)
    (indices,), sparse = source._index, source.sparse_dim()
    size = [*input._size[:d], 1, *input._size[d:]]
    if d > sparse:
        values = source._val.unsqueeze(d - sparse + 1)
        return coo(indices, values, size, source._coalesced, source._checked)
    zeros = indices.new_zeros((1, indices.shape[1]))
    rows = ember.cat([indices[:d], zeros, indices[d:]])
    return coo(rows, source._val, size, source._coalesced, source._checked)


@handles("cat concat concatenate")
@writes_out
def cat(tensors, dim: int = 0) -> Tensor:
    """Sparse tensors one after the other."""
    for place, x in enumerate(tensors):
        if not isinstance(x, SparseTensor):
            raise RuntimeError(
                "Concatenating sparse tensors, but a dense tensor was found at "
                f"position {place}."
            )
    first = tensors[0]
    parts = [to_coo(x) for x in tensors]
    d = wrap("cat", dim, first)
    sparse = parts[0].sparse_dim()
    for position, x in enumerate(parts):
        check_bounds(x)
        if x.sparse_dim() != sparse or x.dim() != first.dim():
            raise RuntimeError(
                "All tensors must have the same sparse and dense dims: "
                f"{sparse}, {parts[0].dense_dim()}, but tensor at position "
                f"{position} has {x.sparse_dim()}, {x.dense_dim()}."
            )
        if [*x.shape[:d], *x.shape[d + 1 :]] != [
            *first.shape[:d],
            *first.shape[d + 1 :],
        ]:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in "
                f"the concatenating dimension), but found shape: {list(x.shape)}"
            )
    dtype = parts[0].dtype
    for x in parts[1:]:
        dtype = ember.promote_types(dtype, x.dtype)
    size = [*first.shape]
    size[d] = sum(x.shape[d] for x in parts)
    rows, values, before = [], [], 0
    for x in parts:
        shifted, kept = x._index[0], x._val.to(dtype)
        if d < sparse:
            move = shifted.new_zeros((sparse, 1))
            move[d] = before
            shifted = shifted + move
        else:  # the values of the others are zeros there
            rest = [*kept.shape]
            rest[d - sparse + 1] = before
            after = [*kept.shape]
            after[d - sparse + 1] = size[d] - before - x.shape[d]
            blanks = kept.new_zeros(rest), kept.new_zeros(after)
            kept = ember.cat([blanks[0], kept, blanks[1]], d - sparse + 1)
        rows.append(shifted)
        values.append(kept)
        before += x.shape[d]
    sorted_ = d == 0 and sparse > 0 and all(x._coalesced for x in parts)
    made = coo(ember.cat(rows, 1), ember.cat(values), size, coalesced=sorted_)
    made = like(made, first)
    return made


@handles("stack")
@writes_out
def stack(tensors, dim: int = 0) -> Tensor:
    """Sparse tensors along a new dimension."""
    return cat([unsqueeze(x, dim) for x in tensors], dim)


# --- choosing -------------------------------------------------------------------------


@handles("select")
def select(input, dim: int, index: int) -> Tensor:
    """One entry along a dimension."""
    d = wrap("select", dim, input)
    n = input.shape[d]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size "
            f"{list(input.shape)} at dimension {d}"
        )
    index %= n
    source = to_coo(input)
    check_bounds(source)
    (indices,), sparse = source._index, source.sparse_dim()
    size = [*input._size[:d], *input._size[d + 1 :]]
    if d >= sparse:
        values = source._val.select(d - sparse + 1, index)
        return coo(indices, values, size, source._coalesced)
    found = (indices[d] == index).nonzero().reshape(-1)
    values = source._val.index_select(0, found)
    if sparse == 1:  # nothing sparse is left
        return values.sum(0, dtype=values.dtype)
    rows = ember.cat([indices[:d], indices[d + 1 :]]).index_select(1, found)
    return coo(rows, values, size, source._coalesced)


@handles("narrow_copy")
def narrow_copy(input, dim: int, start: int, length: int) -> Tensor:
    """The entries start .. start + length - 1 along a dimension."""
    if not -input.dim() <= dim < input.dim():
        raise RuntimeError(
            f"narrow_copy(): dim {dim} is out of range of a sparse tensor of "
            f"{input.dim()} dimensions"
        )
    d = dim % input.dim()
    n = input.shape[d]
    start = start + n if start < 0 else start
    if length < 0 or start < 0 or start + length > n:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({n})."
        )
    source = to_coo(input)
    check_bounds(source)
    (indices,), sparse = source._index, source.sparse_dim()
    size = [*input._size]
    size[d] = length
    if d >= sparse:
        values = source._val.narrow(d - sparse + 1, start, length)
        return coo(indices, values, size, source._coalesced)
    row = indices[d]
    found = ((row >= start) & (row < start + length)).nonzero().reshape(-1)
    move = indices.new_zeros((sparse, 1))
    move[d] = start
    rows = indices.index_select(1, found) - move
    values = source._val.index_select(0, found)
    return like(coo(rows, values, size, source._coalesced), input)


def expand_rows(counts: Tensor) -> tuple[Tensor, Tensor]:
    """For groups of the given sizes: the group of each member and its place in it."""
    group = ember.arange(counts.numel(), device=counts.device).repeat_interleave(counts)
    before = counts.cumsum(0) - counts
    places = ember.arange(group.numel(), device=counts.device) - before[group]
    return group, places


@handles("index_select")
@writes_out
def index_select(input, dim: int, index: Tensor) -> Tensor:
    """The entries `index` along a dimension."""
    if not isinstance(input, SparseTensor):
        raise NotImplementedError("index_select(): the index must be a dense tensor")
    d = wrap("index_select", dim, input)
    source = to_coo(input)
    (indices,), sparse = source._index, source.sparse_dim()
    n, index = input.shape[d], index.reshape(-1).to(ember.int64)
    if index.numel() and not -n <= int(index.min()) <= int(index.max()) < n:
        raise IndexError(
            f"index_select(): index contains an index that is out of range for tensor "
            f"of size {list(input.shape)} at dimension {d}"
        )
    index = index.where(index >= 0, index + n)
    size = [*input._size]
    size[d] = index.numel()
    if d >= sparse:
        values = source._val.index_select(d - sparse + 1, index)
        return coo(indices, values, size, source._coalesced, source._checked)
    check_bounds(source)
    counts = ember.bincount(indices[d], minlength=n)
    order, first = ember.argsort(indices[d], stable=True), counts.cumsum(0) - counts
    wanted, place = expand_rows(counts[index])
    chosen = order[first[index[wanted]] + place]
    rows = indices.index_select(1, chosen)
    rows[d] = wanted
    made = coo(rows, source._val.index_select(0, chosen), size)
    return like(coalesced(made) if source._coalesced else made, input)


@handles("unbind")
def unbind(input, dim: int = 0) -> tuple:
    """The entries along a dimension."""
    d = wrap("unbind", dim, input)
    return tuple(select(input, d, i) for i in range(input.shape[d]))


@handles("__getitem__")
def getitem(input, key) -> Tensor:
    """x[1], x[:, 1] and x[..., None]: numbers, whole slices and new dimensions."""
    if not isinstance(input, SparseTensor):
        raise NotImplementedError("a sparse tensor cannot be used as an index")
    keys = key if isinstance(key, tuple) else (key,)
    used = sum(k is not None and k is not Ellipsis for k in keys)
    if used > input.dim():
        raise IndexError(f"too many indices for tensor of dimension {input.dim()}")
    made, d = input, 0
    for k in keys:
        if k is Ellipsis:
            d += input.dim() - used
        elif k is None:
            made, d = unsqueeze(made, d), d + 1
        elif isinstance(k, slice):
            start, stop, step = k.indices(made.shape[d])
            if step != 1:
                raise NotImplementedError(
                    f"slices of sparse tensors have a step of 1, got {step}"
                )
            if (start, stop) != (0, made.shape[d]):
                made = narrow_copy(made, d, start, max(stop - start, 0))
            d += 1
        elif isinstance(k, Tensor) and k.dim() == 1 and k.dtype == ember.int64:
            made, d = index_select(made, d, k % made.shape[d]), d + 1
        elif hasattr(k, "__index__") and not isinstance(k, bool):
            place = int(k)
            if isinstance(made, SparseTensor):
                made = select(made, d, place)
            else:
                made = made.select(d, place)
        else:
            raise NotImplementedError(
                f"a {type(k).__name__} cannot be used as an index of a sparse tensor"
            )
    return made


@handles("__setitem__")
def setitem(input, key, value) -> None:
    """Not for sparse tensors, as in PyTorch."""
    if isinstance(input, SparseTensor):
        raise TypeError("Cannot assign to a sparse tensor")
    raise NotImplementedError(
        f"__setitem__(): a value of layout {value.layout} cannot be assigned to a "
        "dense tensor; to_dense() gives a dense tensor"
    )
