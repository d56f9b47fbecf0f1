"""Tensors without memory: fvcore, accelerate and torchao import them. They are tensors
on the device "meta", which computes shapes and dtypes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import ember
from ember import Tensor


class DataDependentOutputException(RuntimeError):
    """A result that depends on values, which are not there."""


class DynamicOutputShapeException(RuntimeError):
    """A shape that depends on values, which are not there."""


class UnsupportedFakeTensorException(RuntimeError):
    """What cannot be done without values."""


class _Meta(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, obj: object) -> bool:
        return isinstance(obj, Tensor) and obj.is_meta


class FakeTensor(Tensor, metaclass=_Meta):
    """A tensor on the device "meta"."""

    @staticmethod
    def from_tensor(tensor: Tensor, fake_mode: FakeTensorMode) -> Tensor:
        """The same tensor without memory."""
        return fake_mode.from_tensor(tensor)


active: list[FakeTensorMode] = []  # the innermost last


class FakeTensorMode:
    """A block in which tensors are made without memory."""

    def __init__(self, **options: Any) -> None:
        self.allow_non_fake_inputs = options.get("allow_non_fake_inputs", False)
        self._device = ember.device("meta")

    def __enter__(self) -> FakeTensorMode:
        self._device.__enter__()
        active.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        active.pop()
        self._device.__exit__(*error)

    def from_tensor(self, tensor: Tensor, **options: Any) -> Tensor:
        """The same tensor without memory."""
        made = tensor.detach().to("meta").requires_grad_(tensor.requires_grad)
        made.fake_device = tensor.device  # where it would be
        return made


def is_fake(x: object) -> bool:
    """Whether a tensor has no memory."""
    return isinstance(x, Tensor) and x.is_meta


def unset_fake_temporarily() -> Any:
    """A block in which tensors have memory, whatever mode is on outside: on "cpu"."""
    return ember.device("cpu") if active else nullcontext()
