"""Complex tensors from real parts: core/ops/complex.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

op("complex", S(T(2, 3), T(2, 3)), S(T(3), T(1)), ref=lambda a, b: a + 1j * b,
   skip="promotion", errors=[
       (S(T(2, dtype="int64"), T(2)), RuntimeError, "Expected both inputs"),
       (S(T(2, dtype="float32"), T(2, dtype="float64")), RuntimeError, "second argument")])
op("polar", S(T(2, 3, low=0.1), T(2, 3)), ref=lambda r, phi: r * np.exp(1j * phi),
   skip="promotion",
   errors=[(S(T(2, dtype="int64"), T(2)), RuntimeError, "Expected both inputs")])
