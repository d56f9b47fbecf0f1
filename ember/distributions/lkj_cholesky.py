"""The distribution of Lewandowski, Kurowicka and Joe over correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.beta import Beta
from ember.distributions.distribution import Distribution
from ember.distributions.utils import broadcast_all, tiny

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlations, of density like det^(concentration - 1).

    >>> LKJCholesky(3).sample().shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _params = ("concentration",)

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                "Expected dim to be an integer greater than or equal to 2. "
                f"Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch_shape = self.concentration.shape
        # The squared length of row i below the diagonal has a beta distribution; of the
        # first row, which has none, the draw is not used.
        row = ember.arange(
            dim - 1, dtype=self.concentration.dtype, device=self.concentration.device
        )
        row = ember.cat([row.new_zeros(1), row])
        most = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(row + 0.5, most.unsqueeze(-1) - 0.5 * row)
        super().__init__(batch_shape, Size((dim, dim)), validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new.dim = self.dim
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        super()._expand_into(new, batch_shape)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Draws by the onion method: rows of random direction and length."""
        with ember.no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = ember.randn(
                tuple(self._extended_shape(sample_shape)),
                dtype=squared.dtype,
                device=squared.device,
            ).tril(-1)
            direction = normal / normal.square().sum(-1, keepdim=True).sqrt()
            direction[..., 0, :] = 0.0
            below = squared.sqrt() * direction
            rest = (1 - below.square().sum(-1)).clamp(min=tiny(below))
            return below + rest.sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.dim
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = ember.arange(2, n + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + n - order
        density = (order * diagonal.log()).sum(-1)
        half = 0.5 * (n - 1)
        alpha = self.concentration + half
        top = alpha.lgamma() * (n - 1)
        bottom = ember.mvlgamma(alpha - 0.5, n - 1)
        return density - (half * math.log(math.pi) + bottom - top)
