"""float16 and bfloat16 beside numbers and other types give torch's bits.

Only functions whose results do not depend on how a library computes an exponential.
"""

import pytest

import ember

torch = pytest.importorskip("torch")

NUMBERS = [0.1, 0.7, 1.3, -1.7, 3.14159, 100.3, 0.0033, 1 / 3]
NAMES = (
    "add sub rsub mul div floor_divide remainder fmod maximum minimum fmax fmin eq ne "
    "lt le gt ge copysign nextafter clamp_min clamp_max"
).split()
FUNCTIONS = {
    **{n: lambda m, a, b, n=n: getattr(m, n)(a, b) for n in NAMES},
    "floor": lambda m, a, b: m.div(a, b, rounding_mode="floor"),
    "trunc": lambda m, a, b: m.div(a, b, rounding_mode="trunc"),
    "where": lambda m, a, b: m.where(m.arange(256) % 3 == 0, a, b),
    "add_": lambda m, a, b: a.clone().add_(b),
    "mul_": lambda m, a, b: a.clone().mul_(b),
    "remainder_": lambda m, a, b: a.clone().remainder_(b),
    "+": lambda m, a, b: a + b,
    "-": lambda m, a, b: a - b,
    "*": lambda m, a, b: a * b,
    "//": lambda m, a, b: a // b,
    "%": lambda m, a, b: a % b,
    "lerp": lambda m, a, b: m.lerp(a, a.flip(0), b),
    "value": lambda m, a, b: m.addcmul(a, a.flip(0), a, value=b),
    "addcmul": lambda m, a, b: m.addcmul(a, a.flip(0), b, value=1.7),
    "addcdiv": lambda m, a, b: m.addcdiv(a, a.flip(0), b, value=1.7),
    "shrink": lambda m, a, b: m.nn.functional.hardshrink(a, b),
    "clamp": lambda m, a, b: m.clamp(a, b, 2.3),
}
# torch has another answer for these where memory is strided.
DENSE = {
    "add, alpha": lambda m, a, b: m.add(a, b, alpha=1.7),
    "sub, alpha": lambda m, a, b: m.sub(a, b, alpha=1.7),
    "rsub, alpha": lambda m, a, b: m.rsub(a, b, alpha=1.7),
}
FORMS = {
    "number": lambda m, v, t: v,
    "float32": lambda m, v, t: m.tensor(v),
    "float64": lambda m, v, t: m.tensor(v, dtype=m.float64),
    "same": lambda m, v, t: m.tensor(v, dtype=t),
    "one": lambda m, v, t: m.tensor([v], dtype=t),
    "whole": lambda m, v, t: m.full((256,), v, dtype=t),
    "integer": lambda m, v, t: m.tensor(int(v * 4099)),
    "integers": lambda m, v, t: m.arange(256) * 17 + int(v),
}


def bits(m, t):
    if t.dtype not in (m.float16, m.bfloat16):
        return t.tolist()
    t = m.where(t.isnan(), m.tensor(float("nan"), dtype=t.dtype), t)
    return t.contiguous().view(m.int16).tolist()


def run(m, f, dtype, form, value, swap, strided):
    t = getattr(m, dtype)
    values = [((i * 37 + 11) % 256 - 128) ** 3 / 31013 for i in range(256)]
    values[: len(NUMBERS)] = NUMBERS
    x = m.tensor(values).to(t)
    if strided:
        x = m.stack([x, x], 1)[:, 0]
    other = FORMS[form](m, value, t)
    try:
        return bits(m, f(m, other, x) if swap else f(m, x, other))
    except (AttributeError, TypeError, RuntimeError):
        return None  # takes no such operand


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*FUNCTIONS, *DENSE])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_bits(dtype, name, form):
    f = FUNCTIONS.get(name) or DENSE[name]
    for value in NUMBERS:
        for swap in (False, True):
            for strided in (False,) if name in DENSE else (False, True):
                case = (f, dtype, form, value, swap, strided)
                expected = run(torch, *case)
                if expected is not None:
                    assert run(ember, *case) == expected, case
