"""The sparse tensor: indices and values, which are dense tensors, behind Tensor's face.

The values carry the history. A sparse tensor requires a gradient if its values do, its
gradient is theirs at the same indices, and every op on it is made of differentiable ops
on them. What ops there are is a table (`_table`); any other op is an error that names
it, since `__torch_function__` gets to see every call.
"""

from typing import Any

import ember
from ember import _C
from ember._C import Tensor

ROWS = (ember.sparse_csr, ember.sparse_bsr)  # compressed along rows
BLOCKS = (ember.sparse_bsr, ember.sparse_bsc)
_NAMES = {
    ember.sparse_coo: "Sparse",
    ember.sparse_csr: "SparseCsr",
    ember.sparse_csc: "SparseCsc",
    ember.sparse_bsr: "SparseBsr",
    ember.sparse_bsc: "SparseBsc",
}

# op -> function(*args, **kwargs); filled by the other modules of this package
_table: dict[Any, Any] = {}
# attributes and ops that do not look at elements
_harmless: set[Any] = set()


def handles(names: str):
    """Decorate the implementation of ops, given by their names."""

    def decorate(function):
        for name in names.split():
            for holder in (_C._ops.get(name), getattr(Tensor, name, None)):
                if holder is not None:
                    _table[holder] = function
        return function

    return decorate


def name_of(func) -> str:
    """A function as messages call it."""
    name = getattr(func, "__name__", str(func))
    if name == "__get__":
        return func.__self__.__name__
    text = repr(func)  # ops of submodules have their full name there
    return text[4:-1] if text.startswith("<op ") else name


class SparseTensor(Tensor):
    """A tensor in one of the sparse layouts; `sparse_coo_tensor` and others make it.

    `_index` holds (indices,), or (compressed indices, plain indices).
    """

    _layout: "ember.layout"
    _index: tuple[Tensor, ...]
    _size: "ember.Size"
    _val: Tensor
    _coalesced: bool  # sorted and without repetition
    _checked: bool  # the indices are known to be within bounds
    _rows: tuple | None  # kept by _matmul

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        implementation, cause = _table.get(func), None
        if implementation is not None:
            try:
                return implementation(*args, **(kwargs or {}))
            except AttributeError as error:  # an argument is dense, or no tensor at all
                cause = error
        elif func in _harmless:
            with _C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        layouts = {str(t.layout) for t in _sparse_in((args, kwargs or {}))}
        where = " in these places" if implementation is not None else ""
        raise NotImplementedError(
            f"{name_of(func)}(): not implemented for tensors of layout "
            f"{' and '.join(sorted(layouts))}{where}; to_dense() gives a dense tensor"
        ) from cause

    # --- what it is -------------------------------------------------------------------

    layout = property(lambda self: self._layout, doc="ember.sparse_coo, sparse_csr ...")
    is_sparse = property(lambda self: self._layout is ember.sparse_coo)
    is_sparse_csr = property(lambda self: self._layout is ember.sparse_csr)
    shape = property(lambda self: self._size)
    ndim = property(lambda self: len(self._size))
    dtype = property(lambda self: self._val.dtype)
    device = property(lambda self: self._val.device)
    is_cpu = property(lambda self: self._val.is_cpu)
    is_meta = property(lambda self: self._val.is_meta)
    _version = property(lambda self: self._val._version)
    _base = property(lambda self: None)

    @property
    def nbytes(self) -> int:
        """Not defined; the parts have theirs."""
        raise RuntimeError(
            "nbytes is not defined for sparse tensors.  If you want the size of the "
            "constituent tensors, add the nbytes of the indices and values.  If you "
            "want the size of the  equivalent dense tensor, multiply numel() by "
            "element_size()"
        )

    def size(self, dim: int | None = None):
        """The size of every dimension, or of one."""
        return self._size if dim is None else self._size[wrap("size", dim, self)]

    def stride(self, dim: int | None = None):
        """Zeros: there is no dense memory."""
        return (0,) * self.ndim if dim is None else 0

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self._size)

    ndimension = dim

    def numel(self) -> int:
        """Number of elements of the dense tensor."""
        return self._size.numel()

    nelement = numel

    def element_size(self) -> int:
        """Bytes per element."""
        return self._val.element_size()

    def is_contiguous(self, memory_format=None) -> bool:
        """False: there is no dense memory."""
        return False

    def __len__(self) -> int:
        if not self._size:
            raise TypeError("len() of a 0-d tensor")
        return self._size[0]

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise RuntimeError(
                "Boolean value of Tensor with more than one value is ambiguous"
            )
        return bool(self.to_dense())

    def item(self):
        """The value of a tensor with one element."""
        if self.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
            )
        return self.to_dense().item()

    def type(self, dtype=None, non_blocking: bool = False):
        """The tensor in another dtype, or the name of its type."""
        if dtype is None:
            return self._val.type().replace("torch.", "torch.sparse.", 1)
        return self.to(dtype)

    def tolist(self):
        """Not for sparse tensors."""
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage; use "
            "to_dense().tolist()"
        )

    def get_device(self) -> int:
        """Index of the device of the values; -1 for the CPU."""
        return self._val.get_device()

    def is_shared(self) -> bool:
        """Whether the memory of the values is shared with other processes."""
        return self._val.is_shared()

    def share_memory_(self) -> "SparseTensor":
        """Move the parts to memory shared between processes."""
        for part in (*self._index, self._val):
            part.share_memory_()
        return self

    def data_ptr(self) -> int:
        """Not for sparse tensors."""
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage"
        )

    def storage(self):
        """Not for sparse tensors."""
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")

    untyped_storage = storage
    storage_offset = storage

    def numpy(self, *, force: bool = False):
        """Not for sparse tensors."""
        raise TypeError(
            f"can't convert {_NAMES[self._layout]} layout tensor to numpy. Use "
            "Tensor.to_dense() first."
        )

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __dlpack__(self, **options):
        raise BufferError("Can't export tensors with layout other than torch.strided")

    def __repr__(self) -> str:
        from ember.sparse._text import text

        return text(self)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    # --- gradients --------------------------------------------------------------------

    def _with(self, values: Tensor, coalesced: bool | None = None) -> "SparseTensor":
        """The same places with other values (which may have another dtype)."""
        return make(
            self._layout,
            self._index,
            values,
            self._size,
            self._coalesced if coalesced is None else coalesced,
            self._checked,
            self._rows,
        )

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed."""
        return self._val.requires_grad

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self.requires_grad_(on)

    def requires_grad_(self, requires_grad: bool = True) -> "SparseTensor":
        """Set requires_grad and return the tensor."""
        if requires_grad and not self._val.requires_grad:
            self._val = self._val.detach().requires_grad_()
        elif not requires_grad:
            self._val.requires_grad_(False)
        return self

    grad_fn = property(lambda self: self._val.grad_fn)
    is_leaf = property(lambda self: self._val.is_leaf)
    retains_grad = property(lambda self: self._val.retains_grad)
    output_nr = property(lambda self: self._val.output_nr)

    @property
    def grad(self) -> "SparseTensor | None":
        """The gradient at the places of the tensor, or None."""
        values = self._val.grad
        if values is None:
            return None
        kept = self.__dict__.get("_grad")
        if kept is None or kept._val is not values:
            self._grad = kept = self._with(values)
        return kept

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._val.grad = None
            return
        if value.shape != self.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a "
                f"tensor of size '{list(self.shape)}'. Please ensure that the gradient "
                "and the tensor are the same size"
            )
        self._val.grad = value.sparse_mask(self)._val.detach()

    @property
    def data(self) -> "SparseTensor":
        """The same elements without history."""
        return self._with(self._val.data)

    def detach(self) -> "SparseTensor":
        """The same elements without history."""
        return self._with(self._val.detach())

    def detach_(self) -> "SparseTensor":
        """Drop the history."""
        self._val = self._val.detach()
        return self

    def retain_grad(self) -> None:
        """Let a tensor that is not a leaf have its .grad set by backward()."""
        self._val.retain_grad()

    def register_hook(self, hook):
        """Call `hook` with the gradient; what it returns replaces the gradient."""

        def on_values(g: Tensor):
            made = hook(self._with(g))
            return None if made is None else made.sparse_mask(self)._val

        return self._val.register_hook(on_values)

    def backward(
        self, gradient=None, retain_graph=None, create_graph=False, inputs=None
    ) -> None:
        """Add the gradient of the tensor to the leaves of its graph."""
        ember.autograd.backward(
            self, gradient, retain_graph, create_graph, inputs=inputs
        )

    # --- copies -----------------------------------------------------------------------

    def __deepcopy__(self, memo: dict) -> "SparseTensor":
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support "
                "the deepcopy protocol at the moment."
            )
        made = self.detach().clone().requires_grad_(self.requires_grad)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: int) -> tuple:
        return rebuild, (*self._parts(), self.requires_grad)

    def _parts(self) -> tuple:
        """What a checkpoint holds, in PyTorch's order."""
        values, size = self._val.detach(), self._size
        if self._layout is ember.sparse_coo:
            return self._layout, (*self._index, values, size, self._coalesced)
        return self._layout, (*self._index, values, size)

    def _become(self, other: "SparseTensor") -> "SparseTensor":
        """Take over the content of `other`: how an op changes a tensor in place."""
        if self.requires_grad and self.is_leaf and ember.is_grad_enabled():
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
        if self._size != other._size or self._val.dtype != other._val.dtype:
            _C._resize_sparse(self, tuple(other._size), other._val.dtype)
        self.__dict__.update(other.__dict__)
        return self


def make(
    layout,
    index: tuple[Tensor, ...],
    values: Tensor,
    size,
    coalesced: bool = True,
    checked: bool = False,
    rows=None,
) -> SparseTensor:
    """A sparse tensor around parts that belong together."""
    if values.requires_grad and values.is_leaf:  # whose leaf it is stays its own affair
        values = values.view_as(values)
    made = _C._new_sparse(SparseTensor, size, values.dtype)
    made.__dict__.update(
        _layout=layout,
        _index=index,
        _val=values,
        _size=size if type(size) is _C.Size else _C.Size(size),
        _coalesced=coalesced,
        _checked=checked,
        _rows=rows,
    )
    return made


def coo(
    indices: Tensor, values: Tensor, size, coalesced=False, checked=True
) -> SparseTensor:
    """A COO tensor; its indices (sparse dimensions, elements) are within bounds."""
    return make(ember.sparse_coo, (indices,), values, size, coalesced, checked)


def rebuild(layout, parts: tuple, requires_grad: bool = False) -> SparseTensor:
    """A tensor from a pickle."""
    from ember.sparse import _create

    if layout is ember.sparse_coo:
        indices, values, size, *rest = parts
        made = _create.sparse_coo_tensor(
            indices, values, size, is_coalesced=rest[0] if rest else None
        )
    else:
        made = _create.sparse_compressed_tensor(*parts, layout=layout)
    check_bounds(made)  # a file may hold anything
    return made.requires_grad_() if requires_grad else made


def wrap(op: str, dim: int, t) -> int:
    """A dimension as a number from 0."""
    n = t.dim() if isinstance(t, Tensor) else t
    if not -n <= dim < n:
        raise IndexError(
            f"{op}(): Dimension out of range (expected to be in range of [{-n}, "
            f"{n - 1}], but got {dim})"
        )
    return dim % n


def _sparse_in(value) -> list[SparseTensor]:
    if isinstance(value, SparseTensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [t for v in value for t in _sparse_in(v)]


# --- places ---------------------------------------------------------------------------


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


for _name in (
    "is_cuda is_mkldnn is_quantized is_nested is_mps is_xpu is_ipu is_xla is_maia "
    "is_mtia is_vulkan itemsize names"
).split():
    _harmless.add(getattr(Tensor, _name).__get__)
for _name in (
    "is_complex is_floating_point is_signed is_inference has_names is_conj is_neg "
    "is_pinned"
).split():
    for _holder in (_C._ops.get(_name), getattr(Tensor, _name, None)):
        if _holder is not None:
            _harmless.add(_holder)
