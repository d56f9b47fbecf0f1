"""Matrices of which two in four numbers are zero, a format of NVIDIA's devices."""

from ember import Tensor, _unavailable

_REASON = (
    "two-in-four sparsity is a format of NVIDIA's devices, which ember does not have"
)
for _name in ("", "CUTLASS", "CUSPARSELT"):
    globals()["SparseSemiStructuredTensor" + _name] = _unavailable.kind(
        "sparse.SparseSemiStructuredTensor" + _name, _REASON, Tensor
    )
to_sparse_semi_structured = _unavailable.function(
    "sparse.to_sparse_semi_structured", _REASON
)
