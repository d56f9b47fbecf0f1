"""The CPU as a device: memory statistics of its allocator, and the names that programs
written for any accelerator call.
"""

from contextlib import nullcontext

from ember import _C


def memory_stats() -> dict[str, int]:
    """Bytes in use and taken from the system, with peaks, and counts of requests.

    >>> import ember
    >>> sorted(ember.cpu.memory_stats())[:2]
    ['allocated', 'allocated_peak']
    """
    return _C._memory_stats()


def memory_allocated() -> int:
    """Bytes in use by tensors."""
    return memory_stats()["allocated"]


def max_memory_allocated() -> int:
    """The most bytes that were ever in use since `reset_peak_memory_stats()`."""
    return memory_stats()["allocated_peak"]


def memory_reserved() -> int:
    """Bytes taken from the system: in use, or kept for the next tensor."""
    return memory_stats()["reserved"]


def reset_peak_memory_stats() -> None:
    """Let peaks start again from what is in use now."""
    _C._reset_peak_memory_stats()


def empty_cache() -> None:
    """Return memory that is not in use to the system."""
    _C._empty_cache()


def is_available() -> bool:
    """Always True."""
    return True


def device_count() -> int:
    """Always 1."""
    return 1


def current_device() -> str:
    """Always "cpu"."""
    return "cpu"


def synchronize(device=None) -> None:
    """Nothing to wait for: work on the CPU is done when the call returns."""


def stream(stream=None):
    """A context that does nothing: the CPU has a single stream."""
    return nullcontext()
