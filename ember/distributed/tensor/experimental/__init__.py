"""What may change: plain tensors among DTensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ember import _lazy, _unavailable
from ember.distributed.tensor import _dispatch

__all__ = ["implicit_replication"]
_unavailable.fill(
    globals(),
    "distributed.tensor.experimental",
    "ember.distributed does not have this yet",
    "context_parallel",
)


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Within it, plain tensors in ops with DTensors are taken for copies."""
    _dispatch.implicit.append(True)
    try:
        yield
    finally:
        _dispatch.implicit.pop()


__getattr__ = _lazy.missing(__name__)
