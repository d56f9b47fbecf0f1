"""A pass over a graph as an object."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass gives back: the module, and whether it changed it."""

    graph_module: Any
    modified: bool


class PassBase:
    """A pass: `call` does it, `requires` and `ensures` check before and after."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    def call(self, graph_module: Any) -> PassResult | None:
        """Do it."""
        raise NotImplementedError

    def requires(self, graph_module: Any) -> None:
        """Raise unless the pass can be done."""

    def ensures(self, graph_module: Any) -> None:
        """Raise unless the pass did what it should."""
