"""Tensors of which some elements do not count: data and a mask behind Tensor's face.

The data carry the history. Elements under a False of the mask take no part in
reductions, get no gradient, and whatever an op makes of them is never seen.
"""

from collections.abc import Callable

import ember
from ember._C import Tensor
from ember._traits import traits_of

TABLE: dict[str, Callable] = {}  # by name; _tensor_ops fills it


class MaskedTensor(Tensor):
    """Data with a mask; `masked_tensor` makes it.

    >>> import ember
    >>> data, mask = ember.tensor([1.0, 2.0]), ember.tensor([True, False])
    >>> ember.masked.masked_tensor(data, mask)
    MaskedTensor(
      [  1.0000,       --]
    )
    """

    _masked_data: Tensor
    _masked_mask: Tensor

    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False):
        if isinstance(data, MaskedTensor) or isinstance(mask, MaskedTensor):
            raise TypeError("data and mask of a MaskedTensor are plain tensors")
        if data.shape != mask.shape:
            raise ValueError("data.shape and mask.shape must match")
        if mask.dtype != ember.bool:
            raise TypeError("mask must have dtype bool")
        made = Tensor._make_subclass(cls, data.detach(), False)
        leaf = data.detach().requires_grad_() if requires_grad else data
        made._masked_data, made._masked_mask = leaf, mask
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from ember.masked import _tensor_ops  # fills the table

        name = getattr(func, "__name__", str(func))
        found = TABLE.get(name) or TABLE.get(name.strip("_"))
        if found is None:
            traits = traits_of(func)
            if "pointwise" in traits:
                found = _tensor_ops.pointwise
            elif "rearranges" in traits:
                found = _tensor_ops.shapes
        if found is None:
            raise NotImplementedError(
                f"{name}(): not implemented for MaskedTensor; get_data() and "
                "get_mask() give its parts, to_tensor(value) a plain tensor"
            )
        return found(func, *args, **(kwargs or {}))

    def get_data(self) -> Tensor:
        """The data, also where they are masked."""
        return self._masked_data

    def get_mask(self) -> Tensor:
        """Where elements count."""
        return self._masked_mask

    def to_tensor(self, value: float) -> Tensor:
        """A plain tensor with `value` where elements do not count."""
        return self._masked_data.masked_fill(~self._masked_mask, value)

    requires_grad = property(lambda self: self._masked_data.requires_grad)
    grad_fn = property(lambda self: self._masked_data.grad_fn)
    is_leaf = property(lambda self: self._masked_data.is_leaf)
    dtype = property(lambda self: self._masked_data.dtype)
    device = property(lambda self: self._masked_data.device)
    shape = property(lambda self: self._masked_data.shape)
    ndim = property(lambda self: self._masked_data.dim())

    @property  # type: ignore[override]
    def grad(self) -> "MaskedTensor | None":
        found = self._masked_data.grad
        return None if found is None else MaskedTensor(found, self._masked_mask)

    @grad.setter
    def grad(self, value) -> None:
        given = value._masked_data if isinstance(value, MaskedTensor) else value
        self._masked_data.grad = given

    def requires_grad_(self, requires_grad: bool = True) -> "MaskedTensor":
        """Set requires_grad of the data and return the tensor."""
        if requires_grad and not self._masked_data.requires_grad:
            self._masked_data = self._masked_data.detach().requires_grad_()
        elif not requires_grad:
            self._masked_data.requires_grad_(False)
        return self

    def backward(
        self, gradient=None, retain_graph=None, create_graph=False, inputs=None
    ):
        """Add the gradient of the elements that count to the leaves."""
        given = (
            gradient._masked_data if isinstance(gradient, MaskedTensor) else gradient
        )
        if given is None and self._masked_data.numel() == 1:
            given = self._masked_mask.to(self.dtype).reshape(self.shape)
        self._masked_data.backward(given, retain_graph, create_graph, inputs)

    def dim(self) -> int:
        """Number of dimensions."""
        return self._masked_data.dim()

    def size(self, dim: int | None = None):
        """The size of every dimension, or of one."""
        return self._masked_data.size() if dim is None else self._masked_data.size(dim)

    def numel(self) -> int:
        """Number of elements, with those that do not count."""
        return self._masked_data.numel()

    def item(self):
        """The one element."""
        return self._masked_data.item()

    def tolist(self):
        """Nested lists, None where elements do not count."""

        def clean(values, counts):
            if isinstance(values, list):
                return [clean(v, c) for v, c in zip(values, counts)]
            return values if counts else None

        return clean(self._masked_data.tolist(), self._masked_mask.tolist())

    def __len__(self) -> int:
        return len(self._masked_data)

    def __iter__(self):
        for data, mask in zip(self._masked_data, self._masked_mask):
            yield MaskedTensor(data, mask)

    def __repr__(self) -> str:
        text = _text(self._masked_data, self._masked_mask)
        return f"MaskedTensor(\n{_indented(text)}\n)"

    def __deepcopy__(self, memo: dict) -> "MaskedTensor":
        data = self._masked_data.detach().clone()
        made = MaskedTensor(data, self._masked_mask.clone(), self.requires_grad)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol):
        parts = self._masked_data.detach(), self._masked_mask, self.requires_grad
        return MaskedTensor, parts


def masked_tensor(
    data: Tensor, mask: Tensor, requires_grad: bool = False
) -> MaskedTensor:
    """A masked tensor with copies of data and mask; it is a leaf.

    >>> import ember
    >>> x = ember.masked.masked_tensor(ember.ones(2), ember.tensor([True, False]))
    >>> x.sum().item()
    1.0
    """
    return MaskedTensor(data.detach().clone(), mask.clone(), requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A masked tensor of these, with the history of the data.

    >>> import ember
    >>> x = ember.ones(2, requires_grad=True)
    >>> ember.masked.as_masked_tensor(x, ember.tensor([True, False])).sum().backward()
    >>> x.grad
    tensor([1., 0.])
    """
    return MaskedTensor(data, mask)


def is_masked_tensor(obj) -> bool:
    """Whether it is a MaskedTensor.

    >>> import ember
    >>> ember.masked.is_masked_tensor(ember.ones(2))
    False
    """
    return isinstance(obj, MaskedTensor)


def _text(data: Tensor, mask: Tensor) -> str:
    """Numbers in columns, "--" where they do not count."""

    def shown(value) -> str:
        return f"{value:8.4f}" if isinstance(value, float) else str(value)

    if data.dim() == 0:
        return shown(data.item()) if mask.item() else "--"
    if data.dim() == 1:
        cells = [shown(v) for v in data.tolist()]
        counts = mask.tolist()
        width = max((len(c) if m else 8 for c, m in zip(cells, counts)), default=8)
        parts = [c if m else "--".rjust(width) for c, m in zip(cells, counts)]
        return f"[{', '.join(parts)}]"
    rows = [_indented(_text(d, m)) for d, m in zip(data, mask)]
    return "[\n" + ",\n".join(rows) + "\n]"


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))
