"""Between layouts: dense and sparse, COO and compressed. The parts are in `_parts`."""

import ember
from ember import Tensor
from ember.sparse._places import add_rows, check_bounds, coalesced, keys_of, unravel
from ember.sparse._tensor import BLOCKS, LAYOUT_NAMES, ROWS, SparseTensor, coo, make

# --- to dense -------------------------------------------------------------------------


def to_dense(self: Tensor, dtype=None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor with all its elements, zeros included.

    Args:
        dtype (dtype, optional): the dtype of the result.
        masked_grad (bool, optional): whether the gradient is kept only at the places
            that the tensor has.

    >>> import ember
    >>> ember.sparse_coo_tensor([[0, 2]], [1.0, 3.0], (4,)).to_dense()
    tensor([1., 0., 3., 0.])
    """
    if not isinstance(self, SparseTensor):
        return self if dtype is None else self.to(dtype)
    t = to_coo(self)
    check_bounds(t)
    (indices,), values = t._index, t._val
    sparse = indices.shape[0]
    if sparse == 1:  # rows of a dense tensor: no product of sizes is needed
        out = add_rows(tuple(t._size), indices[0], values)
    else:
        flat = (t._size[:sparse].numel(), *t._size[sparse:])
        out = add_rows(flat, keys_of(indices, t._size[:sparse]), values)
        out = out.reshape(t._size)
    return out if dtype is None else out.to(dtype)


def to_coo(t: SparseTensor) -> SparseTensor:
    """A compressed tensor as COO, sorted; a COO tensor as it is."""
    if t._layout is ember.sparse_coo:
        return t
    check_bounds(t)
    start, other = t._index
    values, size, batch = t._val, t._size, start.dim() - 1
    count = start[..., 0].numel()  # matrices in the batch
    lines = start.shape[-1] - 1
    nnz = other.shape[-1]
    along = ember.arange(lines, device=start.device).repeat(count)
    along = along.repeat_interleave((start[..., 1:] - start[..., :-1]).reshape(-1))
    across = other.reshape(-1)
    rows, columns = (along, across) if t._layout in ROWS else (across, along)
    each = ember.arange(count, device=start.device).repeat_interleave(nnz)
    if t._layout in BLOCKS:
        high, wide = values.shape[batch + 1 : batch + 3]
        i = ember.arange(high, device=start.device).view(1, high, 1)
        j = ember.arange(wide, device=start.device).view(1, 1, wide)
        whole = (count * nnz, high, wide)
        rows = (rows.view(-1, 1, 1) * high + i).expand(whole).reshape(-1)
        columns = (columns.view(-1, 1, 1) * wide + j).expand(whole).reshape(-1)
        each = each.view(-1, 1, 1).expand(whole).reshape(-1)
        values = values.reshape(rows.numel(), *values.shape[batch + 3 :])
    else:
        values = values.reshape(count * nnz, *values.shape[batch + 1 :])
    if batch:
        places = ember.cat([unravel(each, size[:batch]), ember.stack([rows, columns])])
    else:
        places = ember.stack([rows, columns])
    made = coo(places, values, size, coalesced=t._layout is ember.sparse_csr)
    return coalesced(made)


# --- from dense -----------------------------------------------------------------------


def dense_to_coo(x: Tensor, sparse_dim: int) -> SparseTensor:
    """The elements that are not zero; the last dimensions may stay dense."""
    if not 0 <= sparse_dim <= x.dim() or (sparse_dim == 0 and x.dim()):
        raise RuntimeError(
            f"to_sparse: sparse_dim argument must be in >=0, <= {x.dim()}, but got "
            f"{sparse_dim}"
        )
    dense = tuple(x.shape[sparse_dim:])
    sparse = x.shape[:sparse_dim]
    mask = x.detach() != 0
    if dense:
        count = x.shape[sparse_dim:].numel()
        mask = mask.reshape(*sparse, count).any(-1)
    indices = mask.nonzero().t().contiguous()
    if not sparse_dim:
        indices = indices.new_zeros((0, int(mask)))
    flat = x.reshape(sparse.numel(), *dense)
    values = flat.index_select(0, keys_of(indices, sparse))
    return coo(indices, values, x.shape, coalesced=True)


def to_compressed(
    self: Tensor, layout, blocksize=None, dense_dim: int | None = None
) -> SparseTensor:
    """A tensor of any layout as CSR, CSC, BSR or BSC."""
    name = LAYOUT_NAMES[layout]
    if isinstance(blocksize, int):
        blocksize = (blocksize, blocksize)
    if isinstance(self, SparseTensor):
        if self._layout is layout and (layout not in BLOCKS or _same(self, blocksize)):
            return self
        t = coalesced(to_coo(self))
        batch, narrow = t._index[0].shape[0] - 2, self._narrow
    else:
        dense_dim, narrow = dense_dim or 0, False
        batch = self.dim() - 2 - dense_dim
        if batch < 0:
            raise RuntimeError(
                f"to_sparse: conversion to {name} needs at least 2 dimensions besides "
                f"the dense ones, got {self.dim()} and dense_dim {dense_dim}"
            )
        if layout in BLOCKS:
            return _dense_to_blocks(self, layout, blocksize, batch)
        t = dense_to_coo(self, self.dim() - dense_dim)
    if batch < 0:
        raise RuntimeError(
            f"to_sparse: conversion to {name} needs 2 sparse dimensions, got "
            f"{batch + 2}"
        )
    if layout in BLOCKS:
        made = _coo_to_blocks(t, layout, blocksize, batch)
    else:
        made = _compress(t._index[0], t._val, t._size, layout, batch, t._size)
    made._narrow = narrow
    return made


def _same(t: SparseTensor, blocksize) -> bool:
    batch = t._index[0].dim() - 1
    return blocksize is None or tuple(t._val.shape[batch + 1 : batch + 3]) == tuple(
        blocksize
    )


def _compress(indices: Tensor, values: Tensor, size, layout, batch: int, whole):
    """Sorted COO places of (blocks of) a batch of matrices as compressed ones."""
    rows, columns = indices[batch], indices[batch + 1]
    high, wide = size[batch], size[batch + 1]
    each = keys_of(indices[:batch], size[:batch])
    count = size[:batch].numel() if batch else 1
    along, across, lines = rows, columns, high
    if layout not in ROWS:
        order = ember.argsort((each * wide + columns) * high + rows)
        along, across, lines = columns[order], rows[order], wide
        each, values = each[order], values.index_select(0, order)
    counts = ember.bincount(each * lines + along, minlength=count * lines)
    counts = counts.reshape(count, lines)
    sums = counts.cumsum(1)
    nnz = along.numel() // max(count, 1)
    if batch and count and bool((counts.sum(1) != nnz).any()):
        raise RuntimeError(
            "Expect the same number of specified elements per batch; the matrices have "
            f"{counts.sum(1).tolist()}"
        )
    start = ember.cat([sums.new_zeros((count, 1)), sums], 1)
    outer = tuple(size[:batch])
    start = start.reshape(*outer, lines + 1)
    values = values.reshape(*outer, nnz, *values.shape[1:])
    return make(layout, (start, across.reshape(*outer, nnz)), values, whole, True, True)


def _check_blocksize(blocksize) -> None:
    if len(blocksize) != 2:
        raise RuntimeError(
            "to_sparse: blocksize needs to be a tuple of size 2, but got "
            f"{len(blocksize)}"
        )


def _blocks(blocksize, rows: int, columns: int) -> tuple[int, int]:
    if blocksize is None:
        raise RuntimeError("to_sparse: a blocksize of two sizes is needed")
    _check_blocksize(blocksize)
    high, wide = blocksize
    if high <= 0 or wide <= 0 or rows % high or columns % wide:
        raise RuntimeError(
            f"Tensor size({rows}, {columns}) needs to be divisible by blocksize "
            f"({high}, {wide})"
        )
    return high, wide


def _dense_to_blocks(x: Tensor, layout, blocksize, batch: int) -> SparseTensor:
    rows, columns = x.shape[batch], x.shape[batch + 1]
    high, wide = _blocks(blocksize, rows, columns)
    outer, dense = tuple(x.shape[:batch]), tuple(x.shape[batch + 2 :])
    cut = x.reshape(*outer, rows // high, high, columns // wide, wide, *dense)
    cut = cut.transpose(batch + 1, batch + 2)
    t = dense_to_coo(cut, batch + 2)
    return _compress(t._index[0], t._val, t._size, layout, batch, x.shape)


def _coo_to_blocks(t: SparseTensor, layout, blocksize, batch: int) -> SparseTensor:
    (indices,), values = t._index, t._val
    high, wide = _blocks(blocksize, t._size[batch], t._size[batch + 1])
    size = [
        *t._size[:batch],
        t._size[batch] // high,
        t._size[batch + 1] // wide,
    ]
    rows, columns = indices[batch], indices[batch + 1]
    places = ember.cat([indices[:batch], (rows // high)[None], (columns // wide)[None]])
    unique, block = ember.unique(keys_of(places, size), return_inverse=True)
    inside = (block * high + rows % high) * wide + columns % wide
    flat = add_rows((unique.numel() * high * wide, *values.shape[1:]), inside, values)
    flat = flat.reshape(unique.numel(), high, wide, *values.shape[1:])
    return _compress(
        unravel(unique, size), flat, ember.Size(size), layout, batch, t._size
    )


# --- methods of Tensor ----------------------------------------------------------------


def _as_compressed(self: Tensor, layout, blocksize, dense_dim) -> SparseTensor:
    """`to_compressed`, for what PyTorch converts."""
    source = LAYOUT_NAMES.get(self.layout)
    if self.layout is ember.sparse_coo and self.sparse_dim() != 2:
        raise RuntimeError(
            f"conversion from {source} to {LAYOUT_NAMES[layout]} for input tensors "
            "with sparse_dim()!=2 is not supported"
        )
    by_lines = self.layout in (ember.sparse_csr, ember.sparse_csc)
    if by_lines and layout in BLOCKS and self._index[0].dim() > 1:
        raise RuntimeError(
            f"conversion from {source} to {LAYOUT_NAMES[layout]} for batched inputs is "
            "not supported"
        )
    return to_compressed(self, layout, blocksize, dense_dim)


def to_sparse(
    self: Tensor, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None
) -> Tensor:
    """The tensor in a sparse layout, COO unless another is named.

    >>> import ember
    >>> ember.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    if sparse_dim is not None and not isinstance(sparse_dim, int):
        layout, sparse_dim = sparse_dim, None
    if sparse_dim is not None:
        if layout is not None or blocksize is not None or dense_dim is not None:
            raise RuntimeError(
                "to_sparse: sparse_dim cannot be given together with layout, blocksize "
                "or dense_dim"
            )
        if not isinstance(self, SparseTensor):
            return dense_to_coo(self, sparse_dim)
        if self.sparse_dim() != sparse_dim:
            raise RuntimeError(
                f"to_sparse: conversion from {LAYOUT_NAMES[self._layout]} to Sparse "
                "with sparse_dim argument !=self.sparse_dim() is not supported"
            )
        return to_coo(self)
    if isinstance(blocksize, int):
        blocksize = (blocksize, blocksize)
    if blocksize is not None:
        _check_blocksize(blocksize)
    layout = ember.sparse_coo if layout is None else layout
    if layout is ember.strided:
        return to_dense(self)
    if layout not in LAYOUT_NAMES:
        raise TypeError(
            f"to_sparse(): argument 'layout' must be torch.layout, not {layout!r}"
        )
    if layout is not ember.sparse_coo:
        return _as_compressed(self, layout, blocksize, dense_dim)
    if isinstance(self, SparseTensor):
        return to_coo(self)
    return dense_to_coo(self, self.dim() - (dense_dim or 0))


def to_sparse_coo(self: Tensor) -> Tensor:
    """The tensor in coordinate format.

    >>> import ember
    >>> ember.tensor([0.0, 5.0]).to_sparse_coo()
    tensor(indices=tensor([[1]]),
           values=tensor([5.]),
           size=(2,), nnz=1, layout=torch.sparse_coo)
    """
    return to_sparse(self)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The tensor in compressed rows.

    Args:
        dense_dim (int, optional): how many of the last dimensions stay dense.

    >>> import ember
    >>> ember.tensor([[0.0, 5.0], [6.0, 7.0]]).to_sparse_csr().crow_indices()
    tensor([0, 1, 3])
    """
    return _as_compressed(self, ember.sparse_csr, None, dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The tensor in compressed columns.

    Args:
        dense_dim (int, optional): how many of the last dimensions stay dense.

    >>> import ember
    >>> ember.tensor([[0.0, 5.0], [6.0, 7.0]]).to_sparse_csc().ccol_indices()
    tensor([0, 1, 3])
    """
    return _as_compressed(self, ember.sparse_csc, None, dense_dim)


def to_sparse_bsr(self: Tensor, blocksize, dense_dim: int | None = None) -> Tensor:
    """The tensor in compressed rows of blocks.

    Args:
        blocksize (tuple of ints): height and width of a block.
        dense_dim (int, optional): how many of the last dimensions stay dense.

    >>> import ember
    >>> ember.eye(4).to_sparse_bsr((2, 2)).values().shape
    torch.Size([2, 2, 2])
    """
    return _as_compressed(self, ember.sparse_bsr, blocksize, dense_dim)


def to_sparse_bsc(self: Tensor, blocksize, dense_dim: int | None = None) -> Tensor:
    """The tensor in compressed columns of blocks.

    Args:
        blocksize (tuple of ints): height and width of a block.
        dense_dim (int, optional): how many of the last dimensions stay dense.

    >>> import ember
    >>> ember.eye(4).to_sparse_bsc((2, 2)).values().shape
    torch.Size([2, 2, 2])
    """
    return _as_compressed(self, ember.sparse_bsc, blocksize, dense_dim)
