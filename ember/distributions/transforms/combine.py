"""Transforms made of others: one after another, side by side, or of other shapes."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import ember
from ember import Size, Tensor
from ember.distributions import constraints
from ember.distributions.transforms.base import Transform
from ember.distributions.utils import sum_rightmost


class ComposeTransform(Transform):
    """Several transforms, applied from first to last.

    >>> from ember.distributions import AffineTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()])(ember.zeros(()))
    tensor(1.)
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        # Walk back from the end: how many axes must an event have at the start?
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims += part.domain.event_dim - part.codomain.event_dim
            dims = max(dims, part.domain.event_dim)
        return _with_event_dim(self.parts[0].domain, dims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims += part.codomain.event_dim - part.domain.event_dim
            dims = max(dims, part.codomain.event_dim)
        return _with_event_dim(self.parts[-1].codomain, dims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return ember.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        dims = self.domain.event_dim
        total: Any = 0
        for part, before, after in zip(self.parts, points, points[1:], strict=False):
            slope = part.log_abs_det_jacobian(before, after)
            total = total + sum_rightmost(slope, dims - part.domain.event_dim)
            dims += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


def _with_event_dim(constraint: Any, dims: int) -> Any:
    """The constraint on events of `dims` axes."""
    more = dims - constraint.event_dim
    return constraints.independent(constraint, more) if more else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose rightmost batch axes count as part of the event.

    >>> from ember.distributions import ExpTransform
    >>> x = ember.ones(2, 3)
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
    tensor([3., 3.])
    """

    def __init__(
        self,
        base_transform: Transform,
        reinterpreted_batch_ndims: int,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(
            self.base_transform.domain, self.reinterpreted_batch_ndims
        )

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(
            self.base_transform.codomain, self.reinterpreted_batch_ndims
        )

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError(f"expected at least {self.domain.event_dim} axes")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError(f"expected at least {self.codomain.event_dim} axes")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        slope = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(slope, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        base, dims = self.base_transform, self.reinterpreted_batch_ndims
        return f"{type(self).__name__}({base!r}, {dims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Events of `in_shape` viewed as `out_shape`.

    >>> ReshapeTransform((4,), (2, 2))(ember.zeros(3, 4)).shape
    ember.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _replace_end(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _replace_end(shape, self.out_shape, self.in_shape)


def _replace_end(shape: Any, old: Size, new: Size) -> Any:
    if len(shape) < len(old):
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class _SideBySide(Transform):
    """Transforms of the parts of one axis, which subclasses take apart and rejoin."""

    transforms: list[Transform]
    dim: int

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0
    ) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.dim = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _apart(self, x: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _together(self, parts: list[Tensor], dim: int) -> Tensor:
        raise NotImplementedError

    def _map(self, apply: Callable[[Transform, Tensor], Tensor], x: Tensor) -> Tensor:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} is out of range for {x.dim()} axes")
        pairs = zip(self.transforms, self._apart(x), strict=True)
        return self._together([apply(t, part) for t, part in pairs], self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return self._map(lambda t, part: t(part), x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._map(lambda t, part: t.inv(part), y)


class CatTransform(_SideBySide):
    """Transforms of consecutive parts of axis `dim`, which have the given lengths.

    >>> from ember.distributions import AffineTransform, ExpTransform
    >>> t = CatTransform([ExpTransform(), AffineTransform(5.0, 1.0)], lengths=[1, 2])
    >>> t(ember.zeros(3))
    tensor([1., 5., 5.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(tseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"got {len(self.lengths)} lengths for {len(self.transforms)} transforms"
            )

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The length of the whole axis."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:  # type: ignore[override]
        parts = [t.domain for t in self.transforms]
        return constraints.cat(parts, dim=self.dim, lengths=self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:  # type: ignore[override]
        parts = [t.codomain for t in self.transforms]
        return constraints.cat(parts, dim=self.dim, lengths=self.lengths)

    def _apart(self, x: Tensor) -> Sequence[Tensor]:
        if x.shape[self.dim] != self.length:
            raise AssertionError(
                f"axis {self.dim} has length {x.shape[self.dim]}, not {self.length}"
            )
        return x.split(self.lengths, self.dim)

    def _together(self, parts: list[Tensor], dim: int) -> Tensor:
        return ember.cat(parts, dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        slopes = []
        for t, before, after in zip(
            self.transforms, self._apart(x), self._apart(y), strict=True
        ):
            slope = t.log_abs_det_jacobian(before, after)
            slopes.append(sum_rightmost(slope, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return ember.cat(slopes, dim) if dim < 0 else sum(slopes[1:], slopes[0])


class StackTransform(_SideBySide):
    """Transforms of the slices along axis `dim`.

    >>> from ember.distributions import AffineTransform, ExpTransform
    >>> StackTransform([ExpTransform(), AffineTransform(5.0, 1.0)])(ember.zeros(2))
    tensor([1., 5.])
    """

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.domain for t in self.transforms], dim=self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.codomain for t in self.transforms], dim=self.dim)

    def _apart(self, x: Tensor) -> Sequence[Tensor]:
        if x.shape[self.dim] != len(self.transforms):
            raise AssertionError(
                f"axis {self.dim} has length {x.shape[self.dim]}, but there are "
                f"{len(self.transforms)} transforms"
            )
        return x.unbind(self.dim)

    def _together(self, parts: list[Tensor], dim: int) -> Tensor:
        return ember.stack(parts, dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        slopes = [
            t.log_abs_det_jacobian(before, after)
            for t, before, after in zip(
                self.transforms, self._apart(x), self._apart(y), strict=True
            )
        ]
        return ember.stack(slopes, self.dim)
