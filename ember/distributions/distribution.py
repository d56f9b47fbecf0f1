"""The base of all distributions: shapes, checks, and what a family has to provide."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, ClassVar

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A batch of probability distributions of one family.

    A draw has the shape `sample_shape + batch_shape + event_shape`: independent draws,
    members of the batch, and one outcome. A family defines `arg_constraints`,
    `support`, `rsample` (or `sample`) and `log_prob`; naming the attributes that hold
    its parameters in `_params` gives it `expand`.

    >>> batch = ember.distributions.Normal(ember.zeros(3), 1.0)
    >>> batch.batch_shape, batch.event_shape
    (torch.Size([3]), torch.Size([]))
    >>> batch.sample((2,)).shape
    torch.Size([2, 3])
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _params: ClassVar[tuple[str, ...]]

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments unless told otherwise."""
        if value not in (True, False):
            raise ValueError(f"expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Size = Size(),  # noqa: B008 (immutable)
        event_shape: Size = Size(),  # noqa: B008
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()
        super().__init__()

    def _check_arguments(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self).__name__} does not define `arg_constraints`: set it, if "
                "only to {}, or pass validate_args=False.",
                stacklevel=4,
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(
                inspect.getattr_static(type(self), name, None), lazy_property
            ):
                continue  # derived from the others, not given
            value = getattr(self, name)
            valid = constraint.check(value)
            if not valid.all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the "
                    f"constraint {constraint!r}, but found invalid values:\n{value}"
                )

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one outcome of one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """For each parameter, where it must lie."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """Where outcomes lie."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        raise NotImplementedError(f"{type(self).__name__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The expected squared distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Draws, without a gradient."""
        with ember.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Draws that are differentiable in the parameters."""
        raise NotImplementedError(f"{type(self).__name__} does not implement rsample")

    def sample_n(self, n: int) -> Tensor:
        """`n` draws; `sample((n,))` says the same."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of an outcome up to `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The outcome at which `cdf` reaches `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Every outcome of a discrete distribution, along a new first axis."""
        raise NotImplementedError(
            f"{type(self).__name__} does not implement enumerate_support"
        )

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__} does not implement entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated over a larger batch without copying.

        >>> ember.distributions.Normal(ember.zeros(3), 1.0).expand((2, 3)).batch_shape
        torch.Size([2, 3])
        """
        owner = next((c for c in type(self).__mro__ if "_params" in vars(c)), None)
        if owner is None:
            raise NotImplementedError(f"{type(self).__name__} does not define expand")
        new = self._get_checked_instance(owner, _instance)
        batch_shape = Size(batch_shape)
        self._expand_into(new, batch_shape)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        """Give `new` the attributes of this one, for a batch of `batch_shape`."""
        for name in self._params:
            if name in self.__dict__:
                value = getattr(self, name)
                rest = value.shape[len(self._batch_shape) :]
                setattr(new, name, value.expand(batch_shape + rest))

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """`_instance`, or a blank object of this class if `cls` can fill it."""
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"{type(self).__name__} has its own __init__, so it must also define "
                f"expand, which it inherits from {cls.__name__}."
            )
        return type(self).__new__(type(self))

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:  # noqa: B008
        """The shape of draws."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError unless `value` could be an outcome."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        cut = value.dim() - len(self._event_shape)
        if tuple(value.shape[max(cut, 0) :]) != tuple(self._event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        pairs = zip(reversed(value.shape), reversed(expected), strict=False)
        if any(i != j and 1 not in (i, j) for i, j in pairs):
            raise ValueError(
                "Value is not broadcastable with batch_shape+event_shape: "
                f"{value.shape} vs {expected}."
            )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self).__name__} does not define `support`: set it, or pass "
                "validate_args=False.",
                stacklevel=3,
            )
            return
        valid = support.check(value)
        if not valid.all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape "
                f"{tuple(value.shape)}) to be within the support ({support!r}) of the "
                f"distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if value is not None:
                shown.append(f"{name}: {value if value.numel() == 1 else value.shape}")
        return f"{type(self).__name__}({', '.join(shown)})"
