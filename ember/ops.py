"""Ops by the names PyTorch's operators have: `ember.ops.aten.add.Tensor(a, b)`.

Overloads of one name are one function here, which finds the right one by its arguments.

>>> import ember
>>> ember.ops.aten.linalg_vector_norm.default(ember.tensor([3.0, 4.0]))
tensor(5.)
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_PREFIXES = ("linalg", "fft", "special")


class OpOverloads:
    """All overloads of an operator; each attribute of it is the operator itself."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = name
        self._function = function
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, overload: str) -> OpOverloads:
        if overload.startswith("_"):
            raise AttributeError(overload)
        return self

    @property
    def overloadpacket(self) -> OpOverloads:
        """The operator itself: its overloads are one."""
        return self

    _overloadpacket = overloadpacket
    namespace = "aten"
    _overloadname = "default"

    def name(self) -> str:
        """Its name among all operators: "aten::add"."""
        return f"aten::{self.__name__}"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __deepcopy__(self, memo: dict) -> OpOverloads:
        return self

    def __reduce__(self) -> tuple:
        return _operator, (self.__name__,)

    @property
    def _fx_name(self) -> str:
        """Where generated code finds it."""
        return f"ops.aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<operator aten::{self.__name__}>"


def _operator(name: str) -> OpOverloads:
    return getattr(aten, name)


class _Namespace:
    def __getattr__(self, name: str) -> OpOverloads:
        function = None if name.startswith("__") else _find(name)
        if function is None:
            raise AttributeError(f"ember.ops.aten has no operator '{name}'")
        op = OpOverloads(name, function)
        setattr(self, name, op)
        return op


def _slice(self, dim=0, start=None, end=None, step=1):
    """A view of every `step`-th index from `start` to `end` along a dimension."""
    if not -self.dim() <= dim < self.dim():
        raise IndexError(
            f"slice(): dim {dim} is out of range for a tensor with {self.dim()} "
            "dimensions"
        )
    return self[(slice(None),) * (dim % self.dim()) + (slice(start, end, step),)]


def _unfold(self, dimension, size, step):
    """Windows along a dimension; those of images are `nn.functional.unfold`."""
    return self.unfold(dimension, size, step)


_ONLY_HERE: dict[str, Callable[..., Any]] = {"slice": _slice, "unfold": _unfold}


def _find(name: str) -> Callable[..., Any] | None:
    import ember
    from ember._C import _ops

    if name in _ONLY_HERE:
        return _ONLY_HERE[name]
    head, _, tail = name.partition("_")
    names = [name, f"nn.functional.{name}"]
    if head in _PREFIXES:
        names.insert(0, f"{head}.{tail}")
    for full in names:
        if full in _ops:
            return _ops[full]
    for space in (ember, ember.Tensor, ember.nn.functional):
        function = getattr(space, name, None)
        if callable(function):
            return function
    return getattr(import_module("ember._compat.aten"), name, None)


aten = _Namespace()
loaded_libraries: set[str] = set()
# (package, file) -> what has the same operators here
_OWN = {
    ("torchvision", "_C"): "ember._compat.torchvision_ops",
    ("torchvision", "image"): "ember._compat.torchvision_images",
    ("lib", "_torchaudio"): "ember._compat.torchaudio_ops",
    ("lib", "libtorchaudio"): "ember._compat.torchaudio_ops",
}


def load_library(path: str | os.PathLike[str]) -> None:
    """Load a library of operators; OSError for one that needs libtorch, which is not
    here. torchvision's and torchaudio's are ember's own, in place of their libraries.
    """
    where = Path(path)
    own = _OWN.get((where.parent.name, where.name.partition(".")[0]))
    if own is not None:
        import_module(own).register()
    else:
        try:
            ctypes.CDLL(str(where))
        except OSError as error:
            raise OSError(
                f"{error}. Libraries of operators for PyTorch need libtorch, which is "
                "not part of ember"
            ) from error
        import_module("ember.utils._cpp_calls").raise_failures()
    loaded_libraries.add(str(path))


def __getattr__(name: str) -> Any:
    """The namespace of operators that `ember.library` made, or will make."""
    if name.startswith("__"):
        raise AttributeError(f"module 'ember.ops' has no attribute '{name}'")
    from ember.library._custom_op import Namespace

    return globals().setdefault(name, Namespace(name))
