"""The functions that formulas call, in terms of a graph: those of core/cpu/vmath.h,
vmath_trig.h and kernels/arithmetic.h, operation by operation, so that results are equal
bit for bit. tests/compiler compares them; a change there needs the same change here.

What is not here (gamma, Bessel and the like, integer division, pow of doubles) is left
to the eager kernel of its row, which generated code calls.
"""

from __future__ import annotations

from typing import Any

from ember.compiler._math import _basic, _erf, _exp, _log, _trig
from ember.compiler._math._basic import (
    abs,
    bits,
    from_bits,
    maximum,
    minimum,
    unfused,
    where,
)

__all__ = [
    "FUNCTIONS",
    "LIGHT",
    "abs",
    "bits",
    "from_bits",
    "maximum",
    "minimum",
    "unfused",
    "where",
]

_LIGHT = (
    "abs ceil floor trunc round conj sign sgn bitwise_not isnan isinf isfinite signbit "
    "isreal maximum minimum fmax fmin heaviside lerp left_shift right_shift where cut"
)
_ANY = f"{_LIGHT} reciprocal rsqrt"
_FLOATS = (
    "copysign sqrt trunc_divide exp exp2 expm1 tanh sigmoid cosh sinh log log2 log10 "
    "log1p asinh acosh atanh xlogy xlog1py log1p_exp logaddexp logaddexp2 sin cos tan "
    "sinc atan atan2 asin acos erf ndtr erfc"
)
_FLOAT32 = "pow hypot"


def _named(names: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for module in (_basic, _exp, _log, _trig, _erf):
        found |= vars(module)
    return {name: found[name] for name in names.split()}


LIGHT = frozenset(_LIGHT.split())  # of an instruction or a few
FUNCTIONS: dict[str, dict[str, Any]] = {  # by what they are computed in
    "int": _named(_ANY),
    "f64": _named(f"{_ANY} {_FLOATS}"),
    "f32": _named(f"{_ANY} {_FLOATS} {_FLOAT32}"),
}
