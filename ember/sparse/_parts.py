"""What a sparse tensor consists of: its indices, values and numbers of dimensions.

These are methods of Tensor, and `*_copy` functions of the top level; those that put the
parts together anew (`coalesce`, `sparse_resize_`) are here too.
"""

import ember
from ember import Tensor
from ember.sparse._places import coalesced
from ember.sparse._tensor import (
    BLOCKS,
    LAYOUT_NAMES,
    ROWS,
    SparseTensor,
    coo,
    need_layout,
)


def _is(t: Tensor, *layouts) -> bool:
    return isinstance(t, SparseTensor) and t._layout in layouts


def _layout_name(t: Tensor) -> str:
    return LAYOUT_NAMES[t._layout] if isinstance(t, SparseTensor) else "Strided"


def _check_coo(t: Tensor, op: str) -> None:
    if not _is(t, ember.sparse_coo):
        raise RuntimeError(
            f"{op} expected sparse coordinate tensor layout but got {_layout_name(t)}"
        )


def sparse_dim(self: Tensor) -> int:
    """The number of sparse dimensions: 0 of a dense tensor.

    >>> import ember
    >>> ember.eye(2).to_sparse().sparse_dim()
    2
    """
    if not isinstance(self, SparseTensor):
        return 0
    return self._index[0].shape[0] if self.is_sparse else 2


def dense_dim(self: Tensor) -> int:
    """The number of dense dimensions: all of a dense tensor.

    >>> import ember
    >>> ember.zeros(2, 3).to_sparse(1).dense_dim()
    1
    """
    if not isinstance(self, SparseTensor):
        return self.dim()
    if self.is_sparse:
        return self._val.dim() - 1
    batch = self._index[0].dim() - 1
    return self._val.dim() - 1 - batch - 2 * (self._layout in BLOCKS)


def _nnz(self: Tensor) -> int:
    """Number of elements that are kept."""
    need_layout("_nnz", self)
    return self._index[-1].shape[-1]


def is_coalesced(self: Tensor) -> bool:
    """Whether the elements are known to be sorted and without repetition.

    >>> import ember
    >>> s = ember.sparse_coo_tensor([[1, 1]], [1.0, 2.0])
    >>> s.is_coalesced(), s.coalesce().is_coalesced()
    (False, True)
    """
    _check_coo(self, "is_coalesced")
    return self._coalesced


def coalesce(self: Tensor) -> Tensor:
    """The tensor with sorted elements, those at one place added up.

    >>> import ember
    >>> s = ember.sparse_coo_tensor([[1, 1, 0]], [1.0, 2.0, 3.0])
    >>> s.coalesce().values()
    tensor([3., 3.])
    """
    _check_coo(self, "coalesce")
    return coalesced(self)


def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Say that a tensor is coalesced."""
    from ember.sparse._create import _check_coalesced

    _check_coo(self, "_coalesced_")
    if coalesced:
        _check_coalesced(self)
    self._coalesced = bool(coalesced)
    return self


def _whole(self: Tensor, what: str) -> None:
    _check_coo(self, what)
    if not self._coalesced:
        raise RuntimeError(
            f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
        )


def indices(self: Tensor) -> Tensor:
    """The places of a coalesced COO tensor: (sparse dimensions, elements).

    >>> import ember
    >>> ember.tensor([0.0, 5.0]).to_sparse().indices()
    tensor([[1]])
    """
    _whole(self, "indices")
    return self._index[0]


def values(self: Tensor) -> Tensor:
    """The values of the elements that are kept.

    >>> import ember
    >>> ember.tensor([0.0, 5.0]).to_sparse().values()
    tensor([5.])
    """
    if not isinstance(self, SparseTensor):
        raise RuntimeError(
            "values expected sparse tensor layout but got " + _layout_name(self)
        )
    if self.is_sparse:
        _whole(self, "values")
    kept = self._val
    return kept.view_as(kept) if kept.requires_grad else kept


def _indices(self: Tensor) -> Tensor:
    """The places of a COO tensor, coalesced or not."""
    need_layout("_indices", self, ember.sparse_coo)
    return self._index[0]


def _values(self: Tensor) -> Tensor:
    """The values of a sparse tensor, without history."""
    need_layout("_values", self)
    return self._val.detach()


def _part(name: str, layouts: tuple, which: int, along: str):
    def get(self: Tensor) -> Tensor:
        if not _is(self, *layouts):
            raise RuntimeError(
                f"{name} expected sparse {along} compressed tensor layout but got "
                f"{_layout_name(self)}"
            )
        part = self._index[which]
        return part.int() if self._narrow else part

    get.__name__ = name
    get.__doc__ = f"""The `{name}` of a layout that is compressed along {along}s.

    >>> import ember
    >>> x = ember.tensor([[0.0, 5.0], [6.0, 7.0]])
    >>> x.to_sparse_{"csr" if along == "row" else "csc"}().{name}()
    {"tensor([0, 1, 3])" if which == 0 else "tensor([1, 0, 1])"}
    """
    return get


_BY_COLUMN = (ember.sparse_csc, ember.sparse_bsc)
crow_indices = _part("crow_indices", ROWS, 0, "row")
col_indices = _part("col_indices", ROWS, 1, "row")
ccol_indices = _part("ccol_indices", _BY_COLUMN, 0, "column")
row_indices = _part("row_indices", _BY_COLUMN, 1, "column")


def sparse_resize_and_clear_(self, size, sparse_dim: int, dense_dim: int):
    """Give a COO tensor another size and no elements.

    Args:
        size (tuple of ints): the size.
        sparse_dim (int): how many of the dimensions are sparse.
        dense_dim (int): how many are dense.

    >>> import ember
    >>> ember.eye(2).to_sparse().sparse_resize_and_clear_((3, 3), 2, 0).shape
    torch.Size([3, 3])
    """
    need_layout("sparse_resize_and_clear_", self, ember.sparse_coo)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    places = self._index[0].new_zeros((sparse_dim, 0))
    values = self._val.detach().new_zeros((0, *size[sparse_dim:]))
    return self._become(coo(places, values, size, coalesced=True))


def sparse_resize_(self, size, sparse_dim: int, dense_dim: int):
    """Give a COO tensor another size; its elements must fit.

    Args:
        size (tuple of ints): the size.
        sparse_dim (int): how many of the dimensions are sparse.
        dense_dim (int): how many are dense.

    >>> import ember
    >>> ember.eye(2).to_sparse().sparse_resize_((3, 2), 2, 0).to_dense()
    tensor([[1., 0.],
            [0., 1.],
            [0., 0.]])
    """
    need_layout("sparse_resize_", self, ember.sparse_coo)
    if self._nnz() == 0:
        return sparse_resize_and_clear_(self, size, sparse_dim, dense_dim)
    if sparse_dim != self.sparse_dim() or dense_dim != self.dense_dim():
        kind = "sparse" if sparse_dim != self.sparse_dim() else "dense"
        raise RuntimeError(
            f"sparse_resize_: changing the number of {kind} dimensions on a non-empty "
            "sparse tensor is not supported"
        )
    for d, (new, old) in enumerate(zip(size, self._size)):
        if new < old:
            kind = "sparse" if d < sparse_dim else "dense"
            raise RuntimeError(
                f"sparse_resize_: shrinking the size of {kind} dimensions on a "
                "non-empty sparse tensor is not supported"
            )
    values = _grown(self._val, (self._nnz(), *size[sparse_dim:]))
    return self._become(coo(self._index[0], values, size, False, self._checked))


def _grown(values: Tensor, shape) -> Tensor:
    """Values in a larger shape as resize_() gives it: the same numbers in a row."""
    if tuple(shape) == tuple(values.shape):
        return values
    row = values.new_zeros(ember.Size(shape).numel())
    row[: values.numel()] = values.reshape(-1)
    return row.reshape(shape)


def _copied(part):
    def copy(input: Tensor) -> Tensor:
        return part(input).clone()

    copy.__name__ = part.__name__ + "_copy"
    copy.__doc__ = f"A copy of `{part.__name__}` of a sparse tensor."
    return copy


ccol_indices_copy, col_indices_copy = _copied(ccol_indices), _copied(col_indices)
crow_indices_copy, row_indices_copy = _copied(crow_indices), _copied(row_indices)
indices_copy, values_copy = _copied(indices), _copied(values)
