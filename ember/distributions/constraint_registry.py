"""From a constraint to a transform of unconstrained numbers into it.

`biject_to` gives bijections, fit for changes of variables; `transform_to` may give
cheaper maps onto the region, fit for optimisation.

>>> import ember
>>> from ember.distributions import biject_to, constraints
>>> biject_to(constraints.positive)(ember.tensor(0.0))
tensor(1.)
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from ember.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Makers of transforms, found by the class of a constraint.

    >>> registry = ConstraintRegistry()
    >>> @registry.register(constraints.real)
    ... def identity(constraint):
    ...     return transforms.identity_transform
    >>> registry(constraints.real) == transforms.identity_transform
    True
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Callable | None = None) -> Any:
        """Use `factory` for constraints of this class; without it, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not (
            isinstance(constraint, type)
            and issubclass(constraint, constraints.Constraint)
        ):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, "
                f"but got {constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints"
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Callable], Callable]:
    """Register one maker with both registries."""

    def decorator(factory: Callable) -> Callable:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return decorator


@_both(constraints.real)
def _identity(constraint: Any) -> Any:
    return transforms.identity_transform


@_both(constraints.positive, constraints.nonnegative)
def _above(constraint: Any) -> Any:
    if _is(constraint.lower_bound, 0):
        return transforms.ExpTransform()
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@_both(constraints.less_than)
def _below(constraint: Any) -> Any:
    flip = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), flip])


@_both(constraints.interval, constraints.half_open_interval)
def _between(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if _is(low, 0) and _is(high, 1):
        return transforms.SigmoidTransform()
    stretch = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), stretch])


def _is(bound: Any, number: int) -> bool:
    return isinstance(bound, numbers.Number) and bound == number


@_both(constraints.corr_cholesky)
def _corr_cholesky(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


biject_to.register(
    constraints.simplex, lambda constraint: transforms.StickBreakingTransform()
)
transform_to.register(
    constraints.simplex, lambda constraint: transforms.SoftmaxTransform()
)
transform_to.register(
    constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform()
)
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(
        _kind, lambda constraint: transforms.PositiveDefiniteTransform()
    )


def _register_combinations(registry: ConstraintRegistry) -> None:
    """Constraints made of others are transformed part by part."""

    @registry.register(constraints.independent)
    def independent(constraint: Any) -> Any:
        return transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        )

    @registry.register(constraints.cat)
    def cat(constraint: Any) -> Any:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def stack(constraint: Any) -> Any:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.StackTransform(parts, constraint.dim)


_register_combinations(biject_to)
_register_combinations(transform_to)
