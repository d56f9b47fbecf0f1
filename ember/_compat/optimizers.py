"""Helpers of PyTorch's optimizers that other optimizers import."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import ember
from ember import Tensor

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


def _default_to_fused_or_foreach(
    params: list, differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """(fused, foreach): one implementation serves all tensors."""
    return False, not differentiable and all(type(p) is not Tensor for p in params)


def _use_grad_for_differentiable(function: Callable) -> Callable:
    """`step` with gradients recorded if the optimizer is differentiable."""

    @functools.wraps(function)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with ember.set_grad_enabled(self.defaults.get("differentiable", False)):
            return function(self, *args, **kwargs)

    return step


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return ["cuda", "xpu", "hpu"]


_get_fused_kernels_supported_devices = _get_capturable_supported_devices


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cpu", "opencl", "cuda"]


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


_to_scalar = _get_value


def _stack_if_compiling(x: Any) -> Any:
    return x


def _dispatch_sqrt(x: Any) -> Any:
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _view_as_real(params: list, *states: list) -> None:
    """Let complex tensors be pairs of numbers, in the lists."""
    for i, p in enumerate(params):
        if p.is_complex():
            params[i] = ember.view_as_real(p)
            for s in states:
                s[i] = ember.view_as_real(s[i])


def _get_scalar_dtype(is_fused: bool | None = None) -> ember.dtype:
    if is_fused:
        return ember.float32
    double = ember.get_default_dtype() == ember.float64
    return ember.float64 if double else ember.float32


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable:
    return lambda function: function


def _has_foreach_support(tensors: list, device: Any) -> bool:
    return all(t is None or type(t) is Tensor for t in tensors)


def _device_has_foreach_support(device: Any) -> bool:
    return True


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list], with_indices: bool = False
) -> dict:
    """Lists of tensors by the device and dtype of the first list's."""
    groups: dict = {}
    for i, first in enumerate(tensorlistlist[0]):
        key = (first.device, first.dtype)
        lists, places = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for group, tensors in zip(lists, tensorlistlist):
            group.append(tensors[i] if tensors else None)
        places.append(i)
    return groups


def _of(kind: str) -> Callable:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"optim._functional.{kind}: use ember.optim's classes; the functions under "
            "them are PyTorch's own"
        )

    return function


adam, adamw, sgd = _of("adam"), _of("adamw"), _of("sgd")
