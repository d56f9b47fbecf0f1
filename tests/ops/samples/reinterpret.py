"""Bytes under another dtype: core/ops/reinterpret.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op, view_forms

ANY = "bifhc"

op("view_as_real", T(2, 3), dtypes="c", view=True, result="real",
   ref=lambda x: np.stack([x.real, x.imag], -1),
   errors=[(S(T(2, dtype="float32")), RuntimeError, "complex")])
op("view_as_complex", T(3, 2), view=True, ref=lambda x: x[..., 0] + 1j * x[..., 1],
   errors=[(S(T(3)), RuntimeError, "size 2")],
   skip="noncontiguous")  # the last stride must be 1
view_forms("view_as_real", "copy")
view_forms("view_as_complex", "copy")
op("real", T(2, 3), dtypes=ANY, ref=np.real, result="real")
op("imag", T(2, 3), dtypes="c", view=True, ref=np.imag, result="real",
   errors=[(S(T(2, dtype="float32")), RuntimeError, "non-complex")])
op("conj", T(2, 3), dtypes=ANY, ref=np.conj, result="same")
