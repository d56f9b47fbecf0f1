"""The older place of `ember.amp`'s names for the CPU."""

from __future__ import annotations

import ember
from ember import amp
from ember.cuda.amp import _old

__path__: list[str] = []


class autocast(amp.autocast):
    """`ember.amp.autocast("cpu")`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: ember.dtype = ember.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        _old("autocast", "cpu")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`ember.amp.GradScaler("cpu")`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _old("GradScaler", "cpu")
        factors = growth_factor, backoff_factor
        super().__init__("cpu", init_scale, *factors, growth_interval, enabled)
