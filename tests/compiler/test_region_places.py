"""Parts of tensors in regions: stencils, frames, what is filled and written over."""

import random

import pytest

import ember
from ember import _C
from ember.compiler._regions import region

from .regions import bits, check, matrix, needs_compiler, stats


def wave(before):
    now = before
    for _ in range(6):
        middle = now[1:-1, 1:-1]
        around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
        moved = 2.0 * middle - before[1:-1, 1:-1] + 0.1 * (around - 4.0 * middle)
        before, now = now, ember.nn.functional.pad(moved, (1, 1, 1, 1))
    return now


def test_stencils():
    check(wave, matrix(0, 90, 110))

    def heat(u):
        for _ in range(4):
            new = u.clone()
            new[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
            new[0], new[-1] = new[1], new[-2]
            u = new
        return u

    check(heat, matrix(1, 90, 110))


@needs_compiler
def test_a_step_of_a_stencil_is_one_pass():
    given = matrix(0, 90, 110)()
    for _ in range(3):
        with region(key=41, wait=True):
            last = wave(given)
    assert last.shape == (90, 110)
    groups = stats(41)["groups"]
    steps = [g for g in groups if g[0] > 1]
    assert len(steps) == 6 and all(g[2] == 1 for g in steps)  # each writes one tensor


def test_what_is_filled_and_then_changed():
    def program(x):
        count, total = ember.zeros_like(x), ember.ones_like(x)
        for k in range(3):
            count = ember.where(x > k, count + 1, count)
            total[:, ::2] += x[:, ::2]
        empty = ember.zeros(60, 100)
        left = ember.zeros(60, 100)
        left[3:5].fill_(7)
        left[:, 10:] = 2
        return count, total, empty, left, left + total

    check(program, matrix())


@pytest.mark.parametrize("seed", range(12))
def test_slices_that_meet_or_do_not(seed):
    """Reads and writes of parts of one tensor, in the order of the program."""

    def program(x):
        rng = random.Random(seed)

        def part():
            a, b = (rng.choice([0, 1, 2, 3]) for _ in range(2))
            step = rng.choice([1, 1, 1, 2])
            rows = x[a : a + 60, b : b + 100]
            return rows[:, ::step] if rng.random() < 0.8 else rows[::step]

        kept = []
        for _ in range(14):
            to, of = part(), part()
            if to.shape == of.shape and rng.random() < 0.6:
                to.copy_(of * 0.5 + 1)
            elif rng.random() < 0.3:
                to.fill_(rng.random())
            elif rng.random() < 0.5:
                to.mul_(0.75)
            else:
                kept.append(of - 2)
        return x, kept

    check(program, matrix(seed, 63, 103))


def test_pieces_put_together():
    def program(x):
        a, b = x[:, :50], x[:, 50:]
        turned = ember.cat([a * 2 - b, b * 2 + a], -1)
        both = ember.stack([turned.exp(), x * 1], 0)
        return turned, both, ember.cat([x, turned * 3])

    check(program, matrix())


@needs_compiler
def test_memory_of_what_is_done_with_is_used_again():
    """Results in between are not all there at a time."""
    least = _C._lazy_set_least(1)
    try:

        def program(x):
            for _ in range(8):
                x = (x[:, 1:] + x[:, :-1]) * 0.5
            return x

        check(program, matrix(2, 50, 120))
    finally:
        _C._lazy_set_least(least)


def test_a_slice_read_and_written_in_turn():
    def program(x):
        seen = []
        for k in range(5):
            x[k + 1] = x[k] * 0.5 + x[k + 1]
            seen.append(x[k : k + 2].sum(0) * 0 + x[k])
        return x, seen

    wanted = bits(program(matrix()()))
    with region(wait=True):
        found = program(matrix()())
    assert bits(found) == wanted


def test_operands_that_lie_across():
    """Transposed ones are copied first, where there is much to compute."""

    def program(x):
        y = ((x[:, :160] + x[:, :160].t()) * 0.5 - 1).relu() + x.t()[:160]
        z = y.exp() * x.t()[:160].abs() + 2
        x[:, :160].mul_(0.5).add_(z.t() * 0).sub_(x.t()[:160] * 0)
        return y, z, x, (y * 2 + z.t().round()).amax(), (y - x.t()[:160] * 3).amin(0)

    check(program, matrix(3, 160, 200))
