"""Questions to the compiler, and its notes: accelerate, transformers and torchao need
them."""

import warnings
from collections import Counter, defaultdict
from contextlib import nullcontext
from functools import cache
from typing import Any

# Kept for backends that are handed graphs: counters["stats"]["unique_graphs"].
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type: str) -> bool:
    """Whether programs on a kind of device are compiled: on the CPU."""
    return device_type == "cpu"


@cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn, unless this was said before."""
    warnings.warn(msg, stacklevel=stacklevel + 1)


def disable_cache_limit() -> Any:
    """A block without a limit to what is compiled; nothing is."""
    return nullcontext()


def maybe_enable_compiled_autograd(*args: Any, **kwargs: Any) -> Any:
    """A block in which backward passes might be compiled; none are."""
    return nullcontext()
