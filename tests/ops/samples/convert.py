"""Conversions by name and questions about dtypes: core/ops/convert.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

REAL = "bif"


def _halves(x):
    return x.astype(np.float16).astype(np.float32)


for name, dtype in {
    "float": "float32", "double": "float64", "half": "float16", "int": "int32",
    "long": "int64", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
}.items():
    op(name, T(2, 3, low=0, high=100), dtypes="bif", result=dtype, grad=False,
       ref=lambda x, dtype=dtype: x.astype(dtype), tol=100)
op("bfloat16", T(2, 3), dtypes=REAL, result="bfloat16", grad=False)
op("cfloat", T(2, 3), ref=lambda x: x + 0j, dtypes="bifc", result="complex64", grad=False)
op("chalf", T(2, 3), ref=lambda x: _halves(x.real) + 1j * _halves(x.imag), dtypes="bifc",
   result="complex32", grad=False)
op("cdouble", T(2, 3), ref=lambda x: x + 0j, dtypes="bifc", result="complex128")
op("cpu", T(2, 3), ref=np.copy, dtypes="bifhc", result="same", skip="meta")
op("type_as", S(T(2, 3), T(1, grad=False)), ref=lambda x, y: x, dtypes="bifhc",
   result="same", skip="promotion")
op("pin_memory", T(2, 3), ref=np.copy, result="same")

op("is_floating_point", T(2), ref=lambda x: True, grad=False)
op("is_complex", T(2), ref=lambda x: False, grad=False)
op("is_signed", T(2), ref=lambda x: True, grad=False)
op("numel", T(2, 3), T(), ref=lambda x: x.size, grad=False)
op("is_nonzero", T(away=(0,)), ref=lambda x: True, grad=False, skip="meta",
   errors=[(S(T(2)), RuntimeError, "ambiguous"), (S(T(0)), RuntimeError, "no values")])
op("is_same_size", S(T(2, 3), T(2, 3)), ref=lambda x, y: True, grad=False, skip="broadcast")
op("is_inference", T(2), ref=lambda x: False, grad=False)
op("get_device", T(2), ref=lambda x: -1, grad=False, skip="meta")
op("to_dense", T(2, 3), ref=np.copy, dtypes="bifhc", result="same")
op("is_conj", T(2), ref=lambda x: False, grad=False)
op("is_neg", T(2), ref=lambda x: False, grad=False)
op("resolve_conj", T(2, 3), ref=np.copy, dtypes="bifhc", result="same")
op("resolve_neg", T(2, 3), ref=np.copy, dtypes="bifhc", result="same")
