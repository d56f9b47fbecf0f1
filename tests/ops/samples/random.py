"""Tensors of random numbers: core/ops/random.cpp. Values: test_random.py."""

import ember
from tests.ops.entry import S, T, op

X = T(3, 4, grad=False)
SIZES = [S((2, 3)), S(2, 3), S(()), S((0, 4)), S((20,), dtype=ember.float64)]
NEGATIVE = (S((-2, 3)), RuntimeError, "negative")


def drawn(name, *samples, **fields):
    op(name, *samples, random=True, grad=False, **fields)


drawn(
    "rand",
    *SIZES,
    errors=[NEGATIVE, (S(2, dtype=ember.int64), NotImplementedError, "")],
)
drawn(
    "randn",
    *SIZES,
    errors=[NEGATIVE, (S(2, dtype=ember.int64), NotImplementedError, "")],
)
drawn("rand_like", S(X), S(X, dtype=ember.float64))
drawn("randn_like", S(X), S(X, dtype=ember.float64))
drawn(
    "randint",
    S(7, (2, 3)),
    S(-3, 7, (2, 3)),
    S(7, (2,), dtype=ember.float32),
    errors=[
        (S(3, 3, (2,)), RuntimeError, "less than"),
        (S(300, (2,), dtype=ember.uint8), RuntimeError, "out of bounds"),
    ],
)
drawn("randint_like", S(X, 7), S(X, -3, 7), S(X, 7, dtype=ember.int64))
drawn(
    "randperm",
    S(9),
    S(9, dtype=ember.int32),
    S(0),
    errors=[
        (S(-1), RuntimeError, "negative"),
        (S(300, dtype=ember.uint8), RuntimeError, "too large"),
    ],
)
drawn(
    "uniform_",
    S(X),
    S(X, -1.0, 3.0),
    dtypes="fh",
    errors=[(S(X, 2.0, 1.0), RuntimeError, "from=2 > to=1")],
)
drawn(
    "normal_",
    S(X),
    S(X, -1.0, 3.0),
    S(T(5, 7)),
    dtypes="fhc",
    errors=[(S(X, 0.0, -1.0), RuntimeError, "std >= 0")],
)
drawn(
    "random_",
    S(X),
    S(X, 5),
    S(X, 2, 5),
    S(X, 2, None),
    dtypes="fhi",
    errors=[(S(X, 5, 3), RuntimeError, "less than")],
)
drawn(
    "exponential_",
    S(X),
    S(X, 3.0),
    dtypes="fh",
    errors=[(S(X, 0.0), RuntimeError, "lambda > 0")],
)
drawn(
    "geometric_",
    S(X, 0.3),
    dtypes="fhi",
    errors=[(S(X, 1.5), RuntimeError, "in \\(0, 1\\)")],
)
drawn(
    "cauchy_",
    S(X),
    S(X, 1.0, 2.0),
    dtypes="fh",
    errors=[(S(X, 0.0, 0.0), RuntimeError, "sigma > 0")],
)
drawn(
    "log_normal_",
    S(X),
    S(X, 0.0, 0.5),
    dtypes="fh",
    errors=[(S(X, 0.0, 0.0), RuntimeError, "std > 0")],
)
