"""Operators of PyTorch's that only its own layers call, by the name in `ops.aten`:
torch_geometric, accelerate and transformers name them."""

from __future__ import annotations

from typing import Any

import ember
from ember import Tensor
from ember._compat import private_ops
from ember._compat.checks import _assert_async as _assert_async


def _to_copy(
    self: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A copy, in another dtype or on another device if given."""
    options = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(
        device=self.device if device is None else device,
        dtype=self.dtype if dtype is None else dtype,
        non_blocking=non_blocking,
        copy=True,
        **options,
    )


def _unsafe_view(self: Tensor, size: Any) -> Tensor:
    return self.view(size)


def alias(self: Tensor) -> Tensor:
    """The same tensor, as a view."""
    return self.view_as(self)


def _local_scalar_dense(self: Tensor) -> Any:
    if not self.numel():
        raise RuntimeError("_local_scalar_dense: Empty tensor not supported")
    return self.item()


def _is_all_true(self: Tensor) -> Tensor:
    return self.all()


def _is_any_true(self: Tensor) -> Tensor:
    return self.any()


def sym_size(self: Tensor, dim: int | None = None) -> Any:
    """A size, or all of them."""
    return list(self.shape) if dim is None else self.shape[dim]


def sym_stride(self: Tensor, dim: int | None = None) -> Any:
    """A stride, or all of them."""
    return list(self.stride()) if dim is None else self.stride(dim)


def sym_numel(self: Tensor) -> int:
    """How many elements there are."""
    return self.numel()


def sym_storage_offset(self: Tensor) -> int:
    """Where the first element is in the storage."""
    return self.storage_offset()


def _assert_scalar(self: Any, assert_msg: str) -> None:
    if not self:
        raise RuntimeError(assert_msg)


def _assert_tensor_metadata(
    a: Tensor, size: Any = None, stride: Any = None, dtype: Any = None, **other: Any
) -> None:
    if dtype is not None and a.dtype != dtype:
        raise RuntimeError(f"Tensor dtype mismatch! Expected {dtype}, got {a.dtype}")
    if size is not None and list(a.shape) != list(size):
        raise RuntimeError(f"Tensor sizes mismatch! Expected {size}, got {a.shape}")


def _fft_c2c(self: Tensor, dim: Any, normalization: int, forward: bool) -> Tensor:
    norms = (
        ["backward", "ortho", "forward"]
        if forward
        else ["forward", "ortho", "backward"]
    )
    function = ember.fft.fftn if forward else ember.fft.ifftn
    return function(self, dim=tuple(dim), norm=norms[normalization])


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    return self.pin_memory()


def _conj(self: Tensor) -> Tensor:
    return self.conj()


def index(self: Tensor, indices: Any) -> Tensor:
    """Indexing by tensors, None for a whole dimension."""
    return self[tuple(slice(None) if i is None else i for i in indices)]


def _sparse_addmm(
    self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    return ember.sparse.addmm(self, mat1, mat2, beta=beta, alpha=alpha)


def _sparse_mm_reduce_impl(self: Tensor, other: Tensor, reduce: str) -> Any:
    return ember.sparse.mm(self, other, reduce)


def _upsample_bilinear2d_aa(
    input: Tensor,
    output_size: Any,
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    return ember.nn.functional.interpolate(
        input, output_size, mode="bilinear", align_corners=align_corners, antialias=True
    )


def _embedding_bag(weight: Tensor, indices: Tensor, *args: Any, **options: Any) -> Any:
    return ember._C._ops["embedding_bag"](weight, indices, *args, **options)


def lift_fresh(self: Tensor) -> Tensor:
    """The tensor itself."""
    return self


def _scaled_dot_product_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    raise NotImplementedError(
        "aten._scaled_dot_product_flash_attention: call "
        "nn.functional.scaled_dot_product_attention, which is fused"
    )


_scaled_dot_product_cudnn_attention = _scaled_dot_product_flash_attention
_scaled_dot_product_flash_attention_backward = _scaled_dot_product_flash_attention
_scaled_dot_product_cudnn_attention_backward = _scaled_dot_product_flash_attention


def _convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *cudnn: bool,
) -> Tensor:
    """`convolution`, with switches of cuDNN."""
    options = (stride, padding, dilation, transposed, output_padding, groups)
    return ember.convolution(input, weight, bias, *options)


globals().update(private_ops.PADDINGS)
