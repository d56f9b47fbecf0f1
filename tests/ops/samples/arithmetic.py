"""Pointwise ops with signatures of their own: core/ops/arithmetic.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, alias, op
from tests.ops.samples.pointwise import odd_values

MASK = T(3, 4, dtype="bool")

op("clamp", S(T(3, 4, away=(-1, 1)), -1.0, 1.0), S(T(3, 4, away=(1,)), max=1.0), S(T(3, 4), T(4), T(3, 4)),
   dtypes="fh", result="same", ref=lambda x, min=None, max=None: np.clip(x, min, max),
   errors=[(S(T(3)), RuntimeError, "At least one|one of")])
alias("clip", "clamp")
op("addcmul", S(T(3, 4), T(4), T(3, 1)), S(T(3, 4), T(3, 4), T(3, 4), value=2), dtypes="ifhc", result="promote",
   ref=lambda x, a, b, value=1: x + value * a * b)
op("addcdiv", S(T(3, 4), T(4), T(3, 1, away=(0,))), S(T(3), T(3), T(3, away=(0,)), value=2), dtypes="fhc",
   result="promote", ref=lambda x, a, b, value=1: x + value * a / b)
op("lerp", S(T(3, 4), T(3, 4), 0.3), S(T(3, 4), T(4), T(3, 4)), dtypes="fhc", result="promote",
   ref=lambda a, b, w: a + w * (b - a), tol=4)
op("where", S(MASK, T(3, 4), T(4)), S(MASK, T(3, 4), 2.0), S(MASK), dtypes="fhc",
   ref=lambda c, *ab: np.where(c, *ab), skip="method meta")  # self is the second; nonzero
op("rsub", S(T(3, 4), T(4)), S(T(3, 4), 2), S(T(3, 4), T(3, 4), alpha=2), dtypes="ifhc", result="promote",
   ref=lambda a, b, alpha=1: b - alpha * a)
op("float_power", S(T(3, 4, low=0.2, high=3), T(3, 4)), S(T(3, 4, low=0.2, high=3), 2), dtypes="f",
   result="float64", ref=np.power, tol=1e6, skip="inplace promotion")  # always float64
op("nan_to_num", T(3, 5, make=odd_values), S(T(3, 5, make=odd_values), 1.0, 2.0, 3.0), dtypes="fi",
   grad=False, skip="value")
op("positive", T(3, 4), ref=np.positive, dtypes="ifhc", result="same")
op("allclose", S(T(3), T(3)), S(T(3, make=np.ones_like), T(3, make=np.ones_like)), ref=np.allclose, skip="meta")
op("equal", S(T(3), T(3)), S(T(3, make=np.ones_like), T(3, make=np.ones_like)), ref=np.array_equal, skip="meta")
