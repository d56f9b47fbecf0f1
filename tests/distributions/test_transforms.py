"""Transforms, constraints, the registries between them, and KL divergences."""

import pytest

import ember
import ember.distributions as D
from ember.distributions import constraints, kl_divergence

TRANSFORMS = {
    "affine": (D.AffineTransform(1.0, -2.0), (3,)),
    "cat": (D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [1, 2]), (3,)),
    "compose": (D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0, 3)]), (3,)),
    "corr": (D.CorrCholeskyTransform(), (3,)),
    "exp": (D.ExpTransform(), (3,)),
    "independent": (D.IndependentTransform(D.ExpTransform(), 1), (2, 3)),
    "normal cdf": (D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)), (3,)),
    "reshape": (D.ReshapeTransform((4,), (2, 2)), (4,)),
    "sigmoid": (D.SigmoidTransform(), (3,)),
    "softplus": (D.SoftplusTransform(), (3,)),
    "stack": (D.StackTransform([D.ExpTransform(), D.TanhTransform()], -1), (2,)),
    "stick": (D.StickBreakingTransform(), (3,)),
    "tanh": (D.TanhTransform(), (3,)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_inverse_and_shapes(name):
    transform, shape = TRANSFORMS[name]
    x = ember.linspace(-1.0, 1.0, ember.Size(shape).numel()).reshape(shape)
    y = transform(x)
    assert tuple(transform.forward_shape(x.shape)) == tuple(y.shape)
    assert tuple(transform.inverse_shape(y.shape)) == tuple(x.shape)
    assert ember.allclose(transform.inv(y), x, atol=1e-4)
    assert transform.inv.inv is transform
    assert transform.codomain.check(y).all()
    there = transform.log_abs_det_jacobian(x, y)
    back = transform.inv.log_abs_det_jacobian(y, x)
    assert ember.allclose(there, -back, atol=1e-5)


@pytest.mark.parametrize("name", ["affine", "exp", "sigmoid", "softplus", "tanh"])
def test_slope(name):
    transform, _ = TRANSFORMS[name]
    x = ember.linspace(-1.0, 1.0, 5).requires_grad_()
    y = transform(x)
    y.sum().backward()
    slope = transform.log_abs_det_jacobian(x, y)
    assert ember.allclose(slope, x.grad.abs().log(), atol=1e-5)


def test_cache():
    transform = D.ExpTransform().with_cache()
    x = ember.ones(2)
    assert transform.inv(transform(x)) is x
    assert D.ExpTransform() == D.ExpTransform()
    assert D.AffineTransform(0, 1) != D.AffineTransform(0, 2)
    with pytest.raises(ValueError):
        D.ExpTransform(cache_size=2)


REGIONS = {
    "greater_than": constraints.greater_than(2.0),
    "interval": constraints.interval(-1.0, 3.0),
    "less_than": constraints.less_than(2.0),
    "positive": constraints.positive,
    "real_vector": constraints.real_vector,
    "simplex": constraints.simplex,
    "unit_interval": constraints.unit_interval,
}


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("registry", [D.biject_to, D.transform_to])
def test_registry(registry, name):
    region = REGIONS[name]
    x = ember.linspace(-2.0, 2.0, 4)
    y = registry(region)(x)
    assert region.check(y).all()


def test_registry_errors():
    with pytest.raises(NotImplementedError):
        D.biject_to(constraints.boolean)
    with pytest.raises(TypeError):
        D.biject_to.register(3, lambda constraint: None)


def test_constraints():
    matrix = ember.tensor([[2.0, 0.0], [1.0, 3.0]])
    assert constraints.lower_cholesky.check(matrix)
    assert not constraints.symmetric.check(matrix)
    assert constraints.one_hot.check(ember.tensor([0.0, 1.0]))
    assert not constraints.simplex.check(ember.tensor([0.5, 0.6]))
    assert (
        repr(constraints.unit_interval) == "Interval(lower_bound=0.0, upper_bound=1.0)"
    )
    assert constraints.is_dependent(D.Uniform.support)
    assert D.Multinomial.support.event_dim == 1


PAIRS = [
    (D.Normal(0.3, 1.0), D.Normal(-0.5, 2.0)),
    (D.Gamma(2.0, 1.0), D.Exponential(0.5)),
    (D.Uniform(0.2, 0.7), D.Beta(2.0, 3.0)),
    (D.Uniform(0.2, 0.7), D.Gumbel(0.0, 1.0)),
    (D.Normal(0.3, 1.0), D.Laplace(0.0, 2.0)),
    (D.Exponential(2.0), D.Gamma(2.0, 1.0)),
    (D.Gumbel(0.0, 1.0), D.Normal(0.0, 2.0)),
    (D.Cauchy(0.0, 1.0), D.Cauchy(0.5, 2.0)),
    (D.Dirichlet(ember.tensor([1.0, 2.0])), D.Dirichlet(ember.tensor([2.0, 1.5]))),
    (D.Geometric(0.3), D.Geometric(0.6)),
    (D.Bernoulli(0.3), D.Poisson(0.6)),
]


@pytest.mark.parametrize("p, q", PAIRS, ids=lambda d: type(d).__name__)
def test_kl_by_sampling(p, q):
    ember.manual_seed(0)
    x = p.sample((50000,))
    difference = p.log_prob(x) - q.log_prob(x)
    error = difference.std() / 50000**0.5
    assert (kl_divergence(p, q) - difference.mean()).abs() < 6 * error + 1e-5


def test_kl_infinite_and_missing():
    assert kl_divergence(D.Normal(0.0, 1.0), D.Uniform(0.0, 1.0)) == ember.inf
    assert kl_divergence(D.Uniform(0.0, 2.0), D.Beta(1.0, 1.0)) == ember.inf
    with pytest.raises(NotImplementedError):
        kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))
    with pytest.raises(TypeError):
        D.register_kl("Normal", D.Normal)
