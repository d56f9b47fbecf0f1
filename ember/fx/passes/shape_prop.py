"""Shapes and dtypes of every value, by running a graph once."""

from __future__ import annotations

from typing import Any, NamedTuple

import ember
from ember.fx.interpreter import Interpreter
from ember.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What a tensor is, without its values."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(
    result: ember.Tensor, include_contiguity: bool = True
) -> TensorMetadata:
    layout = None
    if include_contiguity:
        for form in (ember.contiguous_format, ember.channels_last):
            if (form is not ember.channels_last or result.dim() == 4) and (
                result.is_contiguous(memory_format=form)
            ):
                layout = form
                break
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), layout,
        False, {},
    )  # fmt: skip


class ShapeProp(Interpreter):
    """Runs a graph and notes `meta["tensor_meta"]` and `meta["type"]` of each node.

    >>> import ember
    >>> from ember.fx.passes.shape_prop import ShapeProp
    >>> traced = ember.fx.symbolic_trace(lambda x: x.sum(1))
    >>> _ = ShapeProp(traced).propagate(ember.ones(2, 3))
    >>> [tuple(n.meta["tensor_meta"].shape) for n in traced.graph.nodes]
    [(2, 3), (2,), (2,)]
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n: Node) -> Any:
        """The value of a node, with what it is noted."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        found = False

        def extract(value: Any) -> Any:
            nonlocal found
            if isinstance(value, ember.Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, extract)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with `args`; its result."""
        return super().run(*args)
