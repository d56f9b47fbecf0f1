"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.distribution import Distribution
from ember.distributions.utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


def _log_bessel(kappa: Tensor) -> Tensor:
    """log I0(kappa), which does not overflow."""
    return ember.special.i0e(kappa).log() + kappa


def _bessel_ratio(kappa: Tensor) -> Tensor:
    """I1(kappa) / I0(kappa), the mean of the cosine."""
    return ember.special.i1e(kappa) / ember.special.i0e(kappa)


class VonMises(Distribution):
    """Angles around `loc`, with density like exp(concentration cos(x - loc)).

    >>> VonMises(ember.tensor(0.0), ember.tensor(4.0)).mean
    tensor(0.)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _params = ("loc", "concentration")

    def __init__(
        self, loc: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The circular mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The circular variance."""
        return 1 - _bessel_ratio(self.concentration)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The shape of the wrapped Cauchy law of candidates (Best and Fisher)."""
        kappa = self.concentration.double().clamp(min=1e-150)
        tau = 1 + (1 + 4 * kappa.square()).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        exact = (1 + rho.square()) / (2 * rho)
        # For a tiny concentration rho is a difference of equals: use its series.
        return ember.where(kappa < 1e-5, 1 / kappa + kappa, exact)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Draws by rejection, computed in float64 as the formulas cancel."""
        with ember.no_grad():
            shape = self._extended_shape(sample_shape)
            # Below the limit, none is as good as so small a concentration.
            kappa = self.concentration.double().clamp(min=1e-150)
            r = self._proposal_r
            valid = (self.concentration >= 0).expand(tuple(shape))
            x = ember.where(valid, 0.0, math.nan).double()
            # Concentrations without end leave nothing to draw: all lies at loc.
            done = ~valid | ((r <= 1) | r.isnan()).expand(tuple(shape))
            while not done.all():
                u = ember.rand((3, *shape), dtype=x.dtype, device=x.device)
                u1, u2, u3 = u.unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                x = ember.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            angle = (x + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return angle.to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        kappa = self.concentration
        density = kappa * (value - self.loc).cos()
        return density - math.log(2 * math.pi) - _log_bessel(kappa)
