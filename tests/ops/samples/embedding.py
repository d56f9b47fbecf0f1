"""Rows of tables: core/ops/embedding.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

INDEX = T(2, 3, dtype="int64", low=0, high=4)


def renorm(table, index, max_norm, p):
    norms = np.linalg.norm(table, p, 1, keepdims=True)
    used = np.isin(np.arange(len(table)), index)[:, None]
    return np.where(used & (norms > max_norm), table * (max_norm / (norms + 1e-7)), table)


op("embedding", S(T(4, 3), INDEX), S(T(4, 2), T(5, dtype="int32", low=0, high=4)), S(T(4, 3), T(dtype="int64", low=0, high=4)),
   ref=lambda w, i, *_: w[i], dtypes="fhi",
   errors=[(S(T(4), INDEX), RuntimeError, "2-D"), (S(T(2, 3), np.array([2])), IndexError, "out of bounds"),
           (S(T(2, 3), np.array([0.5])), RuntimeError, "Long, Int")])
op("embedding_renorm_", S(T(4, 3), INDEX, 0.5, 2.0), S(T(4, 3), INDEX, 1.0, 1.0), ref=renorm, tol=10, grad=False)
