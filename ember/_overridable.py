"""Functions written in Python that arguments and modes can take over."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, overload

from ember._C import _has_torch_function

if TYPE_CHECKING:
    from ember._types import F


@overload
def overridable(func: "F", *, traits: str = "") -> "F": ...
@overload
def overridable(*, traits: str = "") -> "Callable[[F], F]": ...


def overridable(func: Any = None, *, traits: str = "") -> Any:
    """`func`, asking its arguments for `__torch_function__` first, as ops do.

    `traits` are words for what it does, as ops have them (see `_traits.py`).
    """
    if func is None:
        return lambda func: overridable(func, traits=traits)

    @wraps(func)
    def wrapped(*args, **kwargs):
        if _has_torch_function((*args, *kwargs.values()) if kwargs else args):
            from ember.overrides import handle_torch_function

            relevant = (*args, *kwargs.values())
            return handle_torch_function(wrapped, relevant, *args, **kwargs)
        return func(*args, **kwargs)

    wrapped.traits = frozenset(traits.split())  # type: ignore[attr-defined]
    return wrapped
