"""KL divergence between two distributions of one family."""

from __future__ import annotations

from typing import Any

import ember
import ember.nn.functional as F
from ember import Tensor
from ember.distributions.bernoulli import Bernoulli
from ember.distributions.beta import Beta
from ember.distributions.binomial import Binomial
from ember.distributions.categorical import Categorical
from ember.distributions.cauchy import Cauchy
from ember.distributions.continuous_bernoulli import ContinuousBernoulli
from ember.distributions.dirichlet import Dirichlet
from ember.distributions.exp_family import ExponentialFamily
from ember.distributions.exponential import Exponential
from ember.distributions.gamma import Gamma
from ember.distributions.geometric import Geometric
from ember.distributions.gumbel import Gumbel
from ember.distributions.half_normal import HalfNormal
from ember.distributions.independent import Independent
from ember.distributions.kl import kl_divergence, register_kl
from ember.distributions.laplace import Laplace
from ember.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    lowrank_mahalanobis,
)
from ember.distributions.multivariate_normal import (
    MultivariateNormal,
    half_log_det,
    mahalanobis,
)
from ember.distributions.normal import Normal
from ember.distributions.one_hot_categorical import OneHotCategorical
from ember.distributions.pareto import Pareto
from ember.distributions.poisson import Poisson
from ember.distributions.transformed_distribution import TransformedDistribution
from ember.distributions.uniform import Uniform
from ember.distributions.utils import euler_constant, sum_rightmost


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    one = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    one = ember.where(p.probs == 0, 0.0, ember.where(q.probs == 0, ember.inf, one))
    zero = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    zero = ember.where(p.probs == 1, 0.0, ember.where(q.probs == 1, ember.inf, zero))
    return one + zero


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL of Binomials with q.total_count > p.total_count is not implemented"
        )
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    more = p.total_count > q.total_count
    return (p.total_count * each).masked_fill(more, ember.inf)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    each = each.masked_fill((q.probs == 0).expand_as(each), ember.inf)
    return each.masked_fill((p.probs == 0).expand_as(each), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    apart = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return apart.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    def constant(d: ContinuousBernoulli) -> Tensor:
        return d._log_constant() + (-d.probs).log1p()

    return p.mean * (p.logits - q.logits) + constant(p) - constant(q)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    constants = total.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1)
    mean_log = a.digamma() - total.digamma().unsqueeze(-1)
    return constants + ((a - b) * mean_log).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normaliser between natural parameters."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"{type(p).__name__} and {type(q).__name__} are different exponential "
            "families, between which no KL divergence is known"
        )
    ours = [x.detach().requires_grad_() for x in p._natural_params]
    theirs = q._natural_params
    with ember.enable_grad():
        log_normalizer = p._log_normalizer(*ours)
        slopes = ember.autograd.grad(log_normalizer.sum(), ours, create_graph=True)
    result = q._log_normalizer(*theirs) - log_normalizer
    for x, y, slope in zip(ours, theirs, slopes, strict=True):
        change = (y - x) * slope
        result = result - sum_rightmost(change, change.dim() - result.dim())
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + b.lgamma()
        - a.lgamma()
        + (a - b) * a.digamma()
        + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - p.mean * (-q.probs).log1p() - q.probs.log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio = p.scale / q.scale
    shift = (p.loc - q.loc) / q.scale
    moment = ((1 + ratio).lgamma() - shift).exp()
    return shift - ratio.log() + ratio * euler_constant + moment - 1 - euler_constant


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the numbers of reinterpreted axes differ")
    each = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(each, p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    tail = ratio * (-distance / p.scale).exp()
    return distance / q.scale + tail - ratio.log() - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    distance = ((p.loc - q.loc) / q.scale).square()
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, ember.inf)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms:
        raise NotImplementedError("the transforms differ")
    if p.event_shape != q.event_shape:
        raise NotImplementedError("the shapes of events differ")
    each = kl_divergence(p.base_dist, q.base_dist)
    more = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(each, max(more, 0))


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), ember.inf)


def _gaussian(p: Any, q: Any) -> Tensor:
    """Between Gaussian vectors, whichever way their covariances are given."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between {p} and {q} with different event shapes cannot be "
            "computed"
        )
    trace: Any = 0
    for factor in _factors(p):
        trace = trace + _squared_norm(q, factor)
    size = p.event_shape[0]
    determinants = _log_det(q) - _log_det(p)
    return 0.5 * (determinants + trace + _mahalanobis(q, q.loc - p.loc) - size)


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_gaussian)


def _factors(p: Any) -> list[Tensor]:
    """Matrices F whose products F F^T add up to the covariance."""
    if isinstance(p, MultivariateNormal):
        return [p._unbroadcasted_scale_tril]
    root = p._unbroadcasted_cov_diag.sqrt()
    return [p._unbroadcasted_cov_factor, root.diag_embed()]


def _squared_norm(q: Any, factor: Tensor) -> Tensor:
    """The trace of F^T P F, P being the precision of q."""

    def solve(tril: Tensor, x: Tensor) -> Tensor:
        solved = ember.linalg.solve_triangular(tril, x, upper=False)
        return solved.square().sum((-2, -1))

    if isinstance(q, MultivariateNormal):
        return solve(q._unbroadcasted_scale_tril, factor)
    diag = q._unbroadcasted_cov_diag.unsqueeze(-1)
    projected = q._unbroadcasted_cov_factor.mT @ (factor / diag)
    whole = (factor.square() / diag).sum((-2, -1))
    return whole - solve(q._capacitance_tril, projected)


def _log_det(p: Any) -> Tensor:
    if isinstance(p, MultivariateNormal):
        return 2 * half_log_det(p._unbroadcasted_scale_tril)
    return p._log_det()


def _mahalanobis(q: Any, x: Tensor) -> Tensor:
    if isinstance(q, MultivariateNormal):
        return mahalanobis(q._unbroadcasted_scale_tril, x)
    return lowrank_mahalanobis(
        q._unbroadcasted_cov_factor,
        q._unbroadcasted_cov_diag,
        x,
        q._capacitance_tril,
    )
