"""Ops that are called by name: core/ops/internal.cpp."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, op


def xor_bits(x, dim=None, keepdim=False):
    bits = x.astype("float64" if x.dtype.kind == "f" else "int64").view("uint64")
    axis = tuple(range(x.ndim)) if dim is None or dim == [] else dim
    return np.bitwise_xor.reduce(bits, axis, keepdims=keepdim)


op("hash_tensor", T(5), T(3, 4), S(T(3, 4), 1), S(T(2, 3, 5), (0, 2), keepdim=True), T(),
   ref=xor_bits, dtypes="bif", grad=False, result="uint64",
   errors=[(S(T(3), mode=1), RuntimeError, "mode"), (S(T(3), 1), IndexError, "out of range")])


def chunk_cat(tensors, dim, num_chunks):
    parts = []
    for t in tensors:
        pad = [(0, 0)] * t.ndim
        pad[dim] = (0, -t.shape[dim] % num_chunks)
        parts.append(np.pad(t, pad).reshape(*t.shape[:dim], num_chunks, -1))
    return np.concatenate(parts, dim + 1)


op("_chunk_cat", S([T(4, 3), T(5, 2)], 0, 2), S([T(3, 4), T(3, 3)], 1, 3), ref=chunk_cat, dtypes="ifc",
   errors=[(S([T(4), T(4)], 0, 0), RuntimeError, "positive num_chunks"),
           (S([T(2, 3), T(4, 3)], 1, 2), RuntimeError, "same sizes")])

INDEX, MASK = np.array([0, 7, 2]), np.array([True, False, True])


def masked_put(x, mask, indices, values):
    x = x.copy()
    np.add.at(x, indices[0][mask], values[mask])
    return x


op("_unsafe_masked_index", S(T(4, 3), MASK[:, None], [INDEX], 5.0), grad=True,
   ref=lambda x, mask, i, fill: np.where(mask, x[np.clip(i[0], -len(x), len(x) - 1)], fill))
op("_unsafe_masked_index_put_accumulate", S(T(4), MASK, [INDEX], T(3)), ref=masked_put)


def softmax_backward(g, y, dim, dtype):
    return y * (g - (g * y).sum(dim, keepdims=True))


def log_softmax_backward(g, y, dim, dtype):
    return g - np.exp(y) * g.sum(dim, keepdims=True)


WIDE = T(3, 4, dtype="float64")
op("_softmax_backward_data", S(WIDE, WIDE, 1, ember.float64), ref=softmax_backward,
   dtypes="f")
op("_log_softmax_backward_data", S(WIDE, WIDE, 1, ember.float64), ref=log_softmax_backward,
   dtypes="f")


def safe_softmax(x, dim):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(dim, keepdims=True))
        return np.nan_to_num(e / e.sum(dim, keepdims=True))


HOLES = np.array([[0.0, -np.inf, 1.0], [-np.inf] * 3])
op("_safe_softmax", S(T(3, 4), 1), S(HOLES, 1), ref=safe_softmax, tol=10, grad=False)
op("native_dropout_backward", S(T(3, 4), T(3, 4, dtype="bool"), 2.0), dtypes="fh",
   ref=lambda g, mask, scale: g * mask * scale)
