"""Random pointwise programs: generated code equals op by op, bit for bit."""

import hypothesis
import hypothesis.strategies as st
import pytest

import ember
from ember.compiler._program import Builder

from . import needs_jit

pytestmark = needs_jit

UNARY = "exp log sqrt tanh sigmoid neg abs square reciprocal sin cos erf relu".split()
BINARY = "add sub mul div maximum minimum".split()
COMPARE = "lt le gt ge eq ne".split()
FORMS = ((4, 37), (1, 37), (4, 1), (), (37,))
SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-42, 3e38, 1e30)


@st.composite
def programs(draw):
    """The dtype, the shapes of the inputs, and steps that name earlier values."""
    dtype = draw(st.sampled_from(["float32", "float64", "bfloat16", "float16"]))
    shapes = [(4, 37), *draw(st.lists(st.sampled_from(FORMS), max_size=2))]
    count, steps = len(shapes), []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["unary", "binary", "binary", "number", "where"]))
        value = st.integers(0, count - 1)
        names = {"unary": UNARY, "where": COMPARE}.get(kind, BINARY)
        step = (kind, draw(st.sampled_from(names)), draw(value), draw(value))
        number = draw(st.sampled_from([0.5, -2.0, 0.1, 3.0]))
        steps.append((*step, draw(value), number))
        count += 1
    return dtype, shapes, steps, draw(st.integers(0, 1000))


def inputs(dtype, shapes, seed):
    generator = ember.Generator().manual_seed(seed)
    made = []
    for shape in shapes:
        x = ember.randn(shape, generator=generator, dtype=ember.float64) * 3
        flat = x.reshape(-1)
        for i, v in enumerate(SPECIAL[: flat.numel() // 4]):
            flat[(i * 17 + seed) % flat.numel()] = v
        made.append(x.to(getattr(ember, dtype)))
    return made


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(programs())
def test_random_programs(given):
    from ember.compiler._kernel import Fused

    dtype, shapes, steps, seed = given
    tensors = inputs(dtype, shapes, seed)
    b = Builder()
    symbols = [b.load(dtype) for _ in tensors]
    values, numbers = list(tensors), []
    for kind, name, i, j, k, number in steps:
        x, y, z = values[i], values[j], values[k]
        sx, sy, sz = symbols[i], symbols[j], symbols[k]
        if kind == "unary":
            values.append(getattr(ember, name)(x))
            symbols.append(b.unary(name, sx))
        elif kind == "where":
            values.append(ember.where(getattr(ember, name)(x, y), y, z))
            symbols.append(b.where(b.compare(name, sx, sy), sy, sz))
        elif kind == "number" and name in ("add", "mul"):
            values.append(getattr(ember, name)(x, number))
            symbols.append(b.binary(name, sx, b.number()))
            # Of narrow floats, ops round all numbers but factors before the primitive.
            exact = ember.tensor(number, dtype=getattr(ember, dtype)).item()
            numbers.append(number if name == "mul" else exact)
        else:
            values.append(getattr(ember, name)(x, y))
            symbols.append(b.binary(name, sx, sy))
    shape = (4, 37)
    fused = Fused(b.program([symbols[-1], symbols[len(shapes)]]))
    got = fused(*tensors, numbers=numbers, shape=shape)
    for one, want in zip(got, (values[-1], values[len(shapes)]), strict=True):
        want = want.expand(shape)
        assert one.dtype == want.dtype
        same = (one == want) & (one.signbit() == want.signbit())
        both = same | (one.isnan() & want.isnan())
        assert both.all(), (one[~both], want[~both])


@pytest.mark.parametrize("steps", [1, 20])
def test_long_programs(steps):
    from ember.compiler._kernel import Fused

    b = Builder()
    s = b.load()
    x = ember.randn(1000)
    y, at = x, s
    for _ in range(steps * 10):
        y = (y * y - 0.5).sin() + x
        square = b.binary("mul", at, at)
        less = b.binary("sub", square, b.constant(0.5), compute="float32")
        at = b.binary("add", b.unary("sin", less), s)
    assert (Fused(b.program([at]))(x)[0] == y).all()
