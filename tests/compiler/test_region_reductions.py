"""Reductions in regions: along any axes, of rows and columns, in pieces, and with what
depends on their results.
"""

import itertools

import pytest

import ember
from ember.compiler._regions import region

from .regions import needs_compiler, stats

SHAPES = [(100, 60), (6000,), (16, 20, 5, 7), (1030, 33), (40, 50, 3), (2, 70, 33)]
EVERY_AXES = [
    (shape, axes)
    for shape in SHAPES
    for count in range(1, len(shape) + 1)
    for axes in itertools.combinations(range(len(shape)), count)
]


def close(f, *given):
    """In regions f gives what it gives outside, to the rounding of its largest values
    (of sums that nearly cancel, no digit is sure). The groups that ran last."""
    wanted = f(*(g() for g in given))
    for _ in range(3):
        with region(key=6, wait=True):
            found = f(*(g() for g in given))
        pairs = [(found, wanted)]
        if not isinstance(wanted, ember.Tensor):
            pairs = list(zip(found, wanted, strict=True))
        for a, b in pairs:
            most = max(1.0, b.abs().max().item())
            ember.testing.assert_close(a, b, rtol=2e-5, atol=4e-6 * most)
    return stats(6)["groups"]


def normal(*shape):
    ember.manual_seed(3)
    x = ember.randn(*shape)
    return lambda: x.clone()


@needs_compiler
@pytest.mark.parametrize("shape, axes", EVERY_AXES)
def test_any_axes(shape, axes):
    def normalised(x):
        y = x * 2 + 1
        centred = y - y.mean(axes, keepdim=True)
        spread = (centred * centred).sum(axes, keepdim=True)
        z = centred * (spread + 1e-3).rsqrt()
        return spread, z, z.amax(axes), (z * y).mean(axes), z.amin()

    close(normalised, normal(*shape))
    close(lambda x: normalised(x.transpose(0, -1)), normal(*reversed(shape)))

    kept = [1 if d in axes else n for d, n in enumerate(shape)]

    def with_what_is_in_memory(x, scale):
        scaled = x.sum(axes, keepdim=True) * scale + scale.exp()
        return scaled, x + scaled, (x * scaled).sum(axes)

    close(with_what_is_in_memory, normal(*shape), normal(*kept))


@needs_compiler
@pytest.mark.parametrize("shape", [(64, 300), (40, 8, 50), (5000,), (700, 40)])
@pytest.mark.parametrize("dim", [-1, 0, None])
def test_variance(shape, dim):
    def spread(x):
        x = x.requires_grad_()
        v = x.var(dim, unbiased=False)
        s = x.std(dim, keepdim=True)
        y = (x - x.mean(dim, keepdim=True)) / s
        (g,) = ember.autograd.grad((y * y * x.detach()).sum() + v.sum(), x)
        return v.detach(), s.detach(), y.detach(), g

    close(spread, lambda: normal(*shape)() + 2)


@needs_compiler
def test_a_total_is_one_pass():
    x = normal(1 << 16)
    (group,) = close(lambda x: ((x - 1) ** 2).mean(), x)
    assert group[4] == "ready"


@needs_compiler
def test_gradients_of_a_softmax_are_one_group():
    def gradient(x):
        x = x.requires_grad_()
        e = (x - x.amax(-1, keepdim=True)).exp()
        p = e / e.sum(-1, keepdim=True)
        return ember.autograd.grad((p * p).sum(), x)[0]

    groups = close(gradient, normal(300, 200))
    assert (
        sum(g[2] == 1 and g[0] > 8 for g in groups) == 1
    )  # all but one result unwritten


@needs_compiler
def test_sums_go_on_over_what_was_there():
    """A later sweep over the rows would read what an earlier one has written."""

    def grown(x, y):
        y = y.clone()
        y += x
        y += (y * x).sum(-1, keepdim=True)
        z = y.mean(-1, keepdim=True) + y
        y *= 0.5
        return y, z, (y * z).sum(-1)

    close(grown, normal(80, 90), normal(80, 90))

    def in_place(x, y):
        s = (x * y).sum(-1, keepdim=True)
        y.add_(s)
        t = (x * y).sum(-1, keepdim=True)
        y.mul_(t)
        return y, y.amax(-1)

    close(in_place, normal(80, 90), normal(80, 90))


@needs_compiler
def test_forces_between_bodies():
    """An inner axis of 3, and what is cheaper computed twice than written."""

    def forces(place, mass):
        apart = place[None] - place[:, None]
        square = (apart * apart).sum(-1) + 0.01
        weight = mass * square**-1.5
        return (apart * weight[:, :, None]).sum(1)

    close(forces, normal(150, 3), lambda: normal(150)().abs())
    assert stats(6)["kernels"] >= 2
