"""Norms: core/ops/vector_norms.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op


def norm(x, p=2, dim=None, keepdim=False):
    order = 2 if p == "fro" or p is None else p
    return np.linalg.norm(x.reshape(-1) if dim is None else x, order, dim, keepdim)


op("linalg.vector_norm", T(3, 4, away=(0,)), S(T(3, 4, away=(0,)), 3, 1),
   S(T(3, 4, away=(0,)), 1, dim=0, keepdim=True), S(T(5, low=0.5, distinct=True), float("inf")),
   ref=lambda x, ord=2, dim=None, keepdim=False: np.linalg.norm(
       x.reshape(-1) if dim is None else x, ord, dim, keepdim), tol=10)
op("norm", T(3, 4, away=(0,)), S(T(3, 4, away=(0,)), 3, 1), S(T(3, 4, away=(0,)), "fro"),
   S(T(3, 4, away=(0,)), 1, dim=0, keepdim=True), ref=norm, tol=10,
   errors=[(S(T(3), "sup"), RuntimeError, "unknown")])
op("dist", S(T(3, 4), T(3, 4)), S(T(3, 4), T(4), 1),
   ref=lambda x, y, p=2: np.linalg.norm((x - y).reshape(-1), p), tol=10)
op("renorm", S(T(3, 4, low=0.5), 2, 0, 1.0), S(T(3, 4, low=0.5), 1, 1, 100.0), tol=10,
   ref=lambda x, p, dim, most: x * np.minimum(1, most / (
       np.linalg.norm(x, p, 1 - dim, True) + 1e-7)),
   errors=[(S(T(3, 4), -1, 0, 1.0), RuntimeError, "non-positive")])
op("sum_to_size", S(T(3, 4), (4,)), S(T(3, 4), (3, 1)), S(T(2, 3, 4), (1, 4)), tol=10,
   ref=lambda x, size: x.sum(tuple(i for i in range(x.ndim) if i < x.ndim - len(size)
       or size[i - x.ndim + len(size)] == 1), keepdims=True).reshape(size),
   errors=[(S(T(3, 4), (5,)), RuntimeError, "expandable")])
