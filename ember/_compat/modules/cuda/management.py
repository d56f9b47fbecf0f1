"""What programs ask of the machine under a CUDA device; there is none to ask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ember import _unavailable, cuda

_unavailable.fill(
    globals(),
    "cuda",
    "ember has no CUDA devices",
    """CUDAPluggableAllocator GreenContext MemPool caching_allocator_alloc
    caching_allocator_delete can_device_access_peer change_current_allocator check_error
    clock_rate cudart current_blas_handle current_solver_handle device_memory_used
    get_allocator_backend get_per_process_memory_fraction get_sync_debug_mode
    memory_summary memory_usage power_draw
    set_sync_debug_mode temperature use_mem_pool utilization""",
)


class CudaError(RuntimeError):
    """An error of CUDA, by its number."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error {code}")


class DeferredCudaCallError(Exception):
    """An error of a call that waited for the first use of CUDA."""


class cudaStatus:
    """Numbers of errors."""

    SUCCESS = 0
    ERROR_NOT_READY = 34


def caching_allocator_enable(value: bool = True) -> None:
    """Nothing is cached."""


@contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """A block in which nothing is cached."""
    yield


def host_memory_stats() -> dict[str, Any]:
    """Empty: no memory of the host is pinned for CUDA."""
    return {}


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Nothing is accumulated."""


reset_accumulated_host_memory_stats = reset_accumulated_memory_stats
reset_peak_host_memory_stats = reset_accumulated_memory_stats
memory_stats_as_nested_dict = cuda.memory_stats
host_memory_stats_as_nested_dict = host_memory_stats
reset_max_memory_allocated = cuda.reset_peak_memory_stats
reset_max_memory_cached = cuda.reset_peak_memory_stats


def memory_snapshot(mempool_id: Any = None) -> list:
    """Empty: no blocks are listed."""
    return []


def list_gpu_processes(device: Any = None) -> str:
    """Who uses the device: nobody can say."""
    return "ember has no CUDA devices"
