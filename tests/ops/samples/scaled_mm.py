"""core/ops/scaled_mm.cpp."""

import ember

from ..entry import S, T, op


def _bytes(*shape):
    return T(*shape, low=-4, high=4, dtype="float8_e4m3fn", grad=False)


def _scale(*shape):
    return T(*shape, low=0.5, high=2, dtype="float32", grad=False)


def _product(a, b, scale_a, scale_b, bias=0, out_dtype=None):
    return (a * scale_a) @ (b * scale_b) + bias


F32 = {"out_dtype": ember.float32}
op(
    "_scaled_mm",
    S(_bytes(3, 4), _bytes(4, 5), _scale(), _scale(), **F32),
    S(_bytes(3, 4), _bytes(4, 5), _scale(3, 1), _scale(1, 5), _scale(5), **F32),
    ref=_product,
    grad=False,
    skip="broadcast promotion noncontiguous",  # scales are contiguous, as in PyTorch
    errors=[
        (S(_bytes(3, 4), _bytes(3, 4), _scale(), _scale()), RuntimeError, "multiplied"),
        (S(_bytes(3), _bytes(3, 4), _scale(), _scale()), RuntimeError, "a matrix"),
        (S(T(3, 4), _bytes(4, 3), _scale(), _scale()), ValueError, "scaling conf"),
        (S(_bytes(3, 4), _bytes(4, 5), _scale(3), _scale(5)), ValueError, "RowWise"),
        (
            S(_bytes(3, 4), _bytes(4, 5), _scale(), _scale(), _scale(4)),
            RuntimeError,
            "size 5",
        ),
    ],
)
