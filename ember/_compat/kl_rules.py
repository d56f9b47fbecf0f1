"""The rules of divergences when all of them are loaded: libraries look whether there is
one for a pair of families."""

from ember.distributions import _kl_cross, _kl_same  # noqa: F401 (they register)
from ember.distributions.kl import _RULES as _KL_REGISTRY

__all__ = ["_KL_REGISTRY"]
