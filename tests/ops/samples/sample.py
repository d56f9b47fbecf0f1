"""Draws with a tensor of parameters: core/ops/sample.cpp. Values: test_random.py."""

import numpy as np

from tests.ops.entry import S, T, op

X = T(3, 4, grad=False)
P = T(3, 4, low=0.1, high=0.9, grad=False)
POSITIVE = T(3, 4, low=0.1, high=9.0, grad=False)


def drawn(name, *samples, **fields):
    op(name, *samples, random=True, grad=False, **fields)


drawn(
    "normal",
    S(X, POSITIVE),
    S(X, T(4, low=0.1, high=2.0)),
    S(X),
    S(X, 2.0),
    S(1.5, POSITIVE),
    S(1.5, 2.0, (2, 3)),
    dtypes="fh",
    skip="meta",  # one overload takes no tensor
    errors=[
        (S(X, -1.0), RuntimeError, "std >= 0"),
        (S(X, np.array([-1.0, 1, 1, 1])), RuntimeError, "all elements"),
    ],
)
drawn(
    "bernoulli",
    S(P),
    S(X, 0.3),
    dtypes="fh",
    errors=[
        (S(np.array([2.0])), RuntimeError, "<= 1"),
        (S(np.array([1, 0])), NotImplementedError, ""),
    ],
)
drawn(
    "bernoulli_",
    S(X),
    S(X, 0.3),
    S(X, P),
    S(X, T(4, low=0.1, high=0.9)),
    dtypes="fhib",
    errors=[(S(X, 1.5), RuntimeError, "\\[0, 1\\]")],
)
drawn(
    "poisson",
    S(POSITIVE),
    S(T(3, low=20.0, high=90.0)),
    dtypes="fh",
    errors=[(S(np.array([-1.0])), RuntimeError, "non-negative")],
)
drawn(
    "binomial",
    S(T(3, 1, low=5.0, high=90.0), P),
    dtypes="fh",
    errors=[(S(np.array([1]), np.array([1])), ValueError, "floating")],
)
drawn(
    "multinomial",
    S(P, 3),
    S(P, 1),
    S(P, 9, replacement=True),
    S(T(5, low=0.1, high=1.0), 2),
    dtypes="fh",
    errors=[
        (S(P, 5), RuntimeError, "without replacement"),
        (S(P, 0), RuntimeError, "n_sample <= 0"),
        (S(np.zeros(3), 1), RuntimeError, "sum of probabilities"),
        (S(np.array([-1.0, 2.0]), 1), RuntimeError, "element < 0"),
    ],
)
drawn("_standard_gamma", S(POSITIVE), dtypes="fh")
drawn("_sample_dirichlet", S(POSITIVE), dtypes="fh")
op("_standard_gamma_grad", S(POSITIVE, POSITIVE), grad=False)
op("_dirichlet_grad", S(P, P, T(3, 4, low=1.0, high=3.0)), grad=False)
