"""Matrix products of float16 and bfloat16: summed in float32, rounded once.

Beside each stands the product of the same numbers in float64. A sum in float32 differs
from it by a few of float32's last digits, so after rounding by at most one place.
"""

import os
import subprocess
import sys

import pytest

import ember

HALVES = [ember.float16, ember.bfloat16]
# Rows, columns, depth: vectors, few rows, tiles and their edges, blocks, splits.
SIZES = [
    (1, 1, 1),
    (1, 1, 5000),
    (1, 37, 65),
    (1, 300, 257),
    (1, 5000, 33),
    (2, 31, 64),
    (3, 64, 31),
    (5, 100, 513),
    (8, 515, 300),
    (16, 50, 1000),
    (17, 17, 17),
    (17, 70, 600),
    (33, 1, 129),
    (65, 97, 1100),
    (70, 400, 3),
    (300, 13, 200),
    (300, 300, 1),
    (1, 1, 200_001),
    (2, 3, 60_000),
]
LAYOUTS = ["rows", "columns", "rows apart", "columns apart", "every second"]


def matrix(rows, columns, dtype, layout="rows"):
    x = ember.randn(rows, columns).to(dtype)
    if layout == "columns":
        return x.t().contiguous().t()
    if layout == "rows apart":
        return ember.cat([x, x], 1)[:, :columns]
    if layout == "columns apart":
        return ember.cat([x, x], 0).t().contiguous().t()[:rows]
    if layout == "every second":
        return ember.stack([x, x], 2).flatten(1)[:, ::2]
    return x


def close(got, exact, depth):
    """`got` is `exact` rounded to got's type, but for float32's errors in the sum."""
    digits = 11 if got.dtype == ember.float16 else 8
    slack = 2.0**-digits * exact.abs() + 2e-6 * depth**0.5 + 2.0**-24
    wrong = ~((got.double() - exact).abs() <= slack)
    assert not wrong.any(), (got[wrong][:3], exact[wrong][:3])


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("size", SIZES)
def test_every_size_and_layout(size, dtype):
    m, n, k = size
    for of_a in LAYOUTS:
        for of_b in LAYOUTS:
            ember.manual_seed(0)
            a, b = matrix(m, k, dtype, of_a), matrix(k, n, dtype, of_b)
            got, exact = a @ b, a.double() @ b.double()
            assert got.dtype == dtype
            close(got, exact, k)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("size", SIZES)
def test_linear_and_its_gradients(size, dtype):
    m, n, k = size
    ember.manual_seed(0)
    x, w, bias = (matrix(*s, dtype) for s in [(m, k), (n, k), (1, n)])
    bias = bias.flatten()
    for t in (x, w, bias):
        t.requires_grad_()
    y = ember.nn.functional.linear(x, w, bias)
    close(y.detach(), x.double() @ w.double().t() + bias.double(), k)
    g = matrix(m, n, dtype)
    y.backward(g)
    close(x.grad, g.double() @ w.detach().double(), n)
    close(w.grad, g.double().t() @ x.detach().double(), m)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("factors", [(1, 1), (0.5, 2), (0, 1), (1, 0), (-1.5, 0.1)])
def test_sums_with_factors_round_once(factors, dtype):
    beta, alpha = factors
    for m, n, k in SIZES:
        ember.manual_seed(0)
        a, b, c = (matrix(*s, dtype) for s in [(m, k), (k, n), (m, n)])
        exact = beta * c.double() + alpha * (a.double() @ b.double())
        close(ember.addmm(c, a, b, beta=beta, alpha=alpha), exact, k)
        out = ember.empty(n, m, dtype=dtype).t()
        ember.addmm(c, a, b, beta=beta, alpha=alpha, out=out)
        close(out, exact, k)
        strided = ember.stack([c, c], 2)[:, :, 0]
        close(strided.addmm_(a, b, beta=beta, alpha=alpha), exact, k)


@pytest.mark.parametrize("dtype", HALVES)
def test_batches_and_vectors(dtype):
    ember.manual_seed(0)
    a, b = ember.randn(6, 5, 70).to(dtype), ember.randn(6, 70, 33).to(dtype)
    close(ember.bmm(a, b), ember.bmm(a.double(), b.double()), 70)
    flat = ember.bmm(a.transpose(1, 2).contiguous().transpose(1, 2), b)
    close(flat, ember.bmm(a.double(), b.double()), 70)
    v = b[0, :, 3]
    close(ember.mv(a[0], v), ember.mv(a[0].double(), v.double()), 70)
    close(ember.dot(a[0, 0], v), ember.dot(a[0, 0].double(), v.double()), 70)
    row = a[:1, :1].expand(6, 5, 70)  # strides of 0
    close(ember.bmm(row, b), ember.bmm(row.double(), b.double()), 70)
    close(ember.mv(a[0].flip(1), v), ember.mv(a[0].flip(1).double(), v.double()), 70)


@pytest.mark.parametrize("dtype", HALVES)
def test_empty_ones(dtype):
    def zeros(*shape):
        return ember.zeros(shape, dtype=dtype)

    assert (zeros(0, 3) @ zeros(3, 4)).shape == (0, 4)
    assert (zeros(2, 3) @ zeros(3, 0)).shape == (2, 0)
    assert (zeros(2, 0) @ zeros(0, 2)).tolist() == [[0, 0], [0, 0]]
    c = ember.full((2, 2), 3.0, dtype=dtype)
    assert ember.addmm(c, zeros(2, 0), zeros(0, 2), beta=2).tolist() == [[6, 6]] * 2
    nan = ember.full((2, 2), float("nan"), dtype=dtype)
    assert ember.addmm(nan, c, c, beta=0).tolist() == [[18, 18]] * 2


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("rows", [1, 40])
def test_special_numbers(rows, dtype):
    inf, nan = float("inf"), float("nan")
    for k in (1, 7, 32, 40):
        w = ember.zeros(5, k, dtype=dtype)
        w[0, -1], w[1, 0], w[2, -1] = inf, nan, -inf
        w[3, 0] = 2.0**-24 if dtype == ember.float16 else 2.0**-133  # subnormal
        x = ember.ones(rows, k, dtype=dtype)
        for product in (ember.nn.functional.linear(x, w), x @ w.t().contiguous()):
            at = product[rows - 1].tolist()
            assert at[0] == inf
            assert at[1] != at[1]
            assert at[2] == -inf
            # The instruction for pairs of bfloat16 takes subnormal numbers for zero.
            flushed = [0.0] if dtype == ember.bfloat16 else []
            assert at[3] in [w[3, 0].item(), *flushed]
            assert at[4] == 0
    big = ember.full((rows, 4), 60000.0, dtype=dtype)
    assert (big @ big.new_ones(4, 1) == inf).all() == (dtype == ember.float16)


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_other_processors(level):
    tests = "every_size or linear_and or round_once or special"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if "EMBER_CPU_LEVEL" in os.environ:
        pytest.skip("runs in one of its own children")
    environment = {**os.environ, "EMBER_CPU_LEVEL": level}
    done = subprocess.run(
        [*command, __file__, "-k", tests],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
