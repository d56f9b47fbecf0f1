"""Graphs made faster for inference."""

from __future__ import annotations

import copy
from typing import Any

from ember import fx, nn
from ember.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]

_PATTERNS: list[tuple[Any, Any, Any]] = [
    (nn.Conv1d, nn.BatchNorm1d, fuse_conv_bn_eval),
    (nn.Conv2d, nn.BatchNorm2d, fuse_conv_bn_eval),
    (nn.Conv3d, nn.BatchNorm3d, fuse_conv_bn_eval),
    (nn.Linear, nn.BatchNorm1d, fuse_linear_bn_eval),
]


def matches_module_pattern(pattern: Any, node: Any, modules: dict[str, Any]) -> bool:
    """Whether a node and the one before it call modules of two types."""
    if not node.args or not isinstance(node.args[0], fx.Node):
        return False
    for kind, step in zip(pattern, (node.args[0], node), strict=True):
        if step.op != "call_module" or type(modules.get(step.target)) is not kind:
            return False
    return True


def replace_node_module(node: Any, modules: dict[str, Any], new_module: Any) -> None:
    """Let a node call another module."""
    parent, _, name = node.target.rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """A model whose batch norms are part of the layers before them, for inference.

    >>> import ember
    >>> from ember.fx.experimental.optimization import fuse
    >>> net = ember.nn.Sequential(ember.nn.Conv2d(1, 2, 3), ember.nn.BatchNorm2d(2))
    >>> [type(m).__name__ for m in fuse(net.eval()).children()]
    ['Conv2d']
    """
    if not inplace:
        model = copy.deepcopy(model)
    traced = (
        model
        if no_trace and isinstance(model, fx.GraphModule)
        else fx.symbolic_trace(model)
    )
    modules = dict(traced.named_modules())
    for first, second, fused in _PATTERNS:
        for node in list(traced.graph.nodes):
            if not matches_module_pattern((first, second), node, modules):
                continue
            layer, norm = node.args[0], modules[node.target]
            calls = [n for n in traced.graph.nodes if n.target == layer.target]
            if len(layer.users) > 1 or len(calls) > 1 or not norm.track_running_stats:
                continue
            replace_node_module(layer, modules, fused(modules[layer.target], norm))
            node.replace_all_uses_with(layer)
            traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def remove_dropout(model: nn.Module) -> nn.Module:
    """A model without its layers of dropout."""

    class Remover(fx.Transformer):
        def call_module(self, target: Any, args: tuple, kwargs: dict) -> Any:
            if isinstance(self.submodules[target], nn.Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    return Remover(fx.symbolic_trace(model)).transform()
