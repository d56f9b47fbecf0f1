"""Gradients of convolutions by themselves.

>>> import ember
>>> x, w = ember.ones(1, 1, 4), ember.ones(1, 1, 2)
>>> ember.nn.grad.conv1d_input(x.shape, w, ember.ones(1, 1, 3))
tensor([[[1., 2., 2., 1.]]])
"""

from __future__ import annotations

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


def conv1d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Of `conv1d`, with respect to its input."""
    return _input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Of `conv1d`, with respect to its weight."""
    return _weight(
        1, input, weight_size, grad_output, stride, padding, dilation, groups
    )


def conv2d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Of `conv2d`, with respect to its input."""
    return _input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Of `conv2d`, with respect to its weight."""
    return _weight(
        2, input, weight_size, grad_output, stride, padding, dilation, groups
    )


def conv3d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Of `conv3d`, with respect to its input."""
    return _input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Of `conv3d`, with respect to its weight."""
    return _weight(
        3, input, weight_size, grad_output, stride, padding, dilation, groups
    )
