"""What may change: plain tensors among DTensors, sequences cut across processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ember import _lazy
from ember.distributed.tensor import _dispatch
from ember.distributed.tensor.experimental._attention import context_parallel

__all__ = ["context_parallel", "implicit_replication"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Within it, plain tensors in ops with DTensors are taken for copies."""
    _dispatch.implicit.append(True)
    try:
        yield
    finally:
        _dispatch.implicit.pop()


__getattr__ = _lazy.missing(__name__)
