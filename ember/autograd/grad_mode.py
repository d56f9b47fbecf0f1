"""Switches for gradient recording: no_grad, enable_grad, set_grad_enabled and
inference_mode, each a context manager and a decorator.

The state itself is a thread-local flag in the core; these classes set and restore it.
"""

from typing import TYPE_CHECKING, Any, Self, overload

from ember import _C
from ember.autograd._decorate import DecoratorContextManager

if TYPE_CHECKING:
    from ember._types import F

_set = _C._set_grad_enabled
_get = _C.is_grad_enabled
# Levels of forward_ad that are entered. The tape carries directions along, so inside of
# one it stays on for tensors that have some.
dual_levels: list = []


def _turn(on: bool) -> None:
    if on or not (dual_levels and dual_levels[-1]):
        _set(on)
    else:
        _C._set_grad_of_duals()


class _NoArgument(DecoratorContextManager):
    """A manager without arguments, usable as `@manager` and as `@manager()`."""

    @overload
    def __new__(cls, orig_func: "F") -> "F": ...  # type: ignore[misc]
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    def __new__(cls, orig_func: Any = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)

    def __init__(self, orig_func: Any = None) -> None:
        pass

    def clone(self) -> Any:
        return type(self)()


class no_grad(_NoArgument):
    """Results computed inside do not require gradients.

    >>> import ember
    >>> x = ember.ones(2, requires_grad=True)
    >>> with ember.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __enter__(self) -> None:
        self.prev = _get()
        _turn(False)

    def __exit__(self, *exc: object) -> None:
        _turn(self.prev)


class enable_grad(_NoArgument):
    """Turns recording on again inside `no_grad`.

    >>> import ember
    >>> x = ember.ones(2, requires_grad=True)
    >>> with ember.no_grad():
    ...     with ember.enable_grad():
    ...         y = x * 2
    >>> y.requires_grad
    True
    """

    def __enter__(self) -> None:
        self.prev = _get()
        _turn(True)

    def __exit__(self, *exc: object) -> None:
        _turn(self.prev)


class set_grad_enabled(DecoratorContextManager):
    """Sets recording on or off: at once as a function, or for a block.

    >>> import ember
    >>> x = ember.ones(2, requires_grad=True)
    >>> with ember.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        self.prev = _get()
        self.mode = mode
        _set(mode)

    def __call__(self, orig_func: "F") -> "F":
        _turn(self.prev)  # constructing the decorator must not change the mode
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        _set(self.mode)

    def __exit__(self, *exc: object) -> None:
        _turn(self.prev)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}(mode={self.mode})"

    def clone(self) -> "set_grad_enabled":
        made = type(self).__new__(type(self))
        made.prev, made.mode = _get(), self.mode
        return made


class enforce_grad_layout_policy(DecoratorContextManager):
    """Sets whether `.grad` of a leaf gets the leaf's strides (as by default) or keeps
    those that a backward gave it: at once as a function, or for a block.

    >>> import ember
    >>> x = ember.ones(1, 2, 2, 2).to(memory_format=ember.channels_last)
    >>> x.requires_grad_().sum().backward()
    >>> x.grad.stride() == x.stride()
    True
    """

    def __init__(self, mode: bool) -> None:
        self.prev = _C._is_grad_layout_enforcement_enabled()
        self.mode = mode
        _C._set_grad_layout_enforcement_enabled(mode)

    def __call__(self, orig_func):
        _C._set_grad_layout_enforcement_enabled(self.prev)
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        _C._set_grad_layout_enforcement_enabled(self.mode)

    def __exit__(self, exc_type, exc_value, traceback) -> None:
        _C._set_grad_layout_enforcement_enabled(self.prev)

    def clone(self) -> "enforce_grad_layout_policy":
        return type(self)(self.mode)


class inference_mode(DecoratorContextManager):
    """`no_grad` whose results can never be used in recorded computations.

    >>> import ember
    >>> with ember.inference_mode():
    ...     y = ember.ones(2, requires_grad=True) * 2
    >>> y.is_inference()
    True
    """

    @overload
    def __new__(cls, mode: "F") -> "F": ...  # type: ignore[misc]
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.prev = _C.is_inference_mode_enabled(), _get()
        _C._set_inference_mode(self.mode)
        _set(not self.mode)

    def __exit__(self, *exc: object) -> None:
        inference, grad = self.prev
        _C._set_inference_mode(inference)
        _set(grad)

    def clone(self) -> "inference_mode":
        return type(self)(self.mode)


__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]
