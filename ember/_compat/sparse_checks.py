"""The checks that making a sparse tensor does, by names that only PyTorch uses."""

from __future__ import annotations

from typing import Any

import ember


def _validate_sparse_compressed_tensor_args(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any,
    layout: Any,
    check_pinning: bool | None = None,
) -> None:
    """RuntimeError unless the parts make a tensor of a compressed layout."""
    ember.sparse_compressed_tensor(
        compressed_indices,
        plain_indices,
        values,
        size,
        layout=layout,
        check_invariants=True,
    )


def _validate_sparse_coo_tensor_args(
    indices: Any,
    values: Any,
    size: Any,
    is_coalesced: bool | None = None,
    check_pinning: bool | None = None,
) -> None:
    """RuntimeError unless the parts make a COO tensor."""
    ember.sparse_coo_tensor(
        indices, values, size, is_coalesced=is_coalesced, check_invariants=True
    )


def _by_layout(name: str) -> Any:
    def check(compressed_indices, plain_indices, values, size, check_pinning=None):
        _validate_sparse_compressed_tensor_args(
            compressed_indices, plain_indices, values, size, getattr(ember, name)
        )

    return check


_validate_sparse_csr_tensor_args = _by_layout("sparse_csr")
_validate_sparse_csc_tensor_args = _by_layout("sparse_csc")
_validate_sparse_bsr_tensor_args = _by_layout("sparse_bsr")
_validate_sparse_bsc_tensor_args = _by_layout("sparse_bsc")
