"""What the caching allocator of a device holds, and how much it may."""

from __future__ import annotations

from typing import Any

from ember import _C
from ember.opencl.devices import device_index, is_initialized

_TORCH_NAMES = {
    "allocated": "allocated_bytes.all.current",
    "allocated_peak": "allocated_bytes.all.peak",
    "reserved": "reserved_bytes.all.current",
    "reserved_peak": "reserved_bytes.all.peak",
    "blocks": "allocation.all.current",
    "requests": "allocation.all.allocated",
    "device_allocations": "num_device_alloc",
    "device_frees": "num_device_free",
    "retries": "num_alloc_retries",
    "ooms": "num_ooms",
}


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes that this process may still take from the device, and all it has.

    OpenCL does not tell what other processes take.
    """
    index = device_index(device)
    total = _C._opencl_properties(index)["total_memory"]
    return total - _C._opencl_memory_stats(index)["reserved"], total


def memory_stats(device: Any = None) -> dict[str, int]:
    """The counters of the allocator, and of the cache of compiled kernels.

    Those that `torch.cuda` has too come under its names as well.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     x = ember.ones(1000, device="opencl")
    ...     stats = ember.opencl.memory_stats()
    ...     assert stats["allocated_bytes.all.current"] >= 4000
    ...     assert stats["allocated"] <= stats["reserved"]
    """
    stats = _C._opencl_memory_stats(device_index(device))
    for old, new in _TORCH_NAMES.items():
        stats[new] = stats[old]
    return stats


def memory_allocated(device: Any = None) -> int:
    """Bytes in use by tensors."""
    return memory_stats(device)["allocated"]


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were ever in use by tensors."""
    return memory_stats(device)["allocated_peak"]


def memory_reserved(device: Any = None) -> int:
    """Bytes taken from the device: in use, or cached."""
    return memory_stats(device)["reserved"]


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were ever taken from the device."""
    return memory_stats(device)["reserved_peak"]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let peaks start again from what is in use now."""
    _C._opencl_reset_peaks(device_index(device))


reset_max_memory_allocated = reset_peak_memory_stats


def empty_cache() -> None:
    """Give cached memory back to the devices."""
    if is_initialized():
        _C._opencl_empty_cache()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Take at most this part of the device's memory.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     ember.opencl.set_per_process_memory_fraction(0.5)
    ...     ember.opencl.set_per_process_memory_fraction(1.0)
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0 to 1")
    _C._opencl_limit_memory(device_index(device), fraction)
