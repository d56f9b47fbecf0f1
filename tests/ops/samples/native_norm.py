"""Normalisations with their statistics: core/ops/native_norm.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op


def normalized(x, axes, eps):
    mean = x.mean(axes, keepdims=True)
    rstd = 1 / np.sqrt(x.var(axes, keepdims=True) + eps)
    return (x - mean) * rstd, mean, rstd


def affine(y, weight, bias, shape=(-1,)):
    y = y if weight is None else y * np.reshape(weight, shape)
    return y if bias is None else y + np.reshape(bias, shape)


def layer_norm(x, shape, weight, bias, eps):
    y, mean, rstd = normalized(x, tuple(range(x.ndim - len(shape), x.ndim)), eps)
    return affine(y, weight, bias, shape), mean, rstd


def group_norm(x, weight, bias, N, C, HxW, group, eps):
    y, mean, rstd = normalized(x.reshape(N, group, -1), 2, eps)
    y = affine(y.reshape(N, C, HxW), weight, bias, (1, C, 1)).reshape(x.shape)
    return y, mean[..., 0], rstd[..., 0]


def batch_norm(x, weight, bias, mean, var, training, momentum, eps):
    shape = (1, -1) + (1,) * (x.ndim - 2)
    if not training:
        y = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
        return affine(y, weight, bias, shape), np.zeros(0), np.zeros(0)
    y, mean, rstd = normalized(x, (0, *range(2, x.ndim)), eps)
    return affine(y, weight, bias, shape), mean.ravel(), rstd.ravel()


# Only native_group_norm's statistics have gradients: tests/test_native_ops.py checks the others.
op("native_layer_norm", S(T(3, 4), (4,), T(4), T(4), 1e-5), S(T(2, 3, 4), (3, 4), None, None, 0.1),
   ref=layer_norm, tol=20, grad=False, errors=[(S(T(3, 4), (3,), None, None, 1e-5), RuntimeError, "expected input"),
                                   (S(T(3, 4), (4,), T(3), None, 1e-5), RuntimeError, "same shape")])
op("native_group_norm", S(T(2, 4, 3), T(4), T(4), 2, 4, 3, 2, 1e-5),
   S(T(2, 4, 3), None, None, 2, 4, 3, 1, 0.1), ref=group_norm, tol=20,
   errors=[(S(T(2, 4, 3), None, None, 2, 4, 3, 3, 1e-5), RuntimeError, "divisible")])
# In-place changes of the running statistics repeat with every call.
RUNNING = [T(3, grad=False), T(3, low=0.5, grad=False)]
WHOLE = [S(T(4, 3, 2), T(3), T(3), None, None, True, 0.1, 1e-5),
         S(T(4, 3), None, None, *RUNNING, False, 0.1, 1e-5)]
op("native_batch_norm", *WHOLE, ref=batch_norm, tol=20, grad=False,
   errors=[(S(T(4, 3), None, None, None, None, False, 0.1, 1e-5), RuntimeError, "evaluation")])
op("_native_batch_norm_legit", S(T(4, 3), T(3), T(3), *RUNNING, False, 0.1, 1e-5), ref=batch_norm, tol=20,
   grad=False)
op("_batch_norm_with_update", S(T(4, 3), T(3), T(3), *RUNNING, 0.1, 1e-5), grad=False)
