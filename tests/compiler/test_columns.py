"""Reductions over any axes: columns, several axes, in pieces. columns.py compares them
with op by op."""

import os
import subprocess
import sys

import pytest

import ember
from ember import _C
from ember.compiler._program import Builder

from . import needs_jit
from .test_kernels import exact, fused
from .test_rows import LEVELS

pytestmark = needs_jit


@pytest.mark.parametrize("level", LEVELS)
def test_any_axes_at_each_level(level):
    if LEVELS.index(level) > LEVELS.index(_C._cpu_level()):
        pytest.skip(f"this machine has no {level}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.compiler.columns"],
        env={**os.environ, "EMBER_CPU_LEVEL": level},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"{level}: 4560 results, 0 differ"


def softmax():
    b = Builder()
    x = b.load()
    e = b.unary("exp", b.binary("sub", x, b.reduce("max", x)))
    return fused(b.program([b.binary("div", e, b.reduce("sum", e))]))


SPACES = [
    ((9, 100), (0,)),
    ((400, 37), (0,)),
    ((5, 6, 70), (1,)),
    ((5, 6, 70), (0, 2)),
    ((3, 50, 2, 20), (1, 3)),
]


@pytest.mark.parametrize(("shape", "axes"), SPACES)
def test_what_depends_on_a_reduction(shape, axes):
    x = ember.randn(shape) * 20
    e = (x - x.amax(axes, keepdim=True)).exp()
    want = e / e.sum(axes, keepdim=True)
    f = softmax()
    ember.testing.assert_close(f(x, axes=axes)[0], want, rtol=3e-6, atol=1e-30)
    # Into a part of something larger, and nowhere else; then in place.
    room = ember.full([n + 4 for n in shape], 7.0)
    out = room[tuple(slice(2, n + 2) for n in shape)]
    f(x, out=[out], axes=axes)
    ember.testing.assert_close(out, want, rtol=3e-6, atol=1e-30)
    out.fill_(7.0)
    assert (room == 7).all()
    f(x, out=[x], axes=axes)
    ember.testing.assert_close(x, want, rtol=3e-6, atol=1e-30)


@pytest.mark.parametrize(("shape", "axes"), SPACES)
def test_several_outputs(shape, axes):
    """What has the space, and what has one element for all that is reduced."""
    b = Builder()
    x, w = b.load(), b.load()
    mean = b.reduce("mean", x)
    centred = b.binary("sub", x, mean)
    var = b.reduce("mean", b.unary("square", centred))
    outputs = [b.binary("mul", centred, w), mean, b.unary("sqrt", var)]
    p, q = ember.randn(shape), ember.randn(shape[-1:])
    got = fused(b.program(outputs, [0, 1, 1]))(p, q, axes=axes)
    wide = p.double()
    mean = wide.mean(axes, keepdim=True)
    root = wide.var(axes, correction=0, keepdim=True).sqrt()
    for one, want in zip(got, [(wide - mean) * q, mean, root], strict=True):
        ember.testing.assert_close(one.double(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [20, 33, 64, 130])
def test_rows_that_eager_kernels_compute(columns):
    """Also where there are fewer columns than a vector has elements."""
    x = ember.randn(50, columns)
    x[::7] = 1e20  # too large for the fast sine
    b = Builder()
    i = b.load()
    outputs = [b.reduce("max", b.unary(name, i)) for name in ("sin", "lgamma", "log")]
    got = fused(b.program(outputs, [1] * 3))(x, axes=(0,))
    for one, want in zip(got, (x.sin(), x.lgamma(), x.log()), strict=True):
        exact(one, want.amax(0, keepdim=True))


@pytest.mark.parametrize(
    ("shape", "axes"), [((70000, 20), (0,)), ((40, 9000), (0,)), ((6, 5, 7000), (0, 2))]
)
def test_the_number_of_threads_changes_nothing(shape, axes):
    from ember.compiler._total import Total

    b = Builder()
    program = b.program([b.reduce("sum", b.load())], [1])
    x, threads, found = ember.randn(shape), ember.get_num_threads(), []
    try:
        for n in (1, 2, 3):
            ember.set_num_threads(n)
            found += [f(x, axes=axes)[0] for f in (fused(program), Total(program))]
    finally:
        ember.set_num_threads(threads)
    for k, one in enumerate(found):
        exact(one, found[k % 2])


def test_tall_columns_do_not_lose_digits():
    b = Builder()
    f = fused(b.program([b.reduce("sum", b.load())], [1]))
    x = ember.full((1, 1), 0.1).expand(1_000_000, 40)
    want = 1e6 * x[0, 0].double()
    assert (f(x, axes=(0,))[0].double() / want - 1).abs().max() < 1e-5


def test_wrong_outputs_are_refused():
    b = Builder()
    f = fused(b.program([b.reduce("sum", b.load())], [1]))
    with pytest.raises(ValueError, match=r"shape \(4, 1\) in place of \(1, 5\)"):
        f(ember.zeros(4, 5), out=[ember.zeros(4, 1)], axes=(0,))
