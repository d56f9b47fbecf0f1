"""The sparse tensor: indices and values, which are dense tensors, behind Tensor's face.

The values carry the history (`_history`). A sparse tensor requires a gradient if its
values do, its gradient is theirs at the same indices, and every op on it is made of
differentiable ops on them. What ops there are is a table (`_table`); any other op is an
error that names it, since `__torch_function__` gets to see every call.
"""

import ember
from ember import _C
from ember._C import Tensor
from ember.sparse._history import OWN, HistoryMethods, no_leaf
from ember.sparse._table import HARMLESS, TABLE, name_of

ROWS = (ember.sparse_csr, ember.sparse_bsr)  # compressed along rows
BLOCKS = (ember.sparse_bsr, ember.sparse_bsc)
LAYOUT_NAMES = {
    ember.sparse_coo: "Sparse",
    ember.sparse_csr: "SparseCsr",
    ember.sparse_csc: "SparseCsc",
    ember.sparse_bsr: "SparseBsr",
    ember.sparse_bsc: "SparseBsc",
}


def need_layout(op: str, t: object, *layouts: ember.layout) -> None:
    """Refuse what is no sparse tensor, or none of these layouts if some are given."""
    if isinstance(t, SparseTensor) and (not layouts or t._layout in layouts):
        return
    found = f"tensors of layout {t.layout}" if isinstance(t, Tensor) else type(t)
    raise NotImplementedError(f"{op}(): not implemented for {found}")


class SparseTensor(HistoryMethods, Tensor):
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
    _narrow: bool  # compressed indices were given, and are shown, as int32

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        implementation, cause = TABLE.get(func), None
        if implementation is not None:
            try:
                return implementation(*args, **(kwargs or {}))
            except AttributeError as error:  # an argument is dense, or no tensor at all
                cause = error
        elif func in HARMLESS:
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

    def dim_order(self, ambiguity_check=False) -> tuple[int, ...]:
        """Not for sparse tensors."""
        raise AttributeError(
            f"Can't get dim order on sparse type: {self.layout} Use Tensor.to_dense() "
            "to convert to a dense tensor first."
        )

    def is_contiguous(self, memory_format=None) -> bool:
        """False: there is no dense memory."""
        return False

    def __len__(self) -> int:
        if not self._size:
            raise TypeError("len() of a 0-d tensor")
        return self._size[0]

    def __bool__(self) -> bool:
        if self.numel() != 1:
            many = "more than one value" if self.numel() else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
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
            f"can't convert {LAYOUT_NAMES[self._layout]} layout tensor to numpy. Use "
            "Tensor.to_dense() first."
        )

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __dlpack__(self, **options):
        raise BufferError("Can't export tensors with layout other than torch.strided")

    def new(self, *args, **options) -> "SparseTensor":
        """The old way to make a COO tensor of the same dtype."""
        from ember.sparse._copies import new

        return new(self, *args, **options)

    def __repr__(self) -> str:
        from ember.sparse._text import text

        return text(self)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

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
        if self._val.grad is not None:
            made._val.grad = self._val.grad.detach().clone()
        return made

    def __reduce_ex__(self, protocol: int) -> tuple:
        return rebuild, (*self._parts(), self.requires_grad)

    def _parts(self) -> tuple:
        """What a checkpoint holds, in PyTorch's order."""
        values, size = self._val.detach(), self._size
        if self._layout is ember.sparse_coo:
            return self._layout, (*self._index, values, size, self._coalesced)
        index = (p.int() for p in self._index) if self._narrow else self._index
        return self._layout, (*index, values, size)

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
            self._narrow,
        )

    def _become(self, other: "SparseTensor") -> "SparseTensor":
        """Take over the content of `other`: how an op changes a tensor in place."""
        if self.requires_grad and self.is_leaf and ember.is_grad_enabled():
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
        recorded = ember.is_grad_enabled() and (
            self.requires_grad or other.requires_grad
        )
        if self._size != other._size or self._val.dtype != other._val.dtype:
            _C._resize_sparse(self, tuple(other._size), other._val.dtype)
        elif not recorded and self._holds_like(other):
            # Others may share the values: `detach()`, `.grad`, `values()`.
            if other._val is not self._val:
                with ember.no_grad():
                    self._val.copy_(other._val)
            self._coalesced = other._coalesced
            return self
        values = other._val
        if not recorded and self.requires_grad:  # it stays a leaf
            values = values.detach().requires_grad_()
        content = {k: v for k, v in other.__dict__.items() if k not in OWN}
        self.__dict__.update(content, _val=values)
        if (leaf := self.__dict__.get("_grad_of", no_leaf)()) is not None:
            leaf.grad = self
        return self

    def _holds_like(self, other: "SparseTensor") -> bool:
        """Whether `other` has its values at the very places of this tensor, in memory
        that can be written to."""
        return (
            all(st or n < 2 for st, n in zip(self._val.stride(), self._val.shape))
            and self._layout is other._layout
            and self._val.shape == other._val.shape
            and all(
                a is b or ember.equal(a, b) for a, b in zip(self._index, other._index)
            )
        )


def make(
    layout,
    index: tuple[Tensor, ...],
    values: Tensor,
    size,
    coalesced: bool = True,
    checked: bool = False,
    rows=None,
    narrow: bool = False,
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
        _narrow=narrow,
    )
    return made


def coo(
    indices: Tensor, values: Tensor, size, coalesced=False, checked=True
) -> SparseTensor:
    """A COO tensor; its indices (sparse dimensions, elements) are within bounds."""
    return make(ember.sparse_coo, (indices,), values, size, coalesced, checked)


def rebuild(layout, parts: tuple, requires_grad: bool = False) -> SparseTensor:
    """A tensor from a pickle."""
    from ember.sparse import _create, _places

    if layout is ember.sparse_coo:
        indices, values, size, *rest = parts
        made = _create.sparse_coo_tensor(
            indices, values, size, is_coalesced=rest[0] if rest else None
        )
    else:
        made = _create.sparse_compressed_tensor(*parts, layout=layout)
    _places.check_bounds(made)  # a file may hold anything
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
