"""Compares generated code with the eager kernels, bit for bit: every row, in every
dtype that has a kernel, on ordinary and on extreme values. Run once for each level by
test_rows.py, as a process of its own:

    EMBER_CPU_LEVEL=avx2 python -m tests.compiler.rows
"""

import ctypes
import itertools
import random
import sys

import numpy as np

import ember
from ember.compiler import _llvm, _rows
from ember.compiler._kernel import Fused
from ember.compiler._program import Builder

DTYPES = tuple(_rows.VALUE)
SIZE = 1021  # of which the last vector is not full
PARAMS = {
    "round_decimals": [(0.0, 100.0), (1.0, 10.0)],
    "nan_to_num": [(0.5, 7.0, -7.0)],
    "pow_scalar": [(0.5,), (3.0,), (-1.25,), (2.0,), (0.0,)],
    "softplus": [(1.0, 20.0, 1.0), (0.7, 2.0, 1 / 0.7)],
    "hardtanh": [(-1.0, 1.0), (-3.0, 2.5)],
    "leaky_relu": [(0.01,)],
    "elu": [(1.0, 1.0, 1.0), (1.67, 1.05, 0.9)],
    "hardshrink": [(0.5,)],
    "softshrink": [(0.5,)],
    "huber": [(1.0,), (0.3,)],
    "threshold": [(0.1, 20.0)],
    "logit_eps": [(1e-3, 0.999)],
    "polygamma": [(2.0,)],
    "isclose": [(1e-5, 1e-8, 0.0), (1e-1, 1e-3, 1.0)],
    "addcmul": [(0.7,)],
    "addcdiv": [(-1.3,)],
}


class Params(ctypes.Structure):
    _fields_ = [("p", ctypes.c_double * 3), ("zero_division", ctypes.c_void_p)]


def numpy_type(dtype: str) -> str:
    return {"bfloat16": "uint16", "bool": "uint8"}.get(dtype, dtype)


def special(dtype: str) -> list[float]:
    """What functions are likely to get wrong."""
    if dtype == "bool":
        return [0, 1]
    if not dtype.startswith(("float", "bfloat")):
        info = np.iinfo(dtype)
        near = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 31, 64]
        return near + ([-1, -2, -3] if info.min else [])
    tiny = {"float64": 5e-324, "float16": 6e-8}.get(dtype, 1e-45)
    large = {"float64": 1.7e308, "float16": 65504.0}.get(dtype, 3.4e38)
    least = {"float64": 2.3e-308, "float16": 6.2e-5}.get(dtype, 1.2e-38)
    some = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0, 10.0, 20.0, 88.7, 104.0, 709.0]
    some += [tiny, least, large, 1e5, 1e7, float("inf"), 0.9999999, 3.14159265]
    some += [4096.5, 12345.678, 1e-5, 1e-20, 0.25, 2.5, 65000.0]
    return [s * v for v in some for s in (1, -1)] + [float("nan")]


def values(dtype: str, seed: int, mild: bool) -> ember.Tensor:
    """Numbers of all sizes; the special ones first, unless they are to be mild."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return ember.tensor(rng.integers(0, 2, SIZE).astype(bool))
    if not dtype.startswith(("float", "bfloat")):
        info = np.iinfo(dtype)
        small = rng.integers(max(info.min, -9), 9, SIZE)
        wide = rng.integers(info.min, info.max, SIZE, dtype, endpoint=True)
        v = np.where(rng.random(SIZE) < 0.5, small, wide).astype(dtype)
    else:
        small = rng.standard_normal(SIZE) * rng.choice([0.1, 1.0, 5.0], SIZE)
        wide = np.ldexp(small, rng.integers(-40, 40, SIZE))
        v = small if mild else np.where(rng.random(SIZE) < 0.7, small, wide)
    if not mild:
        first = random.Random(seed).sample(special(dtype), len(special(dtype)))
        with np.errstate(over="ignore"):
            v[: len(first)] = np.array(first, v.dtype)
    with np.errstate(over="ignore"):
        return ember.tensor(v).to(getattr(ember, dtype))


def nonzero(t: ember.Tensor) -> ember.Tensor:
    return ember.where(t == 0, ember.ones_like(t), t)


def same(a: ember.Tensor, b: ember.Tensor) -> ember.Tensor:
    """Where bits agree, or both are NaN."""
    if not a.dtype.is_floating_point:
        return a == b
    size = {2: ember.int16, 4: ember.int32, 8: ember.int64}[a.element_size()]
    return (a.view(size) == b.view(size)) | (a.isnan() & b.isnan())


def eager(kind: str, name: str, native: str, operands, params) -> ember.Tensor:
    """The eager kernel alone, on contiguous operands of its own dtype."""
    address, _ = _rows.kernel(kind, name, native)
    result = "bool" if kind in ("predicate", "compare") else native
    out = ember.empty(SIZE, dtype=getattr(ember, result))
    flag = ctypes.c_bool(False)
    given = Params((ctypes.c_double * 3)(*params), ctypes.addressof(flag))
    pointer = ctypes.c_void_p
    kernel = ctypes.CFUNCTYPE(
        None, *[pointer] * (len(operands) + 1), ctypes.c_int64, pointer
    )(address)
    pointers = [t.data_ptr() for t in (*operands, out)]
    kernel(*pointers, SIZE, ctypes.addressof(given))
    return out


def fused(kind: str, name: str, native: str, operands, params) -> ember.Tensor:
    b = Builder()
    args = [b.load(_rows.name_of(t.dtype)) for t in operands]
    # An exponent is part of the code, as the eager kernel chooses by it.
    if name == "pow_scalar":
        slots = tuple(b.constant(p) for p in params)
    else:
        slots = tuple(b.number() for _ in params)
    y = b.row(kind, name, *args, compute=native, params=slots)
    numbers = () if name == "pow_scalar" else params
    return Fused(b.program([y]))(*operands, numbers=numbers)[0]


POINTWISE = {"unary", "predicate", "binary", "compare", "ternary"}


def cases():
    for (kind, name), row in _rows.rows().items():
        kinds = [kind] if kind in POINTWISE else []
        if kind == "unary" and row.keep in ("x", "y"):
            kinds.append("unary_grad")
        for one, dtype in itertools.product(kinds, DTYPES):
            found = _rows.kernel(one, name, dtype)
            if found and found[1] == dtype:
                yield one, name, dtype


def compare(kind: str, name: str, dtype: str) -> str:
    """How generated code differs from the eager kernel; empty if it does not."""
    count = {"unary": 1, "predicate": 1, "ternary": 3}.get(kind, 2)
    divides = name in ("floor_divide", "trunc_divide", "remainder", "fmod")
    # What is left to the eager kernel can take for ever where a number is huge.
    tempers = (True, False)
    if dtype in ("float32", "float64") and not _rows.formula(kind, name, dtype):
        tempers = (True,)
    for mild, params in itertools.product(tempers, PARAMS.get(name, [()])):
        operands = [values(dtype, 7 * i + mild, mild) for i in range(count)]
        if name == "where":
            operands[0] = values("bool", 5, True)
        if divides and not dtype.startswith(("float", "bfloat")):
            operands[1] = nonzero(operands[1])
        want = eager(kind, name, dtype, operands, params)
        got = fused(kind, name, dtype, operands, params)
        wrong = ~same(got, want)
        if wrong.any():
            at = int(wrong.nonzero()[0])
            given = [t[at].item() for t in operands]
            return (
                f"{kind} {name} {dtype} {params}: {int(wrong.sum())} of {SIZE} differ, "
                f"{given} -> {got[at].item()!r}, eager {want[at].item()!r}"
            )
    return ""


def main() -> int:
    only = sys.argv[1:]
    checked = failed = 0
    for kind, name, dtype in cases():
        if only and name not in only:
            continue
        checked += 1
        if difference := compare(kind, name, dtype):
            failed += 1
            print(difference)
    print(f"{_llvm.level()}: {checked} rows, {failed} differ")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
