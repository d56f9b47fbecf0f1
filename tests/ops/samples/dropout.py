"""Noise in training: core/ops/dropout.cpp. Values: test_random.py."""

from tests.ops.entry import S, T, op

X = T(3, 4)
IMAGE = T(2, 3, 4)
WRONG = [(S(X, 1.5, True), RuntimeError, "between 0 and 1")]

for name in ("dropout", "alpha_dropout"):
    for form in (name, name + "_"):
        op(
            form,
            S(X, 0.3, True),
            S(X, 0.3, False),
            S(X, 0.0, True),
            S(X, 1.0, True),
            dtypes="fh",
            random=True,
            grad=False,
            errors=WRONG,
        )
for name in ("feature_dropout", "feature_alpha_dropout"):
    for form in (name, name + "_"):
        op(
            form,
            S(IMAGE, 0.3, True),
            S(IMAGE, 0.3, False),
            S(X, 0.3, True),
            dtypes="fh",
            random=True,
            grad=False,
            errors=[(S(T(4), 0.5, True), RuntimeError, "2 dimensions")],
        )
op(
    "native_dropout",
    S(X, 0.3, True),
    S(X, 0.3, False),
    dtypes="fh",
    random=True,
    grad=False,
)
op(
    "rrelu",
    S(X),
    S(X, 0.1, 0.3),
    S(X, 0.1, 0.3, True),
    dtypes="fh",
    random=True,
    grad=False,
    skip="inplace",  # draws other slopes than the function
    errors=[(S(X, 0.3, 0.1), RuntimeError, "Lower bound")],
)
