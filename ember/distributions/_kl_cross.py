"""KL divergence between distributions of different families.

KL(p || q) is the mean of -log q under p, less the entropy of p. The mean needs only
some expectations of p: of x, x^2, log x, log(1 - x) or exp(t x). So there is one
formula for each q, one for each expectation, and none for a pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ember
from ember import Tensor
from ember.distributions.bernoulli import Bernoulli
from ember.distributions.beta import Beta
from ember.distributions.binomial import Binomial
from ember.distributions.continuous_bernoulli import ContinuousBernoulli
from ember.distributions.exponential import Exponential
from ember.distributions.gamma import Gamma
from ember.distributions.gumbel import Gumbel
from ember.distributions.kl import register_kl
from ember.distributions.laplace import Laplace
from ember.distributions.normal import Normal
from ember.distributions.pareto import Pareto
from ember.distributions.poisson import Poisson
from ember.distributions.uniform import Uniform
from ember.distributions.utils import euler_constant, xlogx

# Expectations of p.


def _mean_log(p: Any) -> Tensor:
    """E log x."""
    if isinstance(p, Beta):
        a, b = p.concentration1, p.concentration0
        return a.digamma() - (a + b).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (xlogx(p.high) - xlogx(p.low)) / (p.high - p.low) - 1  # Uniform


def _mean_log1m(p: Uniform) -> Tensor:
    """E log(1 - x)."""
    return (xlogx(1 - p.low) - xlogx(1 - p.high)) / (p.high - p.low) - 1


def _mean_exp(p: Any, t: Tensor) -> Tensor:
    """E exp(t x), the moment generating function."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate - t)
    if isinstance(p, Gamma):
        return (1 - t / p.rate).pow(-p.concentration)
    if isinstance(p, Normal):
        return (p.loc * t + 0.5 * (p.scale * t).square()).exp()
    spread = t * (p.high - p.low)  # Uniform
    return ((t * p.high).exp() - (t * p.low).exp()) / spread


# Means of -log q.


def _beta(p: Any, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return log_beta - (a - 1) * _mean_log(p) - (b - 1) * _mean_log1m(p)


def _continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    return -p.mean * q.logits - (-q.probs).log1p() - q._log_constant()


def _exponential(p: Any, q: Exponential) -> Tensor:
    return q.rate * p.mean - q.rate.log()


def _gamma(p: Any, q: Gamma) -> Tensor:
    a = q.concentration
    powers = q.rate * p.mean - (a - 1) * _mean_log(p)
    return a.lgamma() - a * q.rate.log() + powers


def _gumbel(p: Any, q: Gumbel) -> Tensor:
    moment = (q.loc / q.scale).exp() * _mean_exp(p, -q.scale.reciprocal())
    return q.scale.log() + (p.mean - q.loc) / q.scale + moment


def _laplace(p: Normal, q: Laplace) -> Tensor:
    gap = p.loc - q.loc
    z = gap / (p.scale * math.sqrt(2))
    distance = p.scale * math.sqrt(2 / math.pi) * (-z.square()).exp() + gap * z.erf()
    return (2 * q.scale).log() + distance / q.scale


def _normal(p: Any, q: Normal) -> Tensor:
    squares = (p.mean - q.loc).square() + p.variance
    return (
        0.5 * math.log(2 * math.pi) + q.scale.log() + squares / (2 * q.scale.square())
    )


def _pareto(p: Any, q: Pareto) -> Tensor:
    return (q.alpha + 1) * _mean_log(p) - q.alpha.log() - q.alpha * q.scale.log()


def _uniform(p: Any, q: Uniform) -> Tensor:
    return (q.high - q.low).log()


def _poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - p.probs * q.rate.log()  # log x! is 0 for 0 and 1


# Which pairs. Where q gives no density to some of p's outcomes, KL is infinite: always
# for the families of the second list, and for some parameters in the first.

_MEANS: dict[type, tuple[Callable[[Any, Any], Tensor], tuple[type, ...]]] = {
    Beta: (_beta, (Uniform,)),
    ContinuousBernoulli: (_continuous_bernoulli, (Beta, Uniform)),
    Exponential: (_exponential, (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)),
    Gamma: (_gamma, (Beta, Exponential, Pareto, Uniform)),
    Gumbel: (_gumbel, (Exponential, Gamma, Normal, Uniform)),
    Laplace: (_laplace, (Normal,)),
    Normal: (
        _normal,
        (
            Beta,
            ContinuousBernoulli,
            Exponential,
            Gamma,
            Gumbel,
            Laplace,
            Pareto,
            Uniform,
        ),
    ),
    Pareto: (_pareto, (Uniform,)),
    Poisson: (_poisson, (Bernoulli,)),
    Uniform: (_uniform, (Beta, ContinuousBernoulli)),
}

_POSITIVE = (Exponential, Gamma)
_REAL = (Gumbel, Laplace, Normal)
_INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (*_POSITIVE, *_REAL, Pareto),
    ContinuousBernoulli: (*_POSITIVE, *_REAL, Pareto),
    Exponential: _REAL,
    Gamma: _REAL,
    Pareto: (*_POSITIVE, *_REAL, Beta, ContinuousBernoulli),
    Uniform: (*_POSITIVE, *_REAL, Pareto),
    Binomial: (Poisson,),
    Bernoulli: (Poisson,),
}


def _bounds(p: Any) -> tuple[Any, Any]:
    """The ends of the support."""
    if isinstance(p, Uniform):
        return p.low, p.high
    if isinstance(p, Pareto):
        return p.scale, math.inf
    if isinstance(p, _REAL):
        return -math.inf, math.inf
    return 0.0, 1.0 if isinstance(p, (Beta, ContinuousBernoulli)) else math.inf


def _rule(mean: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    def rule(p: Any, q: Any) -> Tensor:
        result = mean(p, q) - p.entropy()
        (p_low, p_high), (q_low, q_high) = _bounds(p), _bounds(q)
        outside = ember.as_tensor(p_low < q_low) | ember.as_tensor(p_high > q_high)
        return ember.where(outside, ember.inf, result)

    return rule


def _infinite(p: Any, q: Any) -> Tensor:
    shape = ember.broadcast_shapes(p.batch_shape, q.batch_shape)
    return ember.full_like(p.mean.expand(shape), ember.inf)


for _q, (_mean, _families) in _MEANS.items():
    for _p in _families:
        register_kl(_p, _q)(_rule(_mean))
for _q, _families in _INFINITE.items():
    for _p in _families:
        register_kl(_p, _q)(_infinite)
