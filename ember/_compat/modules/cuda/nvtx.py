"""Marks for NVIDIA's profiler: lightning, laplace and pytorch-geometric name them.
Without CUDA PyTorch raises at every mark, and so does this."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ember import _unavailable

_unavailable.fill(
    globals(),
    "cuda.nvtx",
    "NVTX functions not installed: ember has no CUDA; see ember.profiler",
    "mark range_push range_pop range_start range_end",
)
_push = globals()["range_push"]


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block, or a decorated function, that raises when it begins."""
    _push(msg.format(*args, **kwargs))
    yield


__all__ = [*globals()["__all__"], "range"]
