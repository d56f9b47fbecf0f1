"""Marks for NVIDIA's profiler: lightning and pytorch-geometric name them. Without CUDA
PyTorch raises at every mark, and so does this."""

from ember import _unavailable

_unavailable.fill(
    globals(),
    "cuda.nvtx",
    "NVTX functions not installed: ember has no CUDA; see ember.profiler",
    "mark range_push range_pop range_start range_end range",
)
