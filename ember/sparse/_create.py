"""Making sparse tensors, and the checks of what they are made of."""

from typing import Any

import ember
from ember import Tensor
from ember._types import DeviceLike, Dtype, Sizes
from ember.sparse._places import check_bounds, check_indices, keys_of
from ember.sparse._tensor import BLOCKS, LAYOUT_NAMES, ROWS, SparseTensor, make

_invariants = False  # check_sparse_tensor_invariants


def _tensor(data, dtype=None, device=None) -> Tensor:
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device, dtype)
    return ember.tensor(data, dtype=dtype, device=device)


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sizes | None = None,
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A tensor given by the places of its elements and their values.

    `indices` is (sparse dimensions, elements); `values` may have further, dense
    dimensions. Values at the same place add up.

    >>> import ember
    >>> ember.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None and indices is not None and size is None:
        size, indices = indices, None  # sparse_coo_tensor(size)
    if indices is None:
        if size is None:
            raise TypeError("sparse_coo_tensor() needs indices and values, or a size")
        size = _size(size)
        places = ember.empty((len(size), 0), dtype=ember.int64, device=device)
        empty = ember.empty(0, dtype=dtype, device=device)
        made = make(ember.sparse_coo, (places,), empty, size, len(size) < 2, True)
        return made.requires_grad_() if requires_grad else made
    if isinstance(indices, SparseTensor) or isinstance(values, SparseTensor):
        raise RuntimeError("expected indices and values to be strided tensors")
    values = _tensor(values, dtype, device)
    indices = _tensor(indices, None, values.device)
    if indices.numel() == 0 and not indices.is_floating_point():
        indices = indices.to(ember.int64)
    elif indices.is_complex() or indices.dtype == ember.bool:
        raise RuntimeError("indices must be an int64 tensor")
    indices = indices.detach().to(ember.int64)
    if indices.dim() != 2:
        raise RuntimeError(
            f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}"
        )
    if values.dim() == 0:
        values = values.expand(indices.shape[1])
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{indices.shape[1]}, nnz from values: {values.shape[0]}"
        )
    checked = False
    if size is None:
        size, checked = _size_from(indices, values), True
    else:
        size = _size(size)
        sparse, dense = indices.shape[0], values.dim() - 1
        if len(size) != sparse + dense:
            raise RuntimeError(
                "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
                f"{len(size)}, sparse_dim = {sparse}, dense_dim = {dense}"
            )
        if tuple(size[sparse:]) != tuple(values.shape[1:]):
            raise RuntimeError(
                "values has incorrect size, expected "
                f"{[values.shape[0], *size[sparse:]]}, got {list(values.shape)}"
            )
        if _invariants if check_invariants is None else check_invariants:
            check_indices(indices, size)
            checked = True
    flag = bool(is_coalesced) or (is_coalesced is None and indices.shape[1] < 2)
    kept = values.detach() if requires_grad else values
    if not kept.requires_grad:  # what becomes of `values` itself is its own affair
        kept = kept.detach()
    made = make(ember.sparse_coo, (indices,), kept, size, flag, checked)
    if is_coalesced:
        _check_coalesced(made)
    return made.requires_grad_() if requires_grad else made


def _check_coalesced(t: SparseTensor) -> None:
    """What claims to be sorted must be: ops rely on it."""
    if t.is_meta:
        return
    check_bounds(t)
    keys = keys_of(t._index[0], t._size)
    if not bool((keys[1:] > keys[:-1]).all()):
        raise RuntimeError(
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO "
            "tensor"
        )


def _size(size) -> "ember.Size":
    return ember.Size([size] if isinstance(size, int) else size)


def _size_from(indices: Tensor, values: Tensor) -> "ember.Size":
    if indices.numel():
        low = indices.amin(1).tolist()
        for d, least in enumerate(low):
            if least < 0:
                raise RuntimeError(f"found negative index {least} for dim {d}")
        return ember.Size(
            [*(n + 1 for n in indices.amax(1).tolist()), *values.shape[1:]]
        )
    return ember.Size([*[0] * indices.shape[0], *values.shape[1:]])


# --- empty tensors of a layout --------------------------------------------------------


def of_layout(
    op: str,
    *args: Any,
    layout: Any,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    **options: Any,
) -> Tensor:
    """What empty() and zeros(), also of a tensor, make of a sparse layout."""
    name = op.removeprefix("new_").removesuffix("_like")
    if name not in ("empty", "zeros"):
        raise NotImplementedError(
            f"{op}(): layout: only dense tensors are made here; to_sparse() and "
            "sparse_coo_tensor() give sparse ones"
        )
    if name != op:
        model, *args = args
        dtype, device = dtype or model.dtype, device or model.device
        args = (model.shape,) if op.endswith("_like") else args
    size = options.pop("size", args[0] if len(args) == 1 else args)
    size, grad = _size(size), options.get("requires_grad", False)
    if layout is ember.sparse_coo:
        return sparse_coo_tensor(
            size=size, dtype=dtype, device=device, requires_grad=grad
        )
    if layout in BLOCKS or len(size) < 2:
        raise RuntimeError(
            f"{op}(): a tensor of layout {LAYOUT_NAMES[layout]} needs at least two "
            "dimensions and, for blocks, their size; sparse_compressed_tensor() takes "
            "them"
        )
    *batch, rows, columns = size
    lines = rows if layout in ROWS else columns
    return sparse_compressed_tensor(
        ember.zeros((*batch, lines + 1), dtype=ember.int64, device=device),
        ember.empty((*batch, 0), dtype=ember.int64, device=device),
        ember.empty((*batch, 0), dtype=dtype, device=device),
        size,
        layout=layout,
        requires_grad=grad,
    )


# --- compressed layouts ---------------------------------------------------------------


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sizes | None = None,
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:
    """A tensor in a layout that is compressed along rows or columns.

    >>> import ember
    >>> s = ember.sparse_compressed_tensor(
    ...     [0, 1, 2], [1, 0], [3.0, 4.0], (2, 2), layout=ember.sparse_csc
    ... )
    >>> s.to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    if layout not in LAYOUT_NAMES or layout is ember.sparse_coo:
        raise RuntimeError(
            "compressed sparse tensor layout must be one of SparseCsr, SparseCsc, "
            f"SparseBsr, or SparseBsc but got {layout}"
        )
    values = _tensor(values, dtype, device)
    parts = [
        _tensor(p, None, values.device) for p in (compressed_indices, plain_indices)
    ]
    for p, kind in zip(parts, ("compressed_indices", "plain_indices")):
        if p.numel() == 0 and p.is_floating_point():
            continue
        if p.dtype not in (ember.int32, ember.int64):
            raise RuntimeError(
                f"{kind} dtype must be Int or Long, but got {kind} dtype {p.dtype}"
            )
    start, other = (p.detach().to(ember.int64) for p in parts)
    blocks = layout in BLOCKS
    if start.dim() < 1 or start.dim() != other.dim():
        raise RuntimeError(
            f"dimensionality of {_index_names(layout)[0]} must be at least 1 and that "
            f"of {_index_names(layout)[1]}, got {start.dim()} and {other.dim()}"
        )
    batch = start.dim() - 1
    if values.dim() < batch + 1 + 2 * blocks:
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block "
            f"dimensionalities (={batch} + {2 * blocks}), but got {values.dim()}"
        )
    if size is None:
        size = _compressed_size(layout, start, other, values)
    size = _size(size)
    kept = values.detach() if requires_grad else values
    check_compressed_shapes(layout, start, other, kept, size)
    checked = _invariants if check_invariants is None else check_invariants
    if checked:
        check_compressed(layout, start, other, kept, size)
    narrow = all(p.dtype is ember.int32 for p in parts)
    made = make(layout, (start, other), kept, size, True, checked, narrow=narrow)
    return made.requires_grad_() if requires_grad else made


def _index_names(layout) -> tuple[str, str]:
    if layout in ROWS:
        return "crow_indices", "col_indices"
    return "ccol_indices", "row_indices"


def _compressed_size(layout, start: Tensor, other: Tensor, values: Tensor):
    batch = start.dim() - 1
    along = start.shape[-1] - 1
    across = int(other.max()) + 1 if other.numel() else 0
    high, wide = values.shape[batch + 1 : batch + 3] if layout in BLOCKS else (1, 1)
    rows, columns = (along, across) if layout in ROWS else (across, along)
    dense = values.shape[batch + 1 + 2 * (layout in BLOCKS) :]
    return [*values.shape[:batch], rows * high, columns * wide, *dense]


def check_compressed_shapes(
    layout: Any, start: Tensor, other: Tensor, values: Tensor, size: Sizes
) -> None:
    """Whether the parts of a compressed tensor belong together."""
    batch, blocks = start.dim() - 1, layout in BLOCKS
    base = batch + 2
    first, second = _index_names(layout)
    if len(size) < base:
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense "
            f"dimensionalities (={batch} + 2 + ...), but got {len(size)}"
        )
    dense = values.shape[batch + 1 + 2 * blocks :]
    if tuple(size[base:]) != tuple(dense) or any(
        tuple(t.shape[:batch]) != tuple(size[:batch]) for t in (start, other, values)
    ):
        raise RuntimeError(
            f"size {list(size)} does not fit {first} of shape {list(start.shape)}, "
            f"{second} of shape {list(other.shape)} and values of shape "
            f"{list(values.shape)}"
        )
    high, wide = values.shape[batch + 1 : batch + 3] if blocks else (1, 1)
    rows, columns = size[batch], size[batch + 1]
    if blocks and (not high or not wide or rows % high or columns % wide):
        raise RuntimeError(
            f"tensor shape[{batch}] (={rows}) and shape[{batch + 1}] (={columns}) must "
            f"be divisible with blocksize (={high}, {wide}) as defined by values shape"
        )
    along = rows // high if layout in ROWS else columns // wide
    if start.shape[-1] != along + 1:
        raise RuntimeError(
            f"{first}.shape[-1] must be equal to the number of "
            f"{'rows' if layout in ROWS else 'columns'} + 1 (={along + 1}), but got "
            f"{start.shape[-1]}"
        )
    if other.shape[-1] != values.shape[batch]:
        raise RuntimeError(
            f"{second}.shape[-1] must be equal to nnz (={values.shape[batch]}) as "
            f"defined by values.shape[{batch}], but got {other.shape[-1]}"
        )


def check_compressed(
    layout: Any, start: Tensor, other: Tensor, values: Tensor, size: Sizes
) -> None:
    """The invariants of compressed indices, with PyTorch's errors."""
    if other.is_meta or not start.numel():
        return
    first, second = _index_names(layout)
    batch = start.dim() - 1
    high, wide = values.shape[batch + 1 : batch + 3] if layout in BLOCKS else (1, 1)
    rows, columns = size[batch] // high, size[batch + 1] // wide
    across = columns if layout in ROWS else rows
    nnz = other.shape[-1]
    if bool((start[..., 0] != 0).any()):
        raise RuntimeError(f"`{first}[..., 0] == 0` is not satisfied.")
    if bool((start[..., -1] != nnz).any()):
        raise RuntimeError(f"`{first}[..., -1] == nnz` is not satisfied.")
    steps = start[..., 1:] - start[..., :-1]
    if bool(((steps < 0) | (steps > across)).any()):
        raise RuntimeError(
            f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= "
            f"{'ncols' if layout in ROWS else 'nrows'}` is not satisfied."
        )
    if nnz and bool(((other < 0) | (other >= across)).any()):
        raise RuntimeError(
            f"`0 <= {second} < {'ncols' if layout in ROWS else 'nrows'}` is not "
            "satisfied."
        )
    _check_sorted(second, steps, other, across)


def _check_sorted(name: str, steps: Tensor, other: Tensor, across: int) -> None:
    """Within a row (or column) the plain indices grow."""
    if other.shape[-1] < 2:
        return
    lines = ember.arange(steps.numel(), device=other.device)
    line = lines.repeat_interleave(steps.reshape(-1)).reshape(other.shape)
    keys = line * across + other
    if bool((keys[..., 1:] <= keys[..., :-1]).any()):
        raise RuntimeError(
            f"`{name}[..., compressed_indices[..., i - 1]:compressed_indices[..., i]] "
            "for all i = 1, ..., compressed_dim are sorted and distinct along the last "
            "dimension values` is not satisfied."
        )


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sizes | None = None,
    *,
    layout: Any = None,
    **options: Any,
) -> SparseTensor:
    """A matrix in compressed rows: row r has elements crow[r] .. crow[r + 1] - 1.

    >>> import ember
    >>> ember.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    layout = layout or ember.sparse_csr
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, layout=layout, **options
    )


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sizes | None = None,
    *,
    layout: Any = None,
    **options: Any,
) -> SparseTensor:
    """A matrix in compressed columns."""
    layout = layout or ember.sparse_csc
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, layout=layout, **options
    )


def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sizes | None = None,
    *,
    layout: Any = None,
    **options: Any,
) -> SparseTensor:
    """A matrix of dense blocks, in compressed rows of blocks."""
    layout = layout or ember.sparse_bsr
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, layout=layout, **options
    )


def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sizes | None = None,
    *,
    layout: Any = None,
    **options: Any,
) -> SparseTensor:
    """A matrix of dense blocks, in compressed columns of blocks."""
    layout = layout or ember.sparse_bsc
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, layout=layout, **options
    )


class check_sparse_tensor_invariants:
    """Whether making a sparse tensor checks its indices at once; also a context.

    Indices are always checked before they are used; with this, an error arises where
    the tensor is made.

    >>> import ember
    >>> with ember.sparse.check_sparse_tensor_invariants():
    ...     s = ember.sparse_coo_tensor([[0]], [1.0], (1,))
    >>> ember.sparse.check_sparse_tensor_invariants.is_enabled()
    False
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._before: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether the checks are on."""
        return _invariants

    @staticmethod
    def enable() -> None:
        """Turn the checks on."""
        global _invariants
        _invariants = True

    @staticmethod
    def disable() -> None:
        """Turn the checks off."""
        global _invariants
        _invariants = False

    def __enter__(self) -> None:
        global _invariants
        if self._before is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different "
                "context manager instance for context nesting."
            )
        self._before, _invariants = _invariants, self.state

    def __exit__(self, *error: Any) -> None:
        global _invariants
        _invariants, self._before = bool(self._before), None

    def __call__(self, function: Any) -> Any:
        import functools

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return wrapped
