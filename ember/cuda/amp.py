"""The older place of `ember.amp`'s names."""

from __future__ import annotations

from collections.abc import Callable

import ember
from ember import _lazy, amp
from ember._user_line import warn

__path__: list[str] = []  # so that there can be modules such as cuda.amp.grad_scaler


def _old(name: str, device: str) -> None:
    place = f"torch.{device}.amp.{name}(args...)"
    warn(
        f"`{place}` is deprecated. "
        f"Please use `torch.amp.{name}('{device}', args...)` instead.",
        FutureWarning,
    )


class autocast(amp.autocast):
    """`ember.amp.autocast("cuda")`: without such a device it changes nothing."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: ember.dtype = ember.float16,
        cache_enabled: bool = True,
    ) -> None:
        _old("autocast", "cuda")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`ember.amp.GradScaler("cuda")`: without such a device it is not enabled."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _old("GradScaler", "cuda")
        factors = growth_factor, backoff_factor
        super().__init__("cuda", init_scale, *factors, growth_interval, enabled)


def custom_fwd(
    fwd: Callable | None = None, *, cast_inputs: ember.dtype | None = None
) -> Callable:
    """`ember.amp.custom_fwd` for "cuda"."""
    _old("custom_fwd", "cuda")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable | None = None) -> Callable:
    """`ember.amp.custom_bwd` for "cuda"."""
    _old("custom_bwd", "cuda")
    return amp.custom_bwd(bwd, device_type="cuda")


__getattr__ = _lazy.missing(__name__)
