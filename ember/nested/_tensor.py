"""The nested tensor: values and offsets, which are dense, behind Tensor's face.

The values carry the history. What ops do with nested tensors is in `_ops`; any other op
is an error that names it, since `__torch_function__` gets to see every call.
"""

import itertools
from collections.abc import Callable

import ember
from ember._C import Tensor
from ember._traits import traits_of

TABLE: dict[str, Callable] = {}  # by name; _ops fills it
_names = itertools.count(1)


class Ragged:
    """The size of the dimension in which the parts differ; equal only to itself."""

    def __init__(self) -> None:
        self.name = f"j{next(_names)}"

    def __repr__(self) -> str:
        return self.name


class NestedTensor(Tensor):
    """Parts [n_i, ...] in one tensor; `nested_tensor` and others make it.

    `_dim` is the ragged dimension, 1 or, after a transposition, 2 (then the values
    stay as they were).
    """

    _values: Tensor  # type: ignore[assignment]
    _offsets: Tensor
    _lengths: Tensor | None
    _layout: "ember.layout"
    _dim: int
    _size: Ragged

    def __new__(cls, values, offsets, lengths=None, layout=None, dim=1, size=None):
        made = Tensor._make_subclass(cls, values.detach(), False)
        made._values, made._offsets, made._lengths = values, offsets, lengths
        made._layout, made._dim = layout or ember.jagged, dim
        made._size = size or Ragged()
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from ember.nested._ops import pointwise  # fills the table

        name = getattr(func, "__name__", "").strip("_") or str(func)
        found = TABLE.get(getattr(func, "__name__", "")) or TABLE.get(name)
        if found is None and "pointwise" in traits_of(func):
            found = pointwise
        if found is None:
            raise NotImplementedError(
                f"{name}(): not implemented for nested tensors; unbind() gives the "
                "parts, to_padded_tensor() a dense tensor"
            )
        return found(func, *args, **(kwargs or {}))

    def like(self, values: Tensor) -> "NestedTensor":
        """Parts of the same lengths with other values."""
        place = (self._offsets, self._lengths, self._layout, self._dim, self._size)
        return NestedTensor(values, *place)

    # --- what it is -------------------------------------------------------------------

    is_nested = property(lambda self: True)
    layout = property(lambda self: self._layout)
    dtype = property(lambda self: self._values.dtype)
    device = property(lambda self: self._values.device)
    is_cpu = property(lambda self: self._values.is_cpu)
    grad_fn = property(lambda self: self._values.grad_fn)
    is_leaf = property(lambda self: self._values.is_leaf)
    ndim = property(lambda self: self._values.dim() + 1)
    _ragged_idx = property(lambda self: self._dim)
    _max_seqlen = property(lambda self: max(self.lengths_list(), default=0))
    _min_seqlen = property(lambda self: min(self.lengths_list(), default=0))

    def dim(self) -> int:
        """Number of dimensions, with those of the batch and of the rows."""
        return self._values.dim() + 1

    def values(self) -> Tensor:
        """The rows of all parts."""
        v = self._values
        return v if self._dim == 1 else v.transpose(0, self._dim - 1)

    def offsets(self) -> Tensor:
        """Where each part begins, and the end of the last."""
        return self._offsets

    def lengths(self) -> Tensor | None:
        """How long each part is, if they do not follow upon one another."""
        return self._lengths

    def lengths_list(self) -> list[int]:
        """How many rows each part has."""
        if self._lengths is not None:
            return self._lengths.tolist()
        return self._offsets.diff().tolist()

    @property
    def shape(self) -> tuple:  # type: ignore[override]
        sizes: list = [len(self._offsets) - 1, self._size, *self._values.shape[1:]]
        if self._dim == 2:
            sizes[1], sizes[2] = sizes[2], sizes[1]
        return tuple(sizes)

    def size(self, dim: int | None = None):
        """The size of every dimension, or of one."""
        if dim is None:
            return self.shape
        found = self.shape[dim]
        if isinstance(found, Ragged) and self._layout is ember.strided:
            lengths = set(self.lengths_list())
            if len(lengths) > 1:
                raise RuntimeError(
                    f"Given dimension {dim} is irregular and does not have a size."
                )
            return lengths.pop() if lengths else 0
        return found

    def numel(self) -> int:
        """Number of elements of all parts."""
        if self._lengths is None:
            return self._values.numel()
        return sum(part.numel() for part in self.unbind())

    def is_contiguous(self, memory_format=None) -> bool:
        """Whether rows follow upon one another in memory."""
        compact = self._lengths is None and self._dim == 1
        return compact and self._values.is_contiguous()

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __iter__(self):
        return iter(self.unbind())

    def __repr__(self) -> str:
        if self._layout is ember.strided:
            inner = ",\n  ".join(repr(p).replace("\n", "\n  ") for p in self.unbind())
            return f"nested_tensor([\n  {inner}\n])"
        with_grad = (
            f", requires_grad={self.requires_grad}" if self.requires_grad else ""
        )
        return (
            f"NestedTensor(size={self.shape}, offsets={self._offsets}{with_grad}, "
            "contiguous=" + str(self.is_contiguous()) + ")"
        )

    # --- parts ------------------------------------------------------------------------

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The parts, as views."""
        if dim != 0:
            raise RuntimeError(
                f"unbind(): a nested tensor has parts in dim 0, not {dim}"
            )
        starts, lengths = self._offsets.tolist(), self.lengths_list()
        parts = [self._values.narrow(0, a, n) for a, n in zip(starts, lengths)]
        if self._dim == 2:
            parts = [p.transpose(0, 1) for p in parts]
        return tuple(parts)

    def to_padded_tensor(self, padding: float, output_size=None) -> Tensor:
        """A dense tensor [B, longest, ...], `padding` behind the shorter parts."""
        lengths = self.lengths_list()
        longest = max(lengths, default=0)
        shape = [len(lengths), longest, *self._values.shape[1:]]
        if output_size is not None:
            if any(a < b for a, b in zip(output_size, shape)):
                raise RuntimeError(
                    "Value in output_size is less than NestedTensor padded size. "
                    "Truncation is not supported."
                )
            shape = list(output_size)
        out = self._values.new_full(shape, padding)
        inner = tuple(slice(0, n) for n in self._values.shape[1:])
        # One place in the result for each row, so that the gradient is one gather.
        counts = ember.tensor(lengths, dtype=ember.int64, device=out.device)
        batch = ember.arange(len(lengths), device=out.device).repeat_interleave(counts)
        rows = [ember.arange(n, device=out.device) for n in lengths]
        row = ember.cat(rows) if rows else batch
        values = self._values
        if self._lengths is not None:
            values = ember.cat(
                [self._values.narrow(0, a, n) for a, n in self._places()]
            )
        if inner and output_size is not None:
            grown = [
                width
                for n, m in zip(values.shape[:0:-1], shape[:1:-1])
                for width in (0, m - n)
            ]
            values = ember.nn.functional.pad(values, grown, value=padding)
        out = out.index_put((batch, row), values)
        return out.transpose(1, 2) if self._dim == 2 else out

    def _places(self) -> list[tuple[int, int]]:
        return list(zip(self._offsets.tolist(), self.lengths_list()))

    # --- history ----------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return self._values.requires_grad

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self.requires_grad_(on)

    def requires_grad_(self, requires_grad: bool = True) -> "NestedTensor":
        """Set requires_grad of the values and return the tensor."""
        if requires_grad and not self._values.requires_grad:
            self._values = self._values.detach().requires_grad_()
        elif not requires_grad:
            self._values.requires_grad_(False)
        return self

    @property  # type: ignore[override]
    def grad(self) -> "NestedTensor | None":
        found = self._values.grad
        return None if found is None else self.like(found)

    @grad.setter
    def grad(self, value) -> None:
        self._values.grad = None if value is None else value._values

    def backward(
        self, gradient=None, retain_graph=None, create_graph=False, inputs=None
    ):
        """Add the gradient of the values to the leaves of their graph."""
        given = gradient._values if isinstance(gradient, NestedTensor) else gradient
        self._values.backward(given, retain_graph, create_graph, inputs)

    def __deepcopy__(self, memo: dict) -> "NestedTensor":
        values = self._values.detach().clone()
        memo[id(self)] = made = self.like(values).requires_grad_(self.requires_grad)
        return made

    def __reduce_ex__(self, protocol):
        parts = (self._values, self._offsets, self._lengths, self._layout, self._dim)
        return NestedTensor, parts


def from_parts(parts: list, layout, dtype=None, device=None) -> NestedTensor:
    """A nested tensor of dense parts, which must agree in all but their first size."""
    if not parts:
        values = ember.empty(0, dtype=dtype, device=device)
        return NestedTensor(values, ember.zeros(1, dtype=ember.int64), None, layout)
    if any(p.dim() != parts[0].dim() for p in parts):
        raise RuntimeError(
            "All Tensors given to nested_tensor must have the same dimension. Found "
            f"dimensions {[p.dim() for p in parts]}"
        )
    if parts[0].dim() == 0:
        raise RuntimeError("nested_tensor(): parts must have at least 1 dimension")
    if any(p.shape[1:] != parts[0].shape[1:] for p in parts):
        raise RuntimeError(
            "nested_tensor(): parts may differ in their first dimension only, got "
            f"shapes {[tuple(p.shape) for p in parts]}"
        )
    offsets = list(itertools.accumulate((len(p) for p in parts), initial=0))
    values = ember.cat(parts)
    if dtype is not None or device is not None:
        values = values.to(device or values.device, dtype or values.dtype)
    where = ember.tensor(offsets, dtype=ember.int64, device=values.device)
    return NestedTensor(values, where, None, layout)


def is_nested(x) -> bool:
    return isinstance(x, NestedTensor)
