"""Gradients and rows in regions: backward passes of what was made in one run in one,
and may compute again what was not written; reductions are part of groups.
"""

import gc
import os

import pytest

import ember
from ember import _C
from ember.compiler._regions import region

from .regions import bits, check, close, matrix, stats, vector


@pytest.fixture(autouse=True)
def nothing_known():
    _C._lazy_reset()


# --- gradients ------------------------------------------------------------------------


def test_gradients_through_a_region():
    def f(x, w):
        x.requires_grad_()
        w.requires_grad_()
        y = (ember.tanh(x * w) + x.sigmoid() * 2).relu()
        z = (y * y * w).sum()
        z.backward()
        return x.grad, w.grad, z

    check(f, vector(1), vector(2))


def test_backward_outside_of_the_region_is_fused_too():
    def grads(regions):
        x = vector(1)().requires_grad_()
        for _ in range(3):
            x.grad = None
            if regions:
                with region(wait=True):
                    y = (x.exp() * x + x.sin()).sum()
            else:
                y = (x.exp() * x + x.sin()).sum()
            y.backward()
        return x.grad

    wanted = grads(False)
    before = stats(0)["primitives"]
    assert bits(grads(True)) == bits(wanted)
    assert stats(0)["primitives"] > before


def test_second_gradients():
    def f(x):
        x.requires_grad_()
        (g,) = ember.autograd.grad((x.tanh() * x).sum(), x, create_graph=True)
        (h,) = ember.autograd.grad((g * g).sum(), x)
        return g, h

    check(f, vector())


def test_hooks_see_values():
    seen = []

    def f(x):
        x.requires_grad_()
        y = x * 2
        y.register_hook(lambda g: seen.append(float(g[0])) or g * 3)
        (y * y).sum().backward()
        return x.grad

    check(f, vector())
    assert len(set(seen)) == 1 and len(seen) == 4


def test_a_saved_value_that_changed_is_an_error():
    x = vector()().requires_grad_()
    with region():
        y = x.exp()
        z = y * 2
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
        y.sum().backward()


def test_custom_functions():
    class Double(ember.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 + x * 0

    def f(x):
        x.requires_grad_()
        (Double.apply(x * 3) ** 2).sum().backward()
        return x.grad

    check(f, vector())


def test_training_steps():
    def f(x):
        ember.manual_seed(1)
        net = ember.nn.Sequential(
            ember.nn.Linear(50, 64), ember.nn.GELU(), ember.nn.Linear(64, 50)
        )
        optimizer = ember.optim.Adam(net.parameters(), lr=0.01)
        for _ in range(4):
            optimizer.zero_grad()
            ((net(x.view(100, 50)) - 1) ** 2).mean().backward()
            optimizer.step()
        return [p.detach() for p in net.parameters()]

    check(f, vector())


# --- rows -----------------------------------------------------------------------------


def test_softmax_by_hand_is_one_group():
    def f(x):
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    assert [g[:4] for g in close(f, matrix())] == [(5, 1, 1, 6000)]


def test_norms_by_hand():
    def f(x, w, b):
        mean = x.mean(-1, keepdim=True)
        c = x - mean
        rstd = ((c * c).mean(-1, keepdim=True) + 1e-5).rsqrt()
        return c * rstd * w + b, mean, rstd

    groups = close(f, matrix(), vector(1, 100), vector(2, 100))
    assert [g[:4] for g in groups] == [(9, 3, 3, 6000)]


def test_rows_without_a_dimension():
    def f(x):
        s = x.sum(-1)
        top = x.max(-1).values
        return s * 2 + top, (x * x).mean(1).sqrt(), x.amin(1) - s[:, None].squeeze()

    close(f, matrix())


def test_rows_of_views_and_of_many_axes():
    def f(x):
        y = x.view(5, 12, 100) * 2
        a = y.sum(-1, keepdim=True)
        b = (y - a).amax(2)
        c = (y[:, ::2] + 1).mean(-1)
        d = (y.transpose(0, 1) * 3).sum(-1)
        e = (x.t() * 2).sum(1)
        return a, b, c, d, e

    close(f, matrix())


def test_rows_that_change_in_place():
    def f(x):
        x.sub_(x.amax(-1, keepdim=True))
        x.mul_(2)
        s = x.sum(-1, keepdim=True)
        x.div_(s.abs() + 1)
        s.add_(1)
        return x, s, x.sum(-1), x + s

    close(f, matrix())


def test_values_of_rows_spread_out():
    def f(x):
        s = (x * 2).sum(-1, keepdim=True)
        wide = s.expand(60, 100) * 1
        zeros = ember.zeros_like(x)
        flat = zeros + s
        return wide, flat, flat + x, (zeros + 3).sum(-1), (wide * 2).amax(-1)

    close(f, matrix())


def test_long_rows():
    close(
        lambda x: ((x * 2).sum(-1), (x - x.amax(1, keepdim=True)).exp().mean(-1)),
        matrix(3, 20, 20000),
    )


def test_rows_of_nan_and_infinity():
    def f(x):
        x[3, 4] = float("nan")
        x[5, 6] = float("inf")
        y = x * 1
        return y.amax(-1), y.amin(-1), y.sum(-1), y - y.amax(-1, keepdim=True)

    x = matrix()
    wanted = f(x())
    for _ in range(3):
        with region(wait=True):
            found = f(x())
        for a, b in zip(found, wanted, strict=True):
            ember.testing.assert_close(a, b, equal_nan=True, rtol=2e-5, atol=1e-6)


def test_gradients_of_rows():
    def f(x, w):
        x.requires_grad_()
        w.requires_grad_()
        z = x - x.amax(-1, keepdim=True)
        logp = z - z.exp().sum(-1, keepdim=True).log()
        (-((logp * w).mean(-1) ** 2)).mean().backward()
        return x.grad, w.grad

    close(f, matrix(1), matrix(2))


# --- values that stay pending for a backward pass -------------------------------------

LARGE = 1 << 18  # values of a megabyte


def gradients(x, change=None, retain=False):
    """Of a program whose values stay, with something that happens in between."""
    x = x.detach().clone().requires_grad_()
    w = x.detach() * 0.5
    with region(key=7, wait=True):
        y = ((x * w).sin() * (x + w).exp()).sum()
    if change:
        change(x, w)
    y.backward(retain_graph=retain)
    return [x.grad, y.detach()] + ([w] if change else [])


def expected(x, change=None):
    x = x.detach().clone().requires_grad_()
    w = x.detach() * 0.5
    y = ((x * w).sin() * (x + w).exp()).sum()
    if change:
        change(x, w)
    y.backward()
    return [x.grad, y.detach()] + ([w] if change else [])


def test_values_that_stay_are_computed_in_the_backward_pass():
    x = vector(1, LARGE)()
    for _ in range(4):
        assert bits(gradients(x)) == bits(expected(x))
    before = _C._memory_stats()["allocated"]
    v = x.clone().requires_grad_()
    with region(wait=True):
        y = ((v * 2).sin() * (v + 1).exp()).sum()
    gc.collect()
    # Of the four values that are saved, none is in memory.
    assert _C._memory_stats()["allocated"] - before < 2 * 4 * LARGE
    y.backward()


def test_what_is_read_by_values_that_stay_may_change():
    def change(x, w):
        with ember.no_grad():
            x.data.zero_()
            x.data.add_(3)

    x = vector(1, LARGE)()
    for _ in range(3):
        assert bits(gradients(x, change)) == bits(expected(x, change))


def test_arrays_over_what_is_read_by_values_that_stay():
    def change(x, w):
        x.detach().numpy()[:] = 1.5

    x = vector(1, LARGE)()
    for _ in range(3):
        assert bits(gradients(x, change)) == bits(expected(x, change))


def test_a_change_that_a_saved_value_must_not_see_is_still_an_error():
    x = vector(1, LARGE)().requires_grad_()
    w = x.detach() * 0.5
    for _ in range(3):
        with region(wait=True):
            y = ((x * w).sin() * (x + w).exp()).sum()
        w.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_values_that_stay_are_there_twice():
    x = vector(1, LARGE)().requires_grad_()
    for _ in range(3):
        with region(wait=True):
            y = ((x * 2).sin() * (x + 1).exp()).sum()
        (a,) = ember.autograd.grad(y, x, retain_graph=True)
        (b,) = ember.autograd.grad(y, x)
        assert bits(a) == bits(b)


def test_passes_that_never_come():
    x = vector(1, LARGE)().requires_grad_()

    def once():
        with region(wait=True):
            return ((x * 2).sin() * (x + 1).exp()).sum()

    once()
    once()
    _C._lazy_flush()
    gc.collect()
    before = _C._memory_stats()["allocated"]
    for _ in range(5):
        once()
    _C._lazy_flush()
    gc.collect()
    assert _C._memory_stats()["allocated"] <= before


def test_several_forward_passes_before_the_backward_ones():
    x = vector(1, LARGE)()
    v = x.clone().requires_grad_()
    losses = []
    for i in range(3):
        with region(wait=True):
            losses.append(((v * i).sin() * (v + i).exp()).sum())
    sum(losses).backward()
    u = x.clone().requires_grad_()
    sum(((u * i).sin() * (u + i).exp()).sum() for i in range(3)).backward()
    assert bits(v.grad) == bits(u.grad)


def test_a_child_process_has_values_that_stayed():
    x = vector(1, LARGE)().requires_grad_()
    for _ in range(2):
        with region(wait=True):
            y = ((x * 2).sin() * (x + 1).exp()).sum()
        (wanted,) = ember.autograd.grad(y, x, retain_graph=True)
    with region(wait=True):
        y = ((x * 2).sin() * (x + 1).exp()).sum()
    child = os.fork()
    if not child:
        (found,) = ember.autograd.grad(y, x)
        os._exit(0 if bits(found) == bits(wanted) else 1)
    assert os.waitpid(child, 0)[1] == 0
