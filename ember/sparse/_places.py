"""Where the elements of a sparse tensor are: within bounds, in order, as one number."""

import ember
from ember._C import Tensor
from ember.sparse._tensor import SparseTensor, coo


def check_bounds(t: SparseTensor) -> None:
    """Raise unless every index lies within the tensor. Done once for each tensor."""
    if t._checked or t.is_meta:
        return
    if t._layout is ember.sparse_coo:
        (indices,) = t._index
        check_indices(indices, t._size)
    else:
        from ember.sparse._create import check_compressed

        check_compressed(t._layout, *t._index, t._val, t._size)
    t._checked = True


def check_indices(indices: Tensor, size) -> None:
    """The invariant of COO: 0 <= indices[d] < size[d]."""
    if not indices.numel():
        return
    low, high = indices.amin(1).tolist(), indices.amax(1).tolist()
    for d, (least, most) in enumerate(zip(low, high)):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {d}")
        if most >= size[d]:
            raise RuntimeError(
                "size is inconsistent with indices: for dim "
                f"{d}, size is {size[d]} but found index {most}"
            )


def keys_of(indices: Tensor, size) -> Tensor:
    """The place of each element as one number, in row-major order."""
    rows = indices.unbind(0)
    if not rows:
        return indices.new_zeros(indices.shape[1])
    keys = rows[0]
    for row, n in zip(rows[1:], size[1:]):
        keys = keys * n + row
    return keys


def unravel(keys: Tensor, size) -> Tensor:
    """The indices that belong to keys."""
    rows = []
    for n in reversed(tuple(size)):
        rows.append(keys % n if n else keys)
        keys = keys // n if n else keys
    if not rows:
        return keys.new_zeros((0, keys.numel()))
    return ember.stack(rows[::-1])


def add_rows(shape, at: Tensor, values: Tensor) -> Tensor:
    """zeros(shape) with values[k] added to row at[k]."""
    if values.dtype == ember.bool:
        counts = values.new_zeros(shape, dtype=ember.int64)
        return counts.index_add(0, at, values.to(ember.int64)) > 0
    return values.new_zeros(shape).index_add(0, at, values)


def coalesced(t: SparseTensor) -> SparseTensor:
    """A COO tensor with its elements sorted, those at one place added up."""
    if t._coalesced:
        return t
    check_bounds(t)
    (indices,), values, size = t._index, t._val, t._size
    sparse = size[: indices.shape[0]]
    keys = keys_of(indices, sparse)
    if bool((keys[1:] > keys[:-1]).all()):
        return t._with(values, coalesced=True)
    unique, inverse = ember.unique(keys, return_inverse=True)
    values = add_rows((unique.numel(), *values.shape[1:]), inverse, values)
    return coo(unravel(unique, sparse), values, size, coalesced=True)
