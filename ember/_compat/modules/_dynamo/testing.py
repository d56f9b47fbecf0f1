"""Backends that count the graphs they are handed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class CompileCounter:
    """Runs graphs as they are; `frame_count` graphs, `op_count` ops."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.frame_count = self.op_count = 0

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += sum(n.op.startswith("call") for n in gm.graph.nodes)
        return gm.forward


class CompileCounterWithBackend(CompileCounter):
    """The same before a backend, whose graphs it keeps."""

    def __init__(self, backend: Any) -> None:
        super().__init__()
        self.backend = backend

    def clear(self) -> None:
        super().clear()
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        from ember.compiler._face.backends import lookup

        run = super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        backend = lookup(self.backend)
        return backend(gm, example_inputs) if callable(backend) else run


class EagerAndRecordGraphs:
    """Runs graphs as they are, and keeps them."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        self.graphs.append(gm)
        return gm.forward
