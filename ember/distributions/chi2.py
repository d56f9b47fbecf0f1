"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from ember import Tensor
from ember.distributions import constraints
from ember.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of squares of `df` standard normal values.

    >>> Chi2(3.0).variance
    tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}
    _params = ("concentration", "rate")

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2
