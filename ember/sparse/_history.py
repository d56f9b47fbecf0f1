"""Gradients of sparse tensors: those of their values, at the same places."""

import weakref
from typing import TYPE_CHECKING

import ember
from ember._C import Tensor

if TYPE_CHECKING:
    from ember.sparse._tensor import SparseTensor


# What is a tensor's own, whatever content it takes over: its gradient, kept so that it
# is always the same object, and the leaf whose gradient it is.
OWN = ("_own_grad", "_grad_of")


def no_leaf() -> None:
    """Stands for the leaf of a tensor that is nobody's gradient."""


class HistoryMethods:
    """What `SparseTensor` answers when it is asked for gradients and history."""

    __slots__ = ()
    _val: Tensor

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
        kept = self.__dict__.get("_own_grad")
        if kept is None or kept._val is not values:
            self._own_grad = kept = self._with(values)
            kept._grad_of = weakref.ref(self)
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
