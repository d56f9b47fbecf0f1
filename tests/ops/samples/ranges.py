"""Sequences and triangles: core/ops/ranges.cpp."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, op

op("arange", S(5), S(2.5), S(1, 4), S(5, -2, -3), S(0.0, 1.0, 0.25), S(1, 7, step=2),
   S(3, dtype=ember.float64), S(0),
   ref=lambda *bounds, dtype=None, step=None: np.arange(*bounds, *([step] if step else [])),
   errors=[(S(0, 5, 0), RuntimeError, "nonzero"), (S(3, 0), RuntimeError, "inconsistent"),
           (S(0, float("inf")), RuntimeError, "unsupported range"),
           (S(3, dtype=ember.bool), NotImplementedError, "")])
op("range", S(0, 3), S(1.0, 2.0, 0.5), ref=lambda a, b, c=1: np.arange(a, b + c / 2, c))
op("linspace", S(0, 1, 5), S(3.0, -1.0, steps=4), S(0, 1, 1), S(0, 1, 0), S(0, 1j, 3),
   S(0, 10, 5, dtype=ember.int64), S(np.array(0.0), np.array(2.0), 3), skip="meta",
   ref=lambda a, b, steps, dtype=None: np.linspace(
       a, b, steps, dtype=dtype and np.int64),
   errors=[(S(0, 1, -1), RuntimeError, "non-negative")])
op("logspace", S(0, 2, 3), S(0.0, 1.0, 4, base=2.0),
   ref=lambda a, b, steps, base=10.0: np.logspace(a, b, steps, base=base),
   errors=[(S(0, 1, -1), RuntimeError, "non-negative")])
op("eye", S(3), S(2, 3), S(0), S(2, dtype=ember.int64),
   ref=lambda n, m=None, dtype=None: np.eye(n, m),
   errors=[(S(-1), RuntimeError, "greater or equal")])
op("tril_indices", S(3, 3), S(2, 4, 1), S(3, 2, offset=-1), S(0, 2),
   ref=lambda n, m, offset=0: np.stack(np.tril_indices(n, offset, m)),
   errors=[(S(-1, 2), RuntimeError, "non-negative")])
op("triu_indices", S(3, 3), S(2, 4, 1), S(3, 2, offset=-1), S(0, 2),
   ref=lambda n, m, offset=0: np.stack(np.triu_indices(n, offset, m)),
   errors=[(S(-1, 2), RuntimeError, "non-negative")])
op("tril", T(3, 4), S(T(2, 3, 3), -1), S(T(2, 4), diagonal=2), ref=lambda x, diagonal=0:
   np.tril(x, diagonal), dtypes="bifhc", result="same",
   errors=[(S(T(3)), RuntimeError, "2 dimensions")])
op("triu", T(3, 4), S(T(2, 3, 3), -1), S(T(2, 4), diagonal=2), ref=lambda x, diagonal=0:
   np.triu(x, diagonal), dtypes="bifhc", result="same",
   errors=[(S(T(3)), RuntimeError, "2 dimensions")])
op("vander", T(3, away=(0,)), S(T(3, away=(0,)), N=2), S(T(2, away=(0,)), increasing=True),
   ref=np.vander, dtypes="if", errors=[(S(T(2, 2)), RuntimeError, "one-dimensional")])
