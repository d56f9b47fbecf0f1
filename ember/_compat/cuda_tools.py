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
    version enable enable_cuda_sanitizer""",
)


def _create_jit_fn(code_string: str, **kwargs: Any) -> Any:
    """A function of CUDA source text: it can be made, as in PyTorch, not called."""
    return _unavailable.function("cuda.jiterator", "ember has no CUDA devices")


def _create_multi_output_jit_fn(
    code_string: str, num_outputs: int, **kwargs: Any
) -> Any:
    """As `_create_jit_fn`, with several results."""
    return _create_jit_fn(code_string)


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
