"""The older place of `ember.amp`'s names."""

from __future__ import annotations

from typing import Any

from ember import amp


class autocast(amp.autocast):
    """`ember.amp.autocast("cuda")`: without such a device it changes nothing."""

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        super().__init__("cuda", enabled=enabled, **options)


class GradScaler(amp.GradScaler):
    """`ember.amp.GradScaler("cuda")`: without such a device it is not enabled."""

    def __init__(self, **options: Any) -> None:
        super().__init__("cuda", **options)
