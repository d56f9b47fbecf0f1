"""Tensors that lie on several devices: the class, of which there are no objects here,
and the ways to place them.

>>> import ember
>>> isinstance(ember.ones(2), ember.distributed.tensor.DTensor)
False
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ember import Tensor, _lazy, _unavailable
from ember.distributed import REASON


class Placement:
    """How a tensor lies on the devices of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is cut, along `dim` if given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every device has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether every device has a term of it."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along a dimension."""

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """The same on every device."""


@dataclass(frozen=True)
class Partial(Placement):
    """Terms that still have to be added, or reduced otherwise."""

    reduce_op: str = "sum"


class DTensor(Tensor):
    """A tensor that lies on several devices: there is none."""

    def __new__(cls, *args: Any, **kwargs: Any) -> DTensor:
        raise _unavailable.Unavailable(f"DTensor: {REASON}")

    from_local = staticmethod(_unavailable.function("DTensor.from_local", REASON))


_unavailable.fill(
    globals(),
    "distributed.tensor",
    REASON,
    """distribute_module distribute_tensor empty full ones rand randn zeros""",
)
__all__ += ["DTensor", "Partial", "Placement", "Replicate", "Shard"]  # type: ignore[name-defined]  # noqa: F821
__getattr__ = _lazy.missing(__name__)
