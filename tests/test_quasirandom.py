"""Sobol sequences: points that are known, and what all of them have in common."""

import pytest

import ember
from ember.quasirandom import SobolEngine


def test_first_points_are_those_of_the_paper():
    points = SobolEngine(3).draw(5)
    expected = [
        [0, 0, 0],
        [0.5, 0.5, 0.5],
        [0.75, 0.25, 0.25],
        [0.25, 0.75, 0.75],
        [0.375, 0.375, 0.625],
    ]
    assert points.tolist() == expected


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 7, 21201])
def test_points_are_balanced_in_every_dimension(scramble, dimension):
    points = SobolEngine(dimension, scramble, seed=1).draw_base2(3)
    cells = (points * 8).long().sort(0).values
    assert ember.equal(cells, ember.arange(8)[:, None].expand(8, dimension))


def test_parts_skips_and_resets_give_the_same_points():
    engine = SobolEngine(4, scramble=True, seed=5)
    whole = engine.draw(10)
    engine.reset()
    parts = [engine.draw(1), engine.draw(4), engine.fast_forward(2).draw(3)]
    assert ember.equal(ember.cat(parts[:2]), whole[:5])
    assert ember.equal(parts[2], whole[7:])
    assert SobolEngine(2).draw(3, dtype=ember.float64).dtype == ember.float64


def test_bad_numbers_are_refused():
    with pytest.raises(ValueError, match="21201"):
        SobolEngine(0)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(2)
    for call in (engine.draw, engine.fast_forward):
        with pytest.raises(ValueError, match="points"):
            call(2**30 - 2)


def test_a_skip_takes_no_time():
    engine = SobolEngine(3, scramble=True, seed=2)
    whole = engine.draw(70)
    for skipped in (1, 2, 31, 32, 33, 64):
        engine.reset()
        assert ember.equal(engine.fast_forward(skipped).draw(6), whole[skipped:][:6])
    engine.reset()
    assert engine.fast_forward(2**30 - 2).draw(2).shape == (2, 3)
