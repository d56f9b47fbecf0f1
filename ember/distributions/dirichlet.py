"""The Dirichlet distribution, with reparameterised draws."""

from __future__ import annotations

from typing import Any

import ember
from ember import Size, Tensor
from ember.autograd import Function
from ember.distributions import constraints
from ember.distributions.exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _pathwise(x: Tensor, concentration: Tensor, grad: Tensor) -> Tensor:
    """The gradient of draws `x` in the concentration, tangent to the simplex."""
    total = concentration.sum(-1, keepdim=True).expand_as(concentration)
    slope = ember._dirichlet_grad(x, concentration, total)
    return slope * (grad - (x * grad).sum(-1, keepdim=True))


class _Draw(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:  # type: ignore[override]
        x = ember._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # type: ignore[override]
        return _pathwise(*ctx.saved_tensors, grad)


class Dirichlet(ExponentialFamily):
    """Vectors of probabilities, with density proportional to prod x_i^(a_i - 1).

    >>> Dirichlet(ember.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True
    _params = ("concentration",)

    def __init__(
        self, concentration: Tensor, validate_args: bool | None = None
    ) -> None:
        if concentration.dim() < 1:
            raise ValueError(
                "`concentration` parameter must be at least one-dimensional."
            )
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        weight = (self.concentration - 1).clamp(min=0.0)
        mode = weight / weight.sum(-1, keepdim=True)
        # With no entry above 1 the density peaks in corners: take the first.
        corner = ember.nn.functional.one_hot(weight.argmax(dim=-1), weight.shape[-1])
        in_corner = (self.concentration < 1).all(dim=-1, keepdim=True)
        return ember.where(in_corner, corner.to(mode), mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        mean = self.concentration / total
        return mean * (1 - mean) / (total + 1)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        return _Draw.apply(self.concentration.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return (
            ember.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)
        )

    def entropy(self) -> Tensor:
        a = self.concentration
        total, size = a.sum(-1), a.shape[-1]
        log_beta = a.lgamma().sum(-1) - total.lgamma()
        spread = (total - size) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)
        return log_beta + spread

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
