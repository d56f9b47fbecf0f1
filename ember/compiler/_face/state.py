"""Whether what was compiled runs compiled: stances, `disable`, the environment."""

from __future__ import annotations

import functools
import os
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

STANCES = (
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "default_eager_backend_on_recompile",
)


# Reasons to ask `off()`: what is in here, and how often. A call of a compiled function
# looks at this first, so that an ordinary one is not held up.
special: Counter[str] = Counter()
_lock = threading.Lock()
if os.environ.get("TORCH_COMPILE_DISABLE", "0") == "1":
    special["environment"] = 1


def reason(name: str, change: int) -> None:
    """Add a reason, or take one away."""
    with _lock:
        special[name] += change
        if special[name] <= 0:
            del special[name]


class _Here(threading.local):
    """Of this thread."""

    disabled = 0  # calls of functions that `disable` made
    capturing = 0  # functions that are followed for a backend


here = _Here()
stance = "default"
forced: Any = None  # a backend instead of everybody's own


def count(here: _Here, name: str, change: int) -> None:
    """Go into a call that is disabled or followed, or come back from it."""
    setattr(here, name, getattr(here, name) + change)
    reason(name, change)


def off() -> bool:
    """Whether compiled functions run as they were written."""
    if not special:
        return False
    if here.disabled or here.capturing or stance == "force_eager":
        return True
    return "environment" in special or "config" in special


class set_stance:
    """How to treat functions that were compiled: for good, for a block, or while the
    function that this decorates runs.

    "force_eager" runs them op by op. The stances about recompiling concern backends
    that are handed graphs; ember's own compiler has nothing to recompile.

    >>> import ember
    >>> with ember.compiler.set_stance("force_eager"):
    ...     ember.compile(lambda x: x + 1)(ember.ones(1))
    tensor([2.])
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        from ember.compiler._face import backends

        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        if force_backend is not None:
            if stance != "default":
                raise RuntimeError("non-default stance cannot have force_backend set")
            force_backend = backends.lookup(force_backend)
        if here.capturing:
            raise RuntimeError("attempted to set_stance in a torch.compile region")
        self._new = (stance, force_backend)
        self._before = self._set(self._new)

    @staticmethod
    def _set(new: tuple[str, Any]) -> tuple[str, Any]:
        global stance, forced
        before = (stance, forced)
        stance, forced = new
        ordinary = ("default", None)
        reason("stance", (new != ordinary) - (before != ordinary))
        return before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self._set(self._before)
        new = self._new

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            before = set_stance._set(new)
            try:
                return function(*args, **kwargs)
            finally:
                set_stance._set(before)

        return wrapped

    def __enter__(self) -> None:
        self._set(self._new)

    def __exit__(self, *error: object) -> None:
        self._set(self._before)
