"""CUDA's libraries: switches, and which kinds of attention are allowed there."""

from types import SimpleNamespace
from typing import Any

from ember import Tensor
from ember.backends import _switches

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
cufft_plan_cache = SimpleNamespace(size=0, max_size=0, clear=lambda: None)
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
_linalg = "default"


def is_built() -> bool:
    """Whether "cuda" means a device here."""
    from ember import cuda

    return cuda._is_compiled()


def flash_sdp_enabled() -> bool:
    """What `enable_flash_sdp` was given."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Kept; ember has one attention, which is fused."""
    _sdp["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """What `enable_mem_efficient_sdp` was given."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Kept; ember has one attention, which is fused."""
    _sdp["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """What `enable_math_sdp` was given."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Kept; ember has one attention, which is fused."""
    _sdp["math"] = enabled


def cudnn_sdp_enabled() -> bool:
    """What `enable_cudnn_sdp` was given."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Kept; ember has one attention, which is fused."""
    _sdp["cudnn"] = enabled


_reduced = False


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What `allow_fp16_bf16_reduction_math_sdp` was given."""
    return _reduced


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Kept; sums are of float32."""
    global _reduced
    _reduced = enabled


is_flash_attention_available = _switches.absent
is_ck_sdpa_available = _switches.absent


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """False: the library is not part of ember."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


def preferred_linalg_library(backend: Any = None) -> str:
    """Kept; linear algebra is OpenBLAS's."""
    global _linalg
    if backend is not None:
        _linalg = str(backend)
    return _linalg


preferred_blas_library = preferred_rocm_fa_library = preferred_linalg_library
sdp_kernel = _switches.nothing


class SDPAParams:
    """One attention, of which to ask whether a library could compute it."""

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None,
        dropout: float,
        is_causal: bool,
        enable_gqa: bool,
    ) -> None:
        for name, tensor in (("query", query), ("key", key), ("value", value)):
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    f"SDPAParams(): {name} must be Tensor, not {type(tensor).__name__}"
                )
        self.query, self.key, self.value = query, key, value
        self.attn_mask, self.dropout = attn_mask, dropout
        self.is_causal, self.enable_gqa = is_causal, enable_gqa
