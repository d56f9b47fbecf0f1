"""Normalization: core/ops/row_norm.cpp, batch_norm.cpp and group_norm.cpp."""

# Statistics of native_* are results without a gradient, except those of groups.
# fmt: off
import numpy as np

from tests.ops.entry import S, T, op


def scaled(x, axes, w, b, eps, centred=True):
    mean = x.mean(axes, keepdims=True) if centred else 0
    rstd = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + eps)
    y = (x - mean) * rstd
    y = y if w is None else y * w
    return y if b is None else y + b, mean, rstd


def rows(x, shape, w=None, b=None, eps=1e-5):
    return scaled(x, tuple(range(-len(shape), 0)), w, b, eps)


def rms(x, shape, w=None, eps=None):
    return scaled(x, tuple(range(-len(shape), 0)), w, None, eps, False)[0]


def along(v, x):
    return v if v is None else v.reshape(-1, *[1] * (x.ndim - 2))


def groups(x, count, w=None, b=None, eps=1e-5):
    each = x.reshape(x.shape[0], count, -1)
    y, mean, rstd = scaled(each, (2,), None, None, eps)
    y = y.reshape(x.shape) * (1 if w is None else along(w, x))
    return y + (0 if b is None else along(b, x)), mean[..., 0], rstd[..., 0]


def batch(x, w, b, mean, var, training, momentum, eps):
    axes = (0, *range(2, x.ndim))
    if training:
        y, mean, rstd = scaled(x, axes, along(w, x), along(b, x), eps)
        return y, mean.reshape(-1), rstd.reshape(-1)
    y = (x - along(mean, x)) / np.sqrt(along(var, x) + eps)
    y = y * (1 if w is None else along(w, x)) + (0 if b is None else along(b, x))
    return y, np.zeros(0), np.zeros(0)


def instance(x, mean=None, var=None, w=None, b=None, own=True, momentum=0.1, eps=1e-5):
    if not own:
        return batch(x, w, b, mean, var, False, momentum, eps)[0]
    return scaled(x, tuple(range(2, x.ndim)), along(w, x), along(b, x), eps)[0]


LONG = T(3, 40)
ROWS = [S(T(3, 5), (5,)), S(T(2, 3, 4), (3, 4), T(3, 4), T(3, 4), 0.1), S(LONG, (40,), T(40)),
        S(T(4, 6), [6], None, T(6))]
SHAPES = [(S(T(2, 3), (4,)), RuntimeError, "normalized_shape"),
          (S(T(2, 3), (3,), T(2)), RuntimeError, "weight")]
for name in ("nn.functional.layer_norm", "layer_norm"):
    op(name, *ROWS, ref=lambda *a: rows(*a)[0], dtypes="fh", tol=20, errors=SHAPES)
op("native_layer_norm", S(T(3, 5), (5,), None, None, 1e-5), S(T(2, 3, 4), (3, 4), T(3, 4), T(3, 4), 0.1),
   ref=rows, dtypes="f", tol=20, grad=False)
for name in ("nn.functional.rms_norm", "rms_norm"):
    op(name, S(T(3, 5), (5,), None, 0.1), S(T(2, 3, 4), (3, 4), T(3, 4), 0.1), S(LONG, (40,), T(40), 1e-3), ref=rms,
       dtypes="fhc", tol=20, errors=SHAPES)

GROUPS = [S(T(2, 6), 3), S(T(2, 4, 5), 2, T(4), T(4), 0.1), S(T(3, 4, 2, 3), 4, T(4)),
          S(T(1, 2, 33), 1, None, T(2))]
BAD = [(S(T(2, 5), 2), RuntimeError, "divisible"), (S(T(2, 4), 0), RuntimeError, "greater than 0"),
       (S(T(2, 4), 2, T(3)), RuntimeError, "weight")]
for name in ("nn.functional.group_norm", "group_norm"):
    op(name, *GROUPS, ref=lambda *a: groups(*a)[0], dtypes="fh", tol=20, errors=BAD)
op("native_group_norm", S(T(2, 4, 5), T(4), T(4), 2, 4, 5, 2, 0.1), S(T(2, 6), None, None, 2, 6, 1, 3, 0.1),
   ref=lambda x, w, b, n, c, s, g, eps: groups(x, g, w, b, eps), tol=20)

C3 = {"grad": False}
STATS = (T(3, **C3), T(3, low=0.5, high=2.0, **C3))
TRAIN = [S(T(4, 3), T(3), T(3), *STATS, True, 0.1, 0.1), S(T(2, 3, 5), None, None, None, None, True, 0.1, 0.1),
         S(T(2, 3, 2, 3), T(3), None, *STATS, True, 0.5, 0.1),
         S(T(2, 3, 4), None, T(3), *STATS, False, 0.1, 0.1), S(T(2, 3, 2, 3), T(3), T(3), *STATS, False, 0.1, 0.1)]
WRONG = [(S(T(4, 3), T(2), None, None, None, True, 0.1, 0.1), RuntimeError, "weight should contain 3"),
         (S(T(4, 3), None, None, None, None, False, 0.1, 0.1), RuntimeError, "evaluation")]
op("native_batch_norm", *TRAIN, ref=batch, tol=20, grad=False, errors=WRONG)
op("_native_batch_norm_legit", TRAIN[0], S(T(2, 3, 5), None, None, True, 0.1, 0.1),
   ref=lambda x, w, b, *rest: batch(x, w, b, *(rest if len(rest) == 5 else (None, None, *rest))), tol=20, grad=False)
op("_native_batch_norm_legit_no_training", S(T(2, 3, 4), None, T(3), *STATS, 0.1, 0.1),
   ref=lambda x, w, b, m, v, momentum, eps: batch(x, w, b, m, v, False, momentum, eps), tol=20, grad=False)
op("_batch_norm_with_update", S(T(4, 3), T(3), T(3), *STATS, 0.1, 0.1),
   ref=lambda x, w, b, m, v, momentum, eps: (*batch(x, w, b, m, v, True, momentum, eps), np.zeros(0, np.uint8)),
   tol=20, grad=False)
op("batch_norm", *[S(*s.args, True) for s in TRAIN], ref=lambda *a: batch(*a[:-1])[0], dtypes="fh", tol=20)
op("nn.functional.batch_norm", S(T(4, 3), *STATS, T(3), T(3), True, 0.1, 0.1),
   S(T(2, 3, 5), None, None, None, None, True), S(T(2, 3, 2, 3), *STATS, T(3), T(3)),
   ref=lambda x, m, v, w=None, b=None, training=False, momentum=0.1, eps=1e-5:
   batch(x, w, b, m, v, training, momentum, eps)[0], dtypes="fh", tol=20,
   errors=[(S(T(1, 3), None, None, None, None, True), ValueError, "more than 1 value")])
op("nn.functional.instance_norm", S(T(2, 3, 5)), S(T(2, 3, 2, 3), *STATS, T(3), T(3)),
   S(T(2, 3, 4), *STATS, None, None, False), ref=instance, dtypes="fh", tol=20,
   errors=[(S(T(2, 3, 1)), ValueError, "spatial")])
op("instance_norm", S(T(2, 3, 5), T(3), T(3), None, None, True, 0.1, 0.1, True),
   ref=lambda x, w, b, m, v, own, momentum, eps, cudnn: instance(x, m, v, w, b, own, momentum, eps), tol=20)
