"""Casting nested arguments, as autocast does: transformers imports it."""

from __future__ import annotations

from typing import Any

from ember import Tensor, dtype
from ember.utils._pytree import tree_map


def _cast(value: Any, device_type: str, kind: dtype) -> Any:
    """Floating-point tensors of a device in another dtype, also in lists and dicts."""

    def cast(x: Any) -> Any:
        fits = (
            isinstance(x, Tensor)
            and x.is_floating_point()
            and x.device.type == device_type
        )
        return x.to(kind) if fits and x.dtype.itemsize < 8 else x

    return tree_map(cast, value)
