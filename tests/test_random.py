"""Random numbers: torch's for the same seed, states, generators, dropout.

The numbers below are torch 2.13's; tests/core/check_random.py compares many more.
"""

import copy
import pickle

import pytest

import ember

AFTER_SEED_42 = [
    ("rand(3)", [0.8822692632675171, 0.9150039553642273, 0.38286375999450684]),
    ("rand(2, dtype=float64)", [0.05815448596142969, 0.06291016742457756]),
    ("rand(3, dtype=bfloat16)", [0.8828125, 0.9140625, 0.3828125]),
    ("rand(1, dtype=complex64)", [0.8822692632675171 + 0.9150039553642273j]),
    (
        "empty(3).uniform_(-0.3, 0.61)",
        [0.5028650164604187, 0.5326536297798157, 0.04840601980686188],
    ),
    ("randn(3)", [0.33669036626815796, 0.12880940735340118, 0.23446236550807953]),
    ("randn(17)[:2]", [1.9269152879714966, -0.1595974713563919]),
    ("randn(17)[-2:]", [0.859858512878418, -0.3097267746925354]),
    ("randn(16, dtype=float64)[:2]", [0.2995562877502637, 0.24237779080894106]),
    ("randn(17, dtype=bfloat16)[-3:]", [0.041748046875, -0.251953125, 0.859375]),
    ("randint(-50, 1000, (4,))", [742, 267, 626, 914]),
    ("randint(-2**40, 2**41, (2,))", [-658003837517, 1495436465422]),
    ("randint(0, 2**28, (2,), dtype=float32)", [266460336.0, 199900784.0]),
    ("empty(2, dtype=int64).random_()", [6909045637428952499, 8314211556539077902]),
    ("empty(3, dtype=uint8).random_()", [102, 179, 92]),
    ("empty(4, dtype=bool).random_()", [False, True, False, False]),
    ("randperm(8)", [6, 3, 0, 7, 2, 1, 4, 5]),
    ("empty(6).bernoulli_(0.3)", [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
    ("empty(2).exponential_(2.0)", [0.029957007616758347, 0.03248806297779083]),
    ("empty(4).geometric_(0.3)", [8.0, 8.0, 6.0, 9.0]),
    ("empty(2).cauchy_(1.0, 2.0)", [-9.82497501373291, -8.987401962280273]),
    ("empty(2).log_normal_(0.5, 0.25)", [1.793506383895874, 1.7026780843734741]),
]


def values(t):
    flat = t.detach().reshape(-1)
    return [flat[i].item() for i in range(flat.shape[0])]


@pytest.mark.parametrize("text, expected", AFTER_SEED_42)
@pytest.mark.filterwarnings("ignore:to - 1 is out of bounds")
def test_numbers_are_those_of_torch(text, expected):
    ember.manual_seed(42)
    drawn = eval(text, vars(ember).copy())
    assert values(drawn) == pytest.approx(expected, rel=1e-6, abs=0)


def test_memory_order_decides_not_index_order():
    ember.manual_seed(0)
    whole = ember.rand(6, 9)
    ember.manual_seed(0)
    turned = ember.empty(6, 9).transpose(0, 1).uniform_()
    assert values(turned.transpose(0, 1)) == values(whole)


def test_gaps_draw_nothing_and_stay():
    x = ember.zeros(4, 6)
    ember.manual_seed(0)
    x[:, ::2].uniform_(1.0, 2.0)
    ember.manual_seed(0)
    assert values(x[:, ::2]) == values(ember.empty(12).uniform_(1.0, 2.0))
    assert values(x[:, 1::2]) == [0.0] * 12


def test_the_spare_normal_outlives_other_draws():
    ember.manual_seed(3)
    together = values(ember.randn(2))
    ember.manual_seed(3)
    first = values(ember.randn(1))
    ember.rand(5)
    ember.randn(20)
    assert first + values(ember.randn(1)) == together


def test_state_round_trip():
    ember.manual_seed(1)
    ember.randn(3)
    state = ember.get_rng_state()
    assert tuple(state.shape) == (5056,) and state.dtype == ember.uint8
    first = values(ember.randn(3)) + values(ember.rand(700))
    ember.set_rng_state(state)
    assert values(ember.randn(3)) + values(ember.rand(700)) == first


def test_wrong_states_are_refused():
    with pytest.raises(TypeError, match="ByteTensor"):
        ember.set_rng_state(ember.zeros(5056))
    with pytest.raises(RuntimeError, match="size to be 100"):
        ember.set_rng_state(ember.zeros(100, dtype=ember.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        ember.set_rng_state(ember.zeros(5056, dtype=ember.uint8))


def test_seeds():
    assert ember.manual_seed(-1).initial_seed() == 2**64 - 1
    assert ember.initial_seed() == 2**64 - 1
    assert ember.seed() == ember.initial_seed() < 2**53
    assert ember.Generator().initial_seed() == 67280421310721
    with pytest.raises(ValueError, match="Overflow"):
        ember.manual_seed(2**64)


def test_generators_are_independent():
    g = ember.Generator().manual_seed(7)
    ember.manual_seed(7)
    assert values(ember.rand(4, generator=g)) == values(ember.rand(4))
    pickled = pickle.loads(pickle.dumps(g))
    others = [g.clone_state(), copy.copy(g), copy.deepcopy(g), pickled]
    expected = values(ember.rand(4, generator=g))
    for other in others:
        assert values(ember.rand(4, generator=other)) == expected
    assert g.device.type == "cpu"


def test_fork_rng_restores_the_state():
    ember.manual_seed(0)
    with ember.random.fork_rng():
        inside = values(ember.rand(3))
    assert values(ember.rand(3)) == inside


def test_out_decides_the_dtype():
    out = ember.zeros(3, dtype=ember.float64)
    ember.manual_seed(0)
    assert ember.rand(3, out=out) is out
    ember.manual_seed(0)
    assert values(out) == values(ember.rand(3, dtype=ember.float64))


def test_multinomial_draws_what_has_weight():
    weights = ember.zeros(6)
    weights[1] = 1.0
    weights[4] = 3.0
    assert sorted(values(ember.multinomial(weights, 2))) == [1, 4]
    assert set(values(ember.multinomial(weights, 100, True))) == {1, 4}


def test_a_leaf_that_requires_grad_is_not_filled():
    with pytest.raises(RuntimeError, match="leaf"):
        ember.rand(3, requires_grad=True).uniform_()


def test_dropout_scales_what_it_keeps():
    ember.manual_seed(0)
    x = ember.ones(1000)
    kept = values(ember.dropout(x, 0.25, True))
    assert all(v == 0.0 or v == pytest.approx(4 / 3) for v in kept)
    assert 700 < sum(v > 0 for v in kept) < 800
    assert ember.dropout(x, 0.25, False) is x
    assert values(ember.dropout(x, 1.0, True)) == [0.0] * 1000


def test_feature_dropout_drops_whole_channels():
    ember.manual_seed(0)
    y = ember.feature_dropout(ember.ones(8, 9, 5), 0.5, True)
    sums = values(y.sum(2))
    assert set(sums) == {0.0, 10.0}


def test_the_gradient_of_dropout_is_its_mask():
    x = ember.ones(64, requires_grad=True)
    y = ember.dropout(x, 0.5, True)
    ember._C._run_backward((y,), (ember.ones(64),), False, False, (), True, True)
    assert values(x.grad) == values(y)


def test_gamma_samples_move_with_their_shape():
    # By the mean of Gamma(a), which is a, the derivatives average to 1.
    alpha = ember.full((20000,), 2.5, dtype=ember.float64)
    ember.manual_seed(0)
    x = ember._standard_gamma(alpha)
    slope = ember._standard_gamma_grad(alpha, x)
    assert slope.sum().item() / 20000 == pytest.approx(1.0, abs=0.02)
