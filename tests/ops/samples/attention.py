"""Attention: core/ops/attention.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op


def attention(q, k, v, mask=None, dropout=0.0, causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        mask = np.tril(np.ones(scores.shape[-2:], bool))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    with np.errstate(invalid="ignore"):
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p = np.nan_to_num(p / p.sum(-1, keepdims=True))
    return p @ v


MASK = T(5, 6, dtype="bool", make=lambda x: np.arange(30).reshape(5, 6) % 7 < 4)
BLIND = T(3, 4, dtype="bool", make=lambda x: np.arange(3)[:, None] + np.zeros(4) != 1)
op("nn.functional.scaled_dot_product_attention",
   S(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 2)), S(T(3, 4), T(4, 4), T(4, 2), BLIND),
   S(T(2, 5, 3), T(2, 6, 3), T(2, 6, 3), MASK, scale=0.5), S(T(1, 2, 70, 3), T(1, 2, 70, 3), T(1, 2, 70, 3), is_causal=True),
   S(T(1, 2, 3, 4), T(1, 2, 5, 4), T(1, 2, 5, 4), T(3, 5)),
   S(T(2, 4, 3, 2), T(2, 2, 5, 2), T(2, 2, 5, 2), T(2, 1, 1, 5, grad=False), enable_gqa=True),
   S(T(1, 1, 2, 3), T(1, 1, 400, 3), T(1, 1, 400, 3)),
   ref=lambda q, k, v, mask=None, is_causal=False, **options: attention(q, k, v, mask, causal=is_causal, **options),
   dtypes="fh", tol=20, errors=[
       (S(T(2, 3), T(2, 3, dtype="int64"), T(2, 3)), RuntimeError, "same dtype"),
       (S(T(3), T(3), T(3)), RuntimeError, "at least 2"),
       (S(T(1, 3, 2, 2), T(1, 2, 2, 2), T(1, 2, 2, 2), enable_gqa=True), RuntimeError, "multiple")])
