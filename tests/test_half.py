"""Numbers beside float16 and bfloat16: rounded to the type, but for exact factors.

x + 0.1 adds the number that x's type has for 0.1, as it would if 0.1 were a tensor of
that type; x * 0.1 and x / 0.1 take the float32 nearest to 0.1.
"""

import pytest

import ember

NUMBERS = [0.1, 1.3, -1.7, 1 / 3, 100.3]
HALVES = [ember.float16, ember.bfloat16]

ROUNDED = {
    "add": ember.add,
    "sub": ember.sub,
    "rsub": ember.rsub,
    "remainder": ember.remainder,
    "fmod": ember.fmod,
    "pow": ember.pow,
    "atan2": ember.atan2,
    "maximum": ember.maximum,
    "fmin": ember.fmin,
    "hypot": ember.hypot,
    "logaddexp": ember.logaddexp,
    "xlogy": ember.xlogy,
    "xlog1py": ember.special.xlog1py,
    "nextafter": ember.nextafter,
    "copysign": ember.copysign,
    "eq": ember.eq,
    "lt": ember.lt,
    "ge": ember.ge,
    "clamp_min": ember.clamp_min,
    "where": lambda a, b: ember.where(ember.tensor([True, False] * 500), a, b),
    "add, alpha": lambda a, b: ember.add(a, b, alpha=1.7),
    "addcmul": lambda a, b: ember.addcmul(a, a, b, value=1.7),
    "lerp": lambda a, b: ember.lerp(a, -a, b),
}
FACTORS = {
    "mul": ember.mul,
    "div": ember.div,
    "floor_divide": ember.floor_divide,
    "div, trunc": lambda a, b: ember.div(a, b, rounding_mode="trunc"),
}
FORMS = {
    "number": lambda v: v,
    "float32": ember.tensor,
    "float64": lambda v: ember.tensor(v, dtype=ember.float64),
}
# Those that take no number.
TENSORS_ONLY = "atan2 maximum fmin hypot logaddexp nextafter addcmul lerp".split()


def bits(t):
    if t.dtype not in HALVES:
        return t.tolist()
    t = ember.where(t.isnan(), ember.tensor(float("nan"), dtype=t.dtype), t)
    return t.contiguous().view(ember.int16).tolist()


def some(dtype, strided):
    ember.manual_seed(0)
    x = (ember.randn(1000) * 5).to(dtype)
    x[: len(NUMBERS)] = ember.tensor(NUMBERS).to(dtype)
    return ember.stack([x, x], 1)[:, 0] if strided else x


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize("dtype", HALVES)
def test_numbers_are_rounded_to_the_type(dtype, name, strided):
    x, f = some(dtype, strided), ROUNDED[name]
    for value in NUMBERS:
        whole = bits(f(x, ember.full((1000,), value, dtype=dtype)))
        for form, make in FORMS.items():
            if form != "number" or name not in TENSORS_ONLY:
                assert bits(f(x, make(value))) == whole, (form, value)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("dtype", HALVES)
def test_a_second_factor_is_exact(dtype, name, form):
    x, f = some(dtype, False), FACTORS[name]
    for value in NUMBERS:
        exact = f(x.float(), ember.full((1000,), value)).to(dtype)
        assert bits(f(x, FORMS[form](value))) == bits(exact)


@pytest.mark.parametrize("name", ["add", "sub", "remainder", "pow", "xlogy", *FACTORS])
@pytest.mark.parametrize("dtype", HALVES)
def test_a_first_operand_is_rounded(dtype, name):
    x, f = some(dtype, False), {**ROUNDED, **FACTORS}[name]
    for value in NUMBERS:
        whole = ember.full((1000,), value, dtype=dtype)
        assert bits(f(value, x)) == bits(f(whole, x))
        assert bits(f(ember.tensor(value), x)) == bits(f(whole, x))


@pytest.mark.parametrize("dtype", HALVES)
def test_operators(dtype):
    x = some(dtype, False)
    whole = ember.full((1000,), 0.1, dtype=dtype)
    assert bits(0.1 * x) == bits(x * 0.1) == bits((x.float() * 0.1).to(dtype))
    assert bits(0.1 + x) == bits(x + 0.1) == bits(x + whole)
    assert bits(0.1 - x) == bits(whole - x)
    y = x.clone()
    y += 0.1
    assert bits(y) == bits(x + whole)


@pytest.mark.parametrize("dtype", HALVES)
def test_integers_are_rounded_to_the_type(dtype):
    x, n = some(dtype, False), ember.arange(1000) * 3 + 2049
    for f in (ember.add, ember.mul, ember.div, ember.remainder, ember.lt):
        assert bits(f(x, n)) == bits(f(x, n.to(dtype)))
        assert bits(f(n, x)) == bits(f(n.to(dtype), x))


def test_what_is_rounded_still_gets_its_gradient():
    x = ember.ones(3, dtype=ember.float16, requires_grad=True)
    w = ember.tensor(0.1, requires_grad=True)
    (x + w).sum().backward()
    assert w.grad.dtype == ember.float32
    assert w.grad.item() == 3
    assert x.grad.tolist() == [1, 1, 1]


def test_exponents_and_thresholds_are_rounded():
    x = some(ember.float16, False).abs()
    exponent = ember.tensor(0.1, dtype=ember.float16).item()
    assert bits(x**0.1) == bits(x**exponent)
    shrunk = ember.nn.functional.hardshrink(ember.tensor(0.1, dtype=ember.float16), 0.1)
    assert shrunk.item() == 0
