"""Distributions: torch's draws from torch's seeds, and torch's numbers."""

import numpy as np
import pytest

import ember
import ember.distributions
from tests.distributions.families import ALL

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::UserWarning")]


def attempt(function):
    """What a call gives: a result, or the class of its error."""
    try:
        return function()
    except Exception as error:
        return type(error)


def same(ours, theirs, label):
    if isinstance(theirs, type):
        assert ours is theirs, (label, ours, theirs)
        return
    assert not isinstance(ours, type), (label, ours)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], label
    ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
    np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5, err_msg=label)


@pytest.mark.parametrize("name", ALL)
def test_family(name):
    p = ALL[name](ember.distributions, ember.tensor)
    q = ALL[name](torch.distributions, torch.tensor)
    assert (tuple(p.batch_shape), tuple(p.event_shape)) == (
        tuple(q.batch_shape),
        tuple(q.event_shape),
    )
    assert repr(p.support) == repr(q.support)
    known_wrong = {"mode"} if name == "Kumaraswamy" else set()
    for attribute in {"mean", "mode", "variance", "stddev"} - known_wrong:
        ours = attempt(lambda a=attribute: getattr(p, a))
        same(ours, attempt(lambda a=attribute: getattr(q, a)), attribute)
    same(attempt(p.entropy), attempt(q.entropy), "entropy")
    value = None
    for shape in ((), (4,), (2, 3)):
        for method in ("sample", "rsample"):
            ember.manual_seed(5)
            ours = attempt(lambda m=method, s=shape: getattr(p, m)(s))
            torch.manual_seed(5)
            theirs = attempt(lambda m=method, s=shape: getattr(q, m)(s))
            same(ours, theirs, f"{method}{shape}")
            value = value if isinstance(theirs, type) else theirs.detach()
        ours = ember.tensor(value.numpy())
        for method in ("log_prob", "cdf"):
            found = attempt(lambda m=method, x=ours: getattr(p, m)(x))
            same(found, attempt(lambda m=method, x=value: getattr(q, m)(x)), method)


PAIRED = [
    "Bernoulli Beta Binomial Categorical Cauchy ContinuousBernoulli Dirichlet",
    "Exponential Gamma Geometric Gumbel HalfNormal Independent Laplace LogNormal",
    "LowRankMultivariateNormal MultivariateNormal Normal OneHotCategorical Pareto",
    "Poisson Uniform Wishart",
]


FINITE = {("ContinuousBernoulli", "Uniform")}  # torch says infinite if q.low is 0


@pytest.mark.parametrize("name", " ".join(PAIRED).split())
def test_kl(name):
    p = ALL[name](ember.distributions, ember.tensor)
    q = ALL[name](torch.distributions, torch.tensor)
    for other in " ".join(PAIRED).split():
        theirs = attempt(
            lambda o=other: torch.distributions.kl_divergence(
                q, ALL[o](torch.distributions, torch.tensor)
            )
        )
        if isinstance(theirs, type) or (name, other) in FINITE:
            continue
        r = ALL[other](ember.distributions, ember.tensor)
        if r.batch_shape == p.batch_shape:  # infinities take the shape of the batch
            same(ember.distributions.kl_divergence(p, r), theirs, other)
