"""Families by themselves: densities integrate to one, and draws have their moments."""

import math

import pytest

import ember
import ember.distributions as D
from tests.distributions.families import ALL, DISCRETE, SCALAR


def make(table, name):
    return table[name](D, ember.tensor)


def close(a, b, tolerance=1e-4):
    a, b = ember.as_tensor(a).double(), ember.as_tensor(b).double()
    assert ember.allclose(a, b, rtol=tolerance, atol=tolerance), (a, b)


@pytest.mark.parametrize("name", SCALAR)
def test_density_integrates_to_one(name):
    d = make(SCALAR, name)
    d._validate_args = False
    # Substitute x = sinh(u), which reaches far into heavy tails, and use the midpoints.
    if name == "VonMises":
        x = (
            ember.arange(4000, dtype=ember.float64) + 0.5
        ) / 4000 * 2 * math.pi - math.pi
        weight = ember.full_like(x, 2 * math.pi / 4000)
    else:
        u = (ember.arange(400000, dtype=ember.float64) + 0.5) / 200000 * 16 - 16
        x, weight = u.sinh(), u.cosh() * (16 / 200000)
    shape = (-1,) + (1,) * len(d.batch_shape)
    x, weight = x.reshape(shape), weight.reshape(shape)
    x = x.float()
    inside = d.support.check(x + 1e-6) & d.support.check(x - 1e-6)
    density = d.log_prob(ember.where(inside, x, d.sample())).double().exp()
    total = ember.where(inside, density * weight, 0.0).sum(0)
    close(total, ember.ones_like(total), 2e-2)


@pytest.mark.parametrize("name", ["Bernoulli", "Binomial", "Categorical"])
def test_probabilities_sum_to_one(name):
    d = make(DISCRETE, name)
    total = d.log_prob(d.enumerate_support()).exp().sum(0)
    close(total, ember.ones_like(total))


@pytest.mark.parametrize("name", ["Geometric", "NegativeBinomial", "Poisson"])
def test_counts_sum_to_one(name):
    d = make(DISCRETE, name)
    counts = ember.arange(200.0).reshape((-1,) + (1,) * len(d.batch_shape))
    probs = d.log_prob(counts).exp()
    close(probs.sum(0), ember.ones(d.batch_shape))
    close((probs * counts).sum(0), d.mean)
    close((probs * (counts - d.mean).square()).sum(0), d.variance, 1e-3)


HEAVY = {"Cauchy", "HalfCauchy", "VonMises", "Categorical", "Categorical logits"}


@pytest.mark.parametrize("name", ALL)
def test_moments_of_draws(name):
    ember.manual_seed(1)
    d = make(ALL, name)
    x = d.sample((20000,))
    assert tuple(x.shape) == (20000, *d.batch_shape, *d.event_shape)
    assert not x.requires_grad
    assert d.support.check(x).double().mean() > 0.999
    try:
        mean, variance = d.mean, d.variance
    except NotImplementedError:
        return
    if name not in HEAVY:
        error = (variance / 20000).sqrt()
        assert ((x.mean(0) - mean).abs() < 6 * error + 1e-4).all()


@pytest.mark.parametrize("name", ALL)
def test_expand(name):
    d = make(ALL, name)
    wide = d.expand((2, *d.batch_shape))
    assert type(wide) is type(d)
    assert tuple(wide.batch_shape) == (2, *d.batch_shape)
    assert wide.event_shape == d.event_shape
    x = wide.sample()
    close(wide.log_prob(x), d.log_prob(x))


@pytest.mark.parametrize("name", SCALAR)
def test_icdf_inverts_cdf(name):
    d = make(SCALAR, name)
    u = ember.full(tuple(d.batch_shape), 0.3)
    try:
        x = d.icdf(u)
        close(d.cdf(x), u, 1e-3)
    except NotImplementedError:
        pytest.skip("no cdf")


@pytest.mark.parametrize("name", ["Normal", "Gamma", "Beta", "Dirichlet", "StudentT"])
def test_rsample_has_a_gradient(name):
    leaves = []

    def leaf(values):
        leaves.append(ember.tensor(values, requires_grad=True))
        return leaves[-1]

    d = ALL[name](D, leaf)
    d.rsample((3,)).square().sum().backward()
    assert all(ember.isfinite(x.grad).all() for x in leaves)


def test_values():
    close(D.Normal(0.0, 1.0).log_prob(ember.tensor(0.0)), -0.9189385)
    close(D.Normal(1.0, 2.0).entropy(), 2.1120857)
    close(D.Gamma(2.0, 3.0).log_prob(ember.tensor(1.0)), math.log(9) - 3)
    close(D.Beta(2.0, 3.0).log_prob(ember.tensor(0.5)), math.log(1.5))
    close(D.Poisson(2.0).log_prob(ember.tensor(3.0)), math.log(8 / 6) - 2)
    close(D.Laplace(0.0, 1.0).cdf(ember.tensor(0.0)), 0.5)
    close(D.Categorical(ember.tensor([1.0, 1.0])).entropy(), math.log(2))
    close(D.Multinomial(3, ember.ones(2)).entropy(), 1.2555, 1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: D.Normal(0.0, -1.0),
        lambda: D.Normal(ember.zeros(3), 1.0).log_prob(ember.zeros(2)),
        lambda: D.Normal(0.0, 1.0).log_prob(1.0),
        lambda: D.Uniform(1.0, 1.0),
        lambda: D.Uniform(0.0, 1.0).log_prob(ember.tensor(2.0)),
        lambda: D.Bernoulli(),
        lambda: D.Bernoulli(0.5, 0.5),
        lambda: D.Bernoulli(1.5),
        lambda: D.Categorical(ember.tensor(0.5)),
        lambda: D.Categorical(ember.ones(2)).log_prob(ember.tensor(2)),
        lambda: D.Dirichlet(ember.tensor(1.0)),
        lambda: D.Geometric(0.0),
        lambda: D.LKJCholesky(1),
        lambda: D.Normal("a", 1.0),
        lambda: D.Independent(D.Normal(0.0, 1.0), 1),
        lambda: D.Distribution.set_default_validate_args(3),
    ],
)
def test_errors(wrong):
    with pytest.raises(ValueError):
        wrong()


def test_repr():
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(D.Normal(ember.zeros(2), 1.0)).endswith("Size([2]))")
    assert repr(D.Independent(D.Poisson(ember.ones(2)), 1)).startswith("Independent(")


def test_subclass_without_expand():
    class Unit(D.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    with pytest.raises(NotImplementedError, match="expand"):
        Unit(0.0).expand((2,))


def test_import_is_lazy():
    import subprocess
    import sys

    code = "import ember, sys; sys.exit('ember.distributions' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_samples_of_tiny_concentrations_are_numbers():
    tiny = ember.tensor(1e-6)
    assert D.Beta(tiny, tiny).sample((8,)).isfinite().all()
    rows = D.Dirichlet(tiny.expand(3)).sample((8,))
    assert ember.allclose(rows.sum(-1), ember.ones(8))


def test_von_mises_without_end_is_its_location():
    law = ember.distributions.VonMises(ember.tensor([0.0, 1.0, -2.0]), float("inf"))
    assert ember.allclose(law.sample((2,)), law.loc.expand(2, 3))
