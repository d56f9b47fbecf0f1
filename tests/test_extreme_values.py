"""Numbers at the edges: huge and tiny ones, NaN and infinity."""

import itertools
import math

import numpy as np
import pytest

import ember

F = ember.nn.functional
NAN, INF = math.nan, math.inf

# a, x, lower and upper incomplete gamma function, density; by quadrature.
GAMMA = [
    (1e7, 1e7, 0.5000420522087237, 0.4999579477912763, 0.00012615662504970279),
    (1e7, 9.99e6, 0.0007801532152520487, 0.99921984678474795, 8.480538489769274e-7),
    (1e7, 1.002e7, 0.99999999986959802, 1.3040198355140065e-10, 2.6651186276135378e-13),
    (1e12, 1e12, 0.50000013298076013, 0.49999986701923987, 3.9894228040139943e-7),
    (
        1e12,
        1e12 - 3e6,
        0.0013498862133920379,
        0.99865011378660796,
        4.431821820857138e-9,
    ),
]


@pytest.mark.parametrize(("a", "x", "lower", "upper", "density"), GAMMA)
def test_incomplete_gamma_of_large_arguments(a, x, lower, upper, density):
    a = ember.tensor(a, dtype=ember.float64)
    x = ember.tensor(x, dtype=ember.float64, requires_grad=True)
    low, high = ember.special.gammainc(a, x), ember.special.gammaincc(a, x)
    assert low.item() == pytest.approx(lower, rel=1e-10, abs=0)
    assert high.item() == pytest.approx(upper, rel=1e-10, abs=0)
    (by_low,) = ember.autograd.grad(low, x)
    (by_high,) = ember.autograd.grad(high, x)
    assert by_low.item() == pytest.approx(density, rel=1e-10, abs=0)
    assert by_high.item() == pytest.approx(-density, rel=1e-10, abs=0)


def test_incomplete_gamma_is_smooth_where_methods_meet():
    for a in (63.9, 64.1, 1e3, 1e6):
        for at in (0.7, 1.3):
            x = ember.tensor([a * at * (1 - 1e-9), a * at * (1 + 1e-9)]).double()
            for f in (ember.special.gammainc, ember.special.gammaincc):
                below, above = f(ember.tensor(a).double(), x).tolist()
                assert below == pytest.approx(above, rel=1e-5, abs=1e-300)


SCALES = [1e25, 1e30, 3e37, 1e-20, 1e-30]
SHAPES = [(8, 5), (3, 700), (700, 3), (40, 300), (70000,)]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shape", SHAPES)
def test_std_of_huge_and_tiny_floats(shape, scale):
    values = np.random.default_rng(0).uniform(-3, 3, shape)
    a = (values * scale).astype(np.float32)
    x = ember.from_numpy(a)
    for dim in (None, *range(len(shape))):
        for t, back in ((x, a), (x.t().contiguous().t(), a)):
            got = ember.std(t, dim) if dim is not None else ember.std(t)
            want = np.std(back.astype(np.float64), axis=dim, ddof=1)
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)
        spread, mean = ember.std_mean(x, dim) if dim is not None else ember.std_mean(x)
        np.testing.assert_allclose(spread.numpy(), want, rtol=1e-5)
        want = a.astype(np.float64).mean(axis=dim)
        np.testing.assert_allclose(mean.numpy(), want, rtol=1e-3, atol=scale * 1e-6)


@pytest.mark.parametrize("scale", [1e-10, 1e15, 1e18])
def test_var_that_float_holds(scale):
    a = (np.random.default_rng(0).uniform(-3, 3, (6, 50)) * scale).astype(np.float32)
    want = np.var(a.astype(np.float64), axis=1, ddof=1)
    np.testing.assert_allclose(
        ember.var(ember.from_numpy(a), 1).numpy(), want, rtol=1e-5
    )


@pytest.mark.parametrize("scale", [1e25, 1e30])
def test_layer_and_group_norm_of_huge_floats(scale):
    a = np.random.default_rng(0).uniform(-3, 3, (4, 6, 10))
    x = ember.from_numpy((a * scale).astype(np.float32))

    def normed(axes):
        middle, spread = a.mean(axes, keepdims=True), a.std(axes, keepdims=True)
        return (a - middle) / spread

    got = F.layer_norm(x, (10,))
    np.testing.assert_allclose(got.numpy(), normed((2,)), rtol=1e-4, atol=1e-5)
    got = F.group_norm(x, 1)
    np.testing.assert_allclose(got.numpy(), normed((1, 2)), rtol=1e-4, atol=1e-5)


MODES = [
    (2, "bilinear"),
    (2, "nearest"),
    (2, "bicubic"),
    (3, "bilinear"),
    (3, "nearest"),
]


@pytest.mark.parametrize(("dims", "mode"), MODES)
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
def test_grid_sample_at_points_that_are_not_finite(dims, mode, padding, align):
    x = ember.randn((2, 2, 4, 5, 3)[: dims + 2], requires_grad=True)
    values = [NAN, INF, -INF, 3e38, -1e30, 0.25]
    points = list(itertools.product(values, repeat=dims))
    grid = ember.tensor([points, points]).reshape(2, -1, *(1,) * (dims - 1), dims)
    grid.requires_grad_()
    y = F.grid_sample(x, grid, mode, padding, align)
    y.sum().backward()
    if padding == "zeros" or mode != "bicubic":  # else the weights are NaN
        assert ember.isfinite(x.grad).all()
    if padding == "zeros" or mode == "bicubic":
        return
    # NaN counts as the first pixel, and what is far out as the border.
    assert ember.isfinite(y).all()
    if padding == "border":
        tame = grid.detach().nan_to_num(-1.0, 1e4, -1e4).clamp(-1e4, 1e4)
        ember.testing.assert_close(y, F.grid_sample(x, tame, mode, padding, align))


def test_grid_sample_with_zeros_at_nan():
    x = ember.ones(1, 1, 2, 2)
    grid = ember.tensor([NAN, 0.0]).reshape(1, 1, 1, 2)
    assert F.grid_sample(x, grid, align_corners=True).isnan().all()
    assert F.grid_sample(x, grid, "nearest", align_corners=True).item() == 0


INTEGERS = (ember.int8, ember.int16, ember.int32, ember.int64, ember.uint8)


def wrapped(value, dtype):
    """An integer as one of `dtype` that has overflowed."""
    info = ember.iinfo(dtype)
    return (value - info.min) % (info.max - info.min + 1) + info.min


def extremes(dtype):
    info = ember.iinfo(dtype)
    near = [
        info.min,
        info.min + 1,
        info.max,
        info.max - 1,
        info.max // 2,
        info.min // 2,
    ]
    small = [n for n in (-6, -2, -1, 0, 1, 2, 6, 127) if info.min <= n]
    values = sorted({*near, *small})
    pairs = list(itertools.product(values, values))
    return [p[0] for p in pairs], [p[1] for p in pairs]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_that_have_no_negative(dtype):
    a, b = extremes(dtype)
    x, y = ember.tensor(a, dtype=dtype), ember.tensor(b, dtype=dtype)
    expected = {
        ember.gcd: [math.gcd(m, n) for m, n in zip(a, b)],
        ember.lcm: [math.lcm(m, n) for m, n in zip(a, b)],
    }
    for op, values in expected.items():
        made = [wrapped(v, dtype) for v in values]
        # Of the wide ones it is an absolute value, where there is one; those of 8 and
        # 16 bits are computed in 32.
        if op is ember.lcm and dtype.itemsize > 2:
            made = [v if v == ember.iinfo(dtype).min else abs(v) for v in made]
        assert op(x, y).tolist() == made, op
        each = [op(ember.tensor(m, dtype=dtype), n).item() for m, n in zip(a, y)]
        assert each == made, op


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_division_of_integers_at_their_ends(dtype, name):
    a, b = extremes(dtype)
    pairs = [(m, n) for m, n in zip(a, b) if n]
    exact = {
        "floor_divide": lambda m, n: m // n,
        "remainder": lambda m, n: m % n,
        "fmod": lambda m, n: abs(m) % abs(n) * (-1 if m < 0 else 1),
    }[name]
    x = ember.tensor([m for m, _ in pairs], dtype=dtype)
    y = ember.tensor([n for _, n in pairs], dtype=dtype)
    made = getattr(ember, name)(x, y).tolist()
    assert made == [wrapped(exact(m, n), dtype) for m, n in pairs]
    for m, n in pairs:
        by_number = getattr(ember, name)(ember.tensor(m, dtype=dtype), n)
        assert by_number.item() == wrapped(exact(m, n), dtype)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, INF])
def test_distances_to_points_that_are_not_numbers(p):
    x = ember.tensor([[INF, 1.0], [INF, 2.0], [NAN, 1.0]])
    assert ember.pdist(x, p).isnan().all() and F.pdist(x, p).isnan().all()
    assert ember.cdist(x, x, p).isnan().all()
    y = ember.tensor([[0.0, 1.0]])
    want = {0.0: [1, 2], INF: [INF, INF]}.get(p, [INF, INF])
    assert ember.cdist(x, y, p)[:2, 0].tolist() == want
