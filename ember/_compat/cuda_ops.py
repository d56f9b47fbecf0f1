"""Ops that PyTorch has for CUDA only, where it raises on the CPU, too: libraries with
batch norms of their own name them."""

from ember import _unavailable

for _name in (
    "batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt "
    "batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats "
    "native_norm"
).split():
    globals()[_name] = _unavailable.function(
        _name,
        "there is no such kernel but for CUDA; see ember.nn.functional.batch_norm",
    )
