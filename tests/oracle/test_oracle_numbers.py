"""Python ints of every size as operands and arguments, beside torch.

The same value, or the same type of exception. Wide unsigned dtypes are left out, since
torch computes little in them.
"""

import operator

import numpy as np
import pytest

import ember

torch = pytest.importorskip("torch")

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64"
VALUES = [
    *(300, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64, 10**30),
    *(-1, -(2**31), -(2**63), -(2**63) - 1, -(2**64), -(10**30)),
]
MASK = [True, False, True]


def assigned(x, key, value):
    x[key] = value
    return x


OPS = {
    name: (lambda m, x, n, name=name: getattr(m, name)(x, n))
    for name in "add sub mul div true_divide rsub eq ne lt le gt ge "
    "bitwise_and bitwise_or bitwise_xor remainder fmod xlogy copysign "
    "float_power".split()
}
OPS |= {
    f"{name}_": (lambda m, x, n, name=name: getattr(x, f"{name}_")(n))
    for name in "add mul div eq lt fill".split()
}
OPS |= {
    f"operator {name}": (lambda m, x, n, name=name: getattr(operator, name)(x, n))
    for name in "add sub mul truediv eq lt ge and_ or_ xor iadd imul".split()
}
OPS |= {
    f"number {name} tensor": (lambda m, x, n, name=name: getattr(operator, name)(n, x))
    for name in "add sub mul eq lt ge".split()
}
OPS |= {
    "clamp min": lambda m, x, n: m.clamp(x, min=n),
    "clamp max": lambda m, x, n: m.clamp(x, max=n),
    "full_like": lambda m, x, n: m.full_like(x, n),
    "where": lambda m, x, n: (
        m.where(m.tensor(MASK), x, n) if x.dtype.is_floating_point else None
    ),
    "tensor": lambda m, x, n: m.tensor([n, 1], dtype=x.dtype),
    "add alpha": lambda m, x, n: m.add(x, x, alpha=n) if x.dtype != m.bool else None,
    "addcmul": lambda m, x, n: (
        m.addcmul(x, x, x, value=n) if x.dtype != m.bool else None
    ),
    "masked_fill": lambda m, x, n: x.masked_fill(m.tensor(MASK), n),
    "index_fill": lambda m, x, n: x.index_fill(0, m.tensor([1]), n),
    "scatter": lambda m, x, n: x.scatter(0, m.tensor([1]), n),
    "assign one": lambda m, x, n: assigned(x, 1, n),
    "assign all": lambda m, x, n: assigned(x, slice(None), n),
    "assign by mask": lambda m, x, n: assigned(x, m.tensor(MASK), n),
    "assign by index": lambda m, x, n: assigned(x, m.tensor([0, 2]), n),
    "lerp": lambda m, x, n: m.lerp(x, x + 1, n) if x.dtype.is_floating_point else None,
    "result_type": lambda m, x, n: str(m.result_type(x, n)).rpartition(".")[2],
    "sum dim": lambda m, x, n: m.sum(x, n),
    "sum dims": lambda m, x, n: m.sum(x, (n,)),
    "unsqueeze": lambda m, x, n: x.unsqueeze(n),
    "narrow": lambda m, x, n: x.narrow(0, n, 1),
    "reshape": lambda m, x, n: x.reshape(n),
    "item": lambda m, x, n: x[n],
    "slice": lambda m, x, n: x[:n],
    "tril": lambda m, x, n: m.tril(x[None], n),
    "uint64": lambda m, x, n: m.tensor([n], dtype=m.uint64).item(),
    "full uint64": lambda m, x, n: m.full((1,), n, dtype=m.uint64).item(),
}


def outcome(m, op, dtype, n):
    kind = getattr(m, dtype)
    x = m.tensor([0, 1, 1] if dtype == "bool" else [0, 1, 3], dtype=kind)
    try:
        result = OPS[op](m, x, n)
    except Exception as error:
        return type(error).__name__
    if hasattr(result, "tolist"):
        name = str(result.dtype).rpartition(".")[2]
        wide = m.complex128 if result.dtype.is_complex else m.float64
        if result.dtype.is_floating_point or result.dtype.is_complex:
            result = result.to(wide)
        return name, tuple(result.shape), np.array(result.tolist())
    return result


def agree(a, b):
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return type(a) is type(b) and a == b
    if a[:2] != b[:2]:
        return False
    if a[0].startswith("complex"):  # infinities meet in many ways
        finite = np.isfinite(a[2]) & np.isfinite(b[2])
        return np.allclose(a[2][finite], b[2][finite], rtol=1e-5)
    if a[2].dtype.kind == "f":
        rtol = 1e-2 if a[0] in ("float16", "bfloat16") else 1e-5
        return np.allclose(a[2], b[2], rtol=rtol, atol=0, equal_nan=True)
    return np.array_equal(a[2], b[2])


@pytest.mark.parametrize("op", OPS)
def test_ints_of_every_size(op):
    wrong = []
    for dtype in DTYPES.split():
        for n in VALUES:
            want, got = outcome(torch, op, dtype, n), outcome(ember, op, dtype, n)
            if not agree(want, got):
                wrong.append(f"{dtype}, {n}: {want} in torch, {got} here")
    assert not wrong, "\n".join(wrong)
