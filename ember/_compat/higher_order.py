"""`HigherOrderOperator`, an operator that takes functions: tensordict and torchao make
some. Here it runs the implementation for plain tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Which implementation runs, the first that there is.
_ORDER = """
    AutogradCPU Autograd CompositeImplicitAutograd CPU CompositeExplicitAutograd
    """.split()


class HigherOrderOperator:
    """An operator whose implementations are given by key, with `py_impl`.

    >>> import ember
    >>> from ember._ops import HigherOrderOperator
    >>> twice = HigherOrderOperator("twice")
    >>> @twice.py_impl(ember._C.DispatchKey.CompositeExplicitAutograd)
    ... def _(f, x):
    ...     return f(f(x))
    >>> twice(ember.exp, ember.zeros(()))
    tensor(2.7183)
    """

    namespace = "higher_order"

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = self.__name__ = name
        self._cacheable = cacheable
        self.py_kernels: dict[Any, Callable] = {}

    def name(self) -> str:
        """What it was named."""
        return self._name

    def py_impl(self, k: Any) -> Callable[[Callable], Callable]:
        """A decorator: the function is the implementation for this key."""

        def register(fn: Callable) -> Callable:
            if k in self.py_kernels:
                raise AssertionError(f"{self._name} already has a kernel for {k}")
            self.py_kernels[k] = fn
            return fn

        return register

    def fallthrough(self, dispatch_key: Any) -> None:
        """Nothing is done for this key: only one implementation runs here anyway."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        named = {getattr(k, "name", str(k)): fn for k, fn in self.py_kernels.items()}
        for key in _ORDER:
            if key in named:
                return named[key](*args, **kwargs)
        raise NotImplementedError(
            f"There was no rule registered for HigherOrderOperator {self._name} that "
            f"runs on plain tensors: it has {sorted(named)}, and needs one of {_ORDER}"
        )

    def __str__(self) -> str:
        return self._name
