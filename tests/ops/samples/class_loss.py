"""Losses over classes: core/ops/class_loss.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op
from tests.ops.samples.softmax import log_softmax


def nll(x, target, weight=None, ignore_index=-100, reduction="mean", smoothing=0.0):
    dim = min(1, x.ndim - 1)
    x, index = np.moveaxis(x, dim, -1), np.where(target == ignore_index, 0, target)
    w = np.ones(x.shape[-1]) if weight is None else weight
    count = np.where(target == ignore_index, 0.0, w[index])
    hit = -np.take_along_axis(x, index[..., None], -1)[..., 0] * count
    every = np.where(target == ignore_index, 0.0, -(x * w).sum(-1)) / x.shape[-1]
    loss = hit * (1 - smoothing) + every * smoothing
    return loss if reduction == "none" else loss.sum() / (count.sum() if reduction == "mean" else 1)


def cross_entropy(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    dim = min(1, x.ndim - 1)
    logp = log_softmax(x, dim)
    if target.dtype.kind != "f":
        return nll(logp, target, weight, ignore_index, reduction, label_smoothing)
    target = target * (1 - label_smoothing) + label_smoothing / x.shape[dim]
    w = 1 if weight is None else weight.reshape(-1, *[1] * (x.ndim - dim - 1))
    loss = -(logp * target * w).sum(dim)
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


def classes(n, *shape, ignored=()):
    def make(x):
        y = np.arange(x.size).reshape(x.shape) * 7 % n
        return np.where(np.isin(np.arange(x.size).reshape(x.shape), ignored), -100, y)
    return T(*shape, dtype="int64", make=make)


W = T(5, low=0.2, high=2.0, grad=False)
SAMPLES = [S(T(4, 5), classes(5, 4)), S(T(5), classes(5)), S(T(2, 5, 3), classes(5, 2, 3, ignored=(1, 4))),
           S(T(4, 5), classes(5, 4, ignored=(2,)), W, reduction="sum"),
           S(T(2, 5, 2, 3), classes(5, 2, 2, 3), W, reduction="none"),
           S(T(3, 40), classes(40, 3), reduction="none"),
           S(T(4, 5), classes(5, 4), ignore_index=2)]
WRONG = [(S(T(2, 3), classes(3, 4)), ValueError, "batch_size"),
         (S(T(2, 3), T(2, dtype="int64", make=lambda x: x * 0 + 3)), IndexError, "out of bounds"),
         (S(T(2, 3), classes(3, 2), T(2)), RuntimeError, "weight"),
         (S(T(2, 3), classes(3, 2), reduction="all"), ValueError, "reduction"),
         (S(T(2, 3), T(2, dtype="int32")), RuntimeError, "Long or Byte")]
op("nn.functional.nll_loss", *SAMPLES, ref=nll, dtypes="fh", tol=10, errors=WRONG)
op("nn.functional.cross_entropy", *SAMPLES,
   S(T(4, 5), classes(5, 4, ignored=(1,)), label_smoothing=0.2),
   S(T(2, 5, 3), classes(5, 2, 3), W, label_smoothing=0.3),
   S(T(4, 5), T(4, 5, low=0.0, high=1.0)), S(T(2, 5, 3), T(2, 5, 3, low=0.0), W, reduction="none", label_smoothing=0.1),
   ref=cross_entropy, dtypes="fh", tol=10, errors=WRONG)
