"""Batch norm folded into the layer before it, for inference."""

from copy import deepcopy

import ember
from ember import Tensor
from ember.nn.modules.module import Module
from ember.nn.parameter import Parameter


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Module:
    """One convolution that does what `bn(conv(x))` does, both in eval mode.

    >>> import ember
    >>> conv, bn = ember.nn.Conv2d(1, 2, 3).eval(), ember.nn.BatchNorm2d(2).eval()
    >>> ember.nn.utils.fuse_conv_bn_eval(conv, bn)
    Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
    """
    return _fuse(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_eval(linear: Module, bn: Module) -> Module:
    """One linear layer that does what `bn(linear(x))` does, both in eval mode.

    >>> linear, bn = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval()
    >>> fused = nn.utils.fuse_linear_bn_eval(linear, bn)
    >>> x = ember.rand(4, 2)
    >>> ember.allclose(fused(x), bn(linear(x)), atol=1e-6)
    True
    """
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
        )
    return _fuse(linear, bn, fuse_linear_bn_weights)


def _fuse(layer: Module, bn: Module, fuse_weights, *options) -> Module:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Fusion needs a batch norm that tracks running stats")
    fused = deepcopy(layer)
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    given = (fused.weight, fused.bias, *statistics, *options)
    fused.weight, fused.bias = fuse_weights(*given)
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution with a batch norm in it.

    Args:
        conv_w: weight of the convolution
        conv_b: its bias, if it has one
        bn_rm: running mean
        bn_rv: running variance
        bn_eps: eps of the batch norm
        bn_w: weight of the batch norm
        bn_b: its bias
        transpose: the convolution is a transposed one

    >>> conv, bn = nn.Conv1d(2, 3, 1), nn.BatchNorm1d(3).eval()
    >>> w, b = nn.utils.fuse_conv_bn_weights(
    ...     conv.weight, conv.bias,
    ...     bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
    ... )
    >>> x = ember.rand(1, 2, 4)
    >>> ember.allclose(F.conv1d(x, w, b), bn(conv(x)), atol=1e-6)
    True
    """
    out_dim = 1 if transpose else 0
    statistics = (bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    return _fuse_weights(conv_w, conv_b, *statistics, out_dim)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer with a batch norm in it.

    Args:
        linear_w: weight of the layer
        linear_b: its bias, if it has one
        bn_rm: running mean
        bn_rv: running variance
        bn_eps: eps of the batch norm
        bn_w: weight of the batch norm
        bn_b: its bias

    >>> one, zero = ember.ones(1), ember.zeros(1)
    >>> w, b = nn.utils.fuse_linear_bn_weights(
    ...     ember.ones(1, 2), zero, one, one, 0.0, one, zero
    ... )
    >>> w.tolist(), b.tolist()
    ([[1.0, 1.0]], [-1.0])
    """
    return _fuse_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fuse_weights(weight, bias, mean, var, eps, scale, shift, out_dim):
    new_bias = ember.zeros_like(mean) if bias is None else bias
    scale = ember.ones_like(mean) if scale is None else scale
    shift = ember.zeros_like(mean) if shift is None else shift
    factor = scale * ember.rsqrt(var + eps)
    shape = [1] * weight.dim()
    shape[out_dim] = -1
    new_weight = (weight * factor.reshape(shape)).to(weight.dtype)
    new_bias = ((new_bias - mean) * factor + shift).to(weight.dtype)
    needs = bias is not None and bias.requires_grad
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, needs)
