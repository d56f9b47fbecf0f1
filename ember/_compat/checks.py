"""Assertions by PyTorch's private names, which libraries use in place of `assert`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember
from ember import Tensor
from ember._overridable import overridable

Message = Callable[[], str] | str | None


@overridable
def _assert(condition: Any, message: str) -> None:
    """`assert condition, message`; a step of a graph, if it is traced."""
    assert condition, message


def _assert_async(tensor: Tensor, message: str | None = None) -> None:
    """That a tensor of one element is not zero."""
    if not bool(tensor):
        raise RuntimeError(
            message or "Expected Tensor with single nonzero value, but got zero"
        )


def _check_with(kind: type[Exception], cond: Any, message: Any = None) -> None:
    """Raise an exception of this type unless a condition holds."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise kind("Expected cond to be True, but got False.")
    if not callable(message) and not isinstance(message, str):
        raise TypeError(f"message must be a callable or a str, got {type(message)}")
    raise kind(message if isinstance(message, str) else str(message()))


def _check(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError unless a condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Message = None) -> None:
    """Raise IndexError unless a condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    """Raise ValueError unless a condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    """Raise TypeError unless a condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """Raise NotImplementedError unless a condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """That a number can be a size."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(
    kind: type[Exception], cond: Any, message: Any = None
) -> None:
    """Raise an exception of this type unless all elements are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not ember.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(kind, bool(cond.all()), message)


def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError unless all elements are true."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _log_api_usage_once(*names: Any) -> None:
    """Nothing: nothing is reported to anybody."""
