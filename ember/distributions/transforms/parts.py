"""Transforms of the parts of one axis, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ember
from ember import Tensor
from ember.distributions import constraints
from ember.distributions.transforms.base import Transform
from ember.distributions.utils import sum_rightmost


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
