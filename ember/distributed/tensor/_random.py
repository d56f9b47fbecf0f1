"""Random numbers for distributed tensors.

Every process draws those of the whole tensor and keeps its part, so that results are
those of one process. All processes must have the same seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember
from ember.distributed.tensor._api import DTensor, wrap
from ember.distributed.tensor._redistribute import redistribute
from ember.distributed.tensor.placement_types import Replicate
from ember.nn import functional as F


def _part(whole: ember.Tensor, like: DTensor) -> ember.Tensor:
    """What this process has of a tensor that all have drawn."""
    mesh = like._mesh
    everywhere = [Replicate()] * mesh.ndim
    with ember.no_grad():
        placed = like._placements
        return redistribute(whole, like.shape, mesh, everywhere, placed)


def _settled(x: DTensor) -> DTensor:
    """`x` without terms that are still to be added."""
    placed = [Replicate() if p.is_partial() else p for p in x._placements]
    return x.redistribute(placements=placed)


def _dropout(
    func: Callable, input: Any, p: float = 0.5, training: bool = True, *rest: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    if func.__name__ in ("dropout1d", "dropout2d", "dropout3d", "feature_dropout"):
        shape = [n if d < 2 else 1 for d, n in enumerate(input.shape)]
    else:
        shape = list(input.shape)
    if not training or p == 0:
        if not 0 <= p <= 1:
            raise ValueError(
                f"dropout probability has to be between 0 and 1, but got {p}"
            )
        return input
    x = _settled(input)
    ones = ember.ones(shape, dtype=x.dtype, device=x.device)
    scale = F.dropout(ones, p, True).expand(tuple(x.shape))
    local = x._local_tensor * _part(scale, x)
    if (rest and rest[0]) or kwargs.get("inplace"):
        x._local_tensor.copy_(local)
        return input
    return wrap(local, x._mesh, x._placements, x.shape)


def _filled(func: Callable, x: DTensor, *args: Any, **kwargs: Any) -> DTensor:
    """An in-place op that fills a tensor with random numbers."""
    if any(p.is_partial() for p in x._placements):
        raise RuntimeError(f"{func.__name__}(): redistribute {x._placements} first")
    whole = ember.empty(tuple(x.shape), dtype=x.dtype, device=x.device)
    func(whole, *args, **kwargs)
    x._local_tensor.copy_(_part(whole, x))
    return x


def _like(func: Callable, x: DTensor, *args: Any, **kwargs: Any) -> DTensor:
    x = wrap(x._local_tensor, x._mesh, _settled(x)._placements, x.shape)
    wants_grad = kwargs.pop("requires_grad", False)
    whole = ember.empty(tuple(x.shape), dtype=x.dtype, device=x.device)
    local = _part(func(whole, *args, **kwargs), x).requires_grad_(wants_grad)
    return wrap(local, x._mesh, x._placements, x.shape)


TABLE: dict[str, Callable[..., Any]] = {
    **dict.fromkeys("dropout dropout1d dropout2d dropout3d".split(), _dropout),
    **dict.fromkeys(
        """normal_ uniform_ bernoulli_ exponential_ random_ log_normal_ cauchy_
        geometric_""".split(),
        _filled,
    ),
    **dict.fromkeys("rand_like randn_like randint_like".split(), _like),
}
