"""Gradients of convolutions by themselves.

>>> import ember
>>> x, w = ember.ones(1, 1, 4), ember.ones(1, 1, 2)
>>> ember.nn.grad.conv1d_input(x.shape, w, ember.ones(1, 1, 3))
tensor([[[1., 2., 2., 1.]]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember
from ember import Tensor
from ember.nn import functional as F


def _input(dims: int, size: Any, weight: Tensor, grad: Tensor, *options: Any) -> Tensor:
    x = ember.zeros(tuple(size), dtype=grad.dtype, device=grad.device).requires_grad_()
    return _gradient(dims, x, weight, x, grad, options)


def _weight(dims: int, x: Tensor, size: Any, grad: Tensor, *options: Any) -> Tensor:
    w = ember.zeros(tuple(size), dtype=grad.dtype, device=grad.device).requires_grad_()
    return _gradient(dims, x, w, w, grad, options)


def _gradient(
    dims: int, x: Tensor, weight: Tensor, wrt: Tensor, grad: Tensor, options: tuple
) -> Tensor:
    stride, padding, dilation, groups = options
    with ember.enable_grad():
        function = getattr(F, f"conv{dims}d")
        out = function(x, weight, None, stride, padding, dilation, groups)
        record = grad.requires_grad or (x.requires_grad and x is not wrt)
        return ember.autograd.grad(out, wrt, grad, create_graph=record)[0]


def _of_input(dims: int) -> Callable[..., Tensor]:
    def gradient(
        input_size: Any,
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        options = stride, padding, dilation, groups
        return _input(dims, input_size, weight, grad_output, *options)

    gradient.__name__ = gradient.__qualname__ = f"conv{dims}d_input"
    gradient.__doc__ = f"Of `conv{dims}d`, with respect to its input."
    return gradient


def _of_weight(dims: int) -> Callable[..., Tensor]:
    def gradient(
        input: Tensor,
        weight_size: Any,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        options = stride, padding, dilation, groups
        return _weight(dims, input, weight_size, grad_output, *options)

    gradient.__name__ = gradient.__qualname__ = f"conv{dims}d_weight"
    gradient.__doc__ = f"Of `conv{dims}d`, with respect to its weight."
    return gradient


conv1d_input, conv2d_input, conv3d_input = map(_of_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, (1, 2, 3))
