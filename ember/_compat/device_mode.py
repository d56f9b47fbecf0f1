"""The default device as a block or a decorator, by PyTorch's private name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ember


class DeviceContext:
    """A block in which tensors are made on a device."""

    def __init__(self, device: Any) -> None:
        self.device = ember.device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.device.__exit__(*error)


def set_device(device: Any) -> Callable:
    """A decorator: the function makes its tensors on a device."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with DeviceContext(device):
                return function(*args, **kwargs)

        return inner

    return decorate
