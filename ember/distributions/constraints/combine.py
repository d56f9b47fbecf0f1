"""Constraints made of others."""

from __future__ import annotations

from collections.abc import Sequence

import ember
from ember import Tensor
from ember.distributions.constraints.base import Constraint


class _IndependentConstraint(Constraint):
    """Some rightmost batch axes of a constraint counted as part of the event."""

    def __init__(
        self, base_constraint: Constraint, reinterpreted_batch_ndims: int
    ) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"expected a Constraint, got {base_constraint!r}")
        if (
            not isinstance(reinterpreted_batch_ndims, int)
            or reinterpreted_batch_ndims < 0
        ):
            raise AssertionError("reinterpreted_batch_ndims must be an int >= 0")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value)
        dims = self.reinterpreted_batch_ndims
        if inside.dim() < dims:
            raise ValueError(
                f"Expected value.dim() >= {self.event_dim} but got {value.dim()}"
            )
        return inside.reshape(inside.shape[: inside.dim() - dims] + (-1,)).all(-1)

    def __repr__(self) -> str:
        name = type(self).__name__.lstrip("_")
        return f"{name}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: that of its components, checked in each of them.

    >>> from ember.distributions import constraints
    >>> MixtureSameFamilyConstraint(constraints.real)
    MixtureSameFamilyConstraint(Real())
    """

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"expected a Constraint, got {base_constraint!r}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(
                f"Expected value.dim() >= {self.event_dim} but got {value.dim()}"
            )
        return inside.all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Cat(Constraint):
    """Constraints on consecutive parts of one axis, of the given lengths."""

    def __init__(
        self,
        cseq: Sequence[Constraint],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
    ) -> None:
        self.cseq = list(cseq)
        if not all(isinstance(c, Constraint) for c in self.cseq):
            raise AssertionError("All elements of cseq must be constraints")
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"got {len(self.lengths)} lengths for {len(self.cseq)} constraints"
            )
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        checks = [c.check(v) for c, v in zip(self.cseq, parts, strict=True)]
        return ember.cat(checks, self.dim)


class _Stack(Constraint):
    """Constraints on the slices along one axis."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq = list(cseq)
        if not all(isinstance(c, Constraint) for c in self.cseq):
            raise AssertionError("All elements of cseq must be constraints")
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        slices = value.unbind(self.dim)
        checks = [c.check(v) for c, v in zip(self.cseq, slices, strict=True)]
        return ember.stack(checks, self.dim)
