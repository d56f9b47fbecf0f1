"""Tools for CUDA devices, each of which needs one: lightning and others name them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from ember import _unavailable

_unavailable.fill(
    globals(),
    "cuda",
    "ember has no CUDA devices",
    """init start stop all_gather all_reduce broadcast reduce reduce_scatter unique_id
    version _create_jit_fn _create_multi_output_jit_fn enable enable_cuda_sanitizer""",
)


def profile() -> Any:
    """A block that NVIDIA's profiler would record: nothing here; see
    `ember.profiler`."""
    return nullcontext()


def is_available(tensors: Any = None) -> bool:
    """False: NCCL is not part of ember."""
    return False


def is_enabled() -> bool:
    """False: nothing is tuned."""
    return False
