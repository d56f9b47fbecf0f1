"""The default device as a block or a decorator, by PyTorch's private name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember
from ember.autograd._decorate import DecoratorContextManager


class DeviceContext(DecoratorContextManager):
    """A block, or a function, in which tensors are made on a device."""

    def __init__(self, device: Any) -> None:
        self.device = ember.device(device)

    def clone(self) -> DeviceContext:
        return type(self)(self.device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.device.__exit__(*error)


def set_device(device: Any) -> Callable:
    """A decorator: the function makes its tensors on a device."""
    return DeviceContext(device)
