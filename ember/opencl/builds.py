"""How kernels come about: which were built, and what that took."""

from __future__ import annotations

from typing import NamedTuple

from ember import _C


class BuildRecord(NamedTuple):
    """Where a kernel came from."""

    kernel: str
    device: str
    driver: str
    how: str  #: ``"built"``, ``"cached"`` (on disk), or ``"refused"``
    cpu: float  #: seconds of CPU
    wall: float  #: seconds


def build_log() -> list[BuildRecord]:
    """The kernels that this process has needed so far, in order.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     x = ember.ones(3, device="opencl") * 2
    ...     slowest = max(ember.opencl.build_log(), key=lambda record: record.cpu)
    ...     assert slowest.how in ("built", "cached") and slowest.cpu >= 0
    """
    return [BuildRecord(*record) for record in _C._opencl_build_log()]
