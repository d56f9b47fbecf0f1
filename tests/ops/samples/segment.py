"""Reductions of runs of elements: core/ops/segment.cpp."""

# fmt: off
from itertools import pairwise

import numpy as np

from tests.ops.entry import S, T, alias, op

FOLDS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean}
EMPTY = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf, "mean": np.nan}


def segment_reduce(x, reduce, lengths=None, offsets=None, axis=0, unsafe=False, initial=None):
    if axis:
        return np.stack([segment_reduce(row, reduce, n, axis=axis - 1)
                         for row, n in zip(x, lengths)])
    starts = np.concatenate([[0], np.cumsum(lengths)]) if offsets is None else offsets
    parts = [x[a:b] for a, b in pairwise(starts)]
    empty = EMPTY[reduce] if initial is None else initial
    return np.stack([FOLDS[reduce](p, axis=0) if len(p) else np.full(x.shape[1:], empty) for p in parts])


LENGTHS, OFFSETS = np.array([2, 0, 3]), np.array([0, 1, 1, 5])
op("segment_reduce",
   *(S(T(5, 2, distinct=True), reduce, lengths=np.array([2, 3])) for reduce in FOLDS),
   S(T(5, 2), "sum", lengths=LENGTHS), S(T(5, 2), "prod", lengths=LENGTHS),
   S(T(5), "sum", offsets=OFFSETS), S(T(7), "sum", offsets=np.array([1, 3, 6]), unsafe=True),
   S(T(2, 3, distinct=True), "max", lengths=np.array([[1, 2], [2, 1]]), axis=1),
   S(T(5), "sum", lengths=LENGTHS, initial=0.0), ref=segment_reduce, tol=4,
   errors=[(S(T(5), "sum", lengths=np.array([2, 2])), RuntimeError, "sum to data.size"),
           (S(T(5), "sum", lengths=np.array([6, -1])), RuntimeError, "negative"),
           (S(T(5), "median", lengths=LENGTHS), RuntimeError, "unsupported reduction"),
           (S(T(5), "sum"), RuntimeError, "lengths or offsets")])
alias("_segment_reduce", "segment_reduce")
