"""Functions that answer later."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def async_execution(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function for others to call that returns a future: its caller gets the future's
    value, and no thread of the worker waits for it.

    >>> import ember
    >>> from ember.distributed import rpc
    >>> @rpc.functions.async_execution
    ... def twice(x):
    ...     return rpc.rpc_async("other", ember.mul, args=(x, 2))
    """

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    wrapper._wrapped_async_rpc_function = fn  # type: ignore[attr-defined]
    return wrapper
