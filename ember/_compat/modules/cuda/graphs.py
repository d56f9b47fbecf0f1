"""Recorded queues of CUDA: transformers, accelerate and lightning name them."""

from ember import _unavailable
from ember.cuda import is_current_stream_capturing as is_current_stream_capturing

_unavailable.fill(
    globals(),
    "cuda",
    "ember does not record queues of a device; call the function itself",
    "CUDAGraph graph graph_pool_handle make_graphed_callables",
)
