"""Kullback-Leibler divergence, by rules registered for pairs of families.

>>> from ember.distributions import Normal
>>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
tensor(0.5000)
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ember import Tensor, _lazy
from ember.distributions.distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_RULES: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable], Callable]:
    """Make the decorated function the rule for KL(p || q) of two classes.

    Of several rules that fit, the one for the most derived classes is used.

    >>> from ember.distributions import Normal, Uniform
    >>> class Point(Uniform):
    ...     pass
    >>> @register_kl(Point, Normal)
    ... def kl_point_normal(p, q):
    ...     return -q.log_prob(p.mean)
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type):
            raise TypeError(f"Expected a class, as Distribution, but got {kind!r}")

    def decorator(rule: Callable) -> Callable:
        _RULES[type_p, type_q] = rule
        _find.cache_clear()
        return rule

    return decorator


@functools.cache
def _find(type_p: type, type_q: type) -> Callable[[Any, Any], Tensor] | None:
    """The rule for the nearest base classes, looking at p first."""
    ranks = {
        pair: (type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1]))
        for pair in _RULES
        if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])
    }
    if not ranks:
        return None
    by_p = min(ranks, key=lambda pair: ranks[pair])
    by_q = min(ranks, key=lambda pair: ranks[pair][::-1])
    if _RULES[by_p] is not _RULES[by_q]:
        names = [f"({p.__name__}, {q.__name__})" for p, q in (by_p, by_q)]
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl one of {names[0]} and {names[1]}",
            RuntimeWarning,
            stacklevel=3,
        )
    return _RULES[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q): the mean under p of log p - log q, one value per member of the batch.

    >>> from ember.distributions import Exponential
    >>> kl_divergence(Exponential(1.0), Exponential(1.0))
    tensor(0.)
    """
    from ember.distributions import _kl_cross, _kl_same  # noqa: F401 (they register)

    rule = _find(type(p), type(q))
    if rule is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}"
        )
    return rule(p, q)


__getattr__ = _lazy.missing(__name__)
