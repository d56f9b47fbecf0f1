"""Transforms of each element by itself."""

from __future__ import annotations

import math
from typing import Any

import ember
import ember.nn.functional as F
from ember import Tensor
from ember.distributions import constraints
from ember.distributions.transforms.base import Transform
from ember.distributions.utils import broadcast_all, eps, sum_rightmost, tiny


class _Increasing(Transform):
    """A rising bijection without parameters: two of one class are equal."""

    domain = constraints.real
    bijective = True
    sign = +1

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = None  # type: ignore[assignment]


class ExpTransform(_Increasing):
    """y = exp(x).

    >>> ExpTransform()(ember.zeros(2))
    tensor([1., 1.])
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(_Increasing):
    """y = 1 / (1 + exp(-x)), kept off 0 and 1.

    >>> SigmoidTransform()(ember.zeros(()))
    tensor(0.5000)
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = y.clamp(min=tiny(y), max=1 - eps(y))
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(_Increasing):
    """y = log(1 + exp(x)).

    >>> SoftplusTransform()(ember.zeros(()))
    tensor(0.6931)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return y + (-(-y).expm1()).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x)


class TanhTransform(_Increasing):
    """y = tanh(x); composing affine maps around a sigmoid gives the same.

    >>> TanhTransform().codomain
    Interval(lower_bound=-1.0, upper_bound=1.0)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2 * (math.log(2) - x - F.softplus(-2 * x))


class AbsTransform(Transform):
    """y = |x|, which is not a bijection: its inverse returns y.

    >>> AbsTransform()(ember.tensor(-2.0))
    tensor(2.)
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """y = x ** exponent, for positive x.

    >>> PowerTransform(2.0)(ember.tensor(3.0))
    tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Tensor:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(
            self.exponent.eq(other.exponent).all()
        )

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return ember.broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: Any) -> Any:
        return ember.broadcast_shapes(shape, self.exponent.shape)


class AffineTransform(Transform):
    """y = loc + scale * x; with `event_dim` 1 or 2, of whole vectors or matrices.

    >>> AffineTransform(1.0, 2.0).inv(ember.tensor(7.0))
    tensor(3.)
    """

    bijective = True

    def __init__(
        self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # type: ignore[override]
        if self._event_dim == 0:
            return constraints.real
        return constraints.independent(constraints.real, self._event_dim)

    codomain = domain

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and bool(ember.as_tensor(self.loc == other.loc).all())
            and bool(ember.as_tensor(self.scale == other.scale).all())
        )

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            slope = self.scale.abs().log()
        else:
            slope = ember.full_like(x, math.log(abs(self.scale)))
        return sum_rightmost(slope.expand(x.shape), self._event_dim)

    def forward_shape(self, shape: Any) -> Any:
        parameters = [getattr(p, "shape", ()) for p in (self.loc, self.scale)]
        return ember.broadcast_shapes(shape, *parameters)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = cdf(x) of a distribution: its draws become uniform.

    >>> normal = ember.distributions.Normal(0.0, 1.0)
    >>> CumulativeDistributionTransform(normal)(ember.tensor(0.0))
    tensor(0.5000)
    """

    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


def clipped_sigmoid(x: Tensor) -> Tensor:
    """A sigmoid whose logit is finite."""
    return ember.sigmoid(x).clamp(min=tiny(x), max=1 - eps(x))
