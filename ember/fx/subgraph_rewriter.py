"""Replacing parts of a graph by others: each match of a pattern, which is a function,
a module or a graph itself.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

from ember.fx._symbolic_trace import symbolic_trace
from ember.fx.graph import Graph
from ember.fx.graph_module import GraphModule
from ember.fx.node import Node
from ember.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from ember.nn import Module

__all__ = [
    "Match",
    "ReplacedPatterns",
    "replace_pattern",
    "replace_pattern_with_filters",
]


class Match(NamedTuple):
    """One place where a pattern was found: its last node, and node by node."""

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns:
    """One replacement: its last node, the match, and the nodes put in."""

    def __init__(
        self, anchor: Node, nodes_map: dict[Node, Node], replacements: list[Node]
    ) -> None:
        self.anchor, self.nodes_map = anchor, nodes_map
        self.replacements = replacements


def _graph_of(pattern: Any) -> Graph:
    if isinstance(pattern, Graph):
        return pattern
    if isinstance(pattern, GraphModule):
        return pattern.graph
    return symbolic_trace(pattern).graph


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace every part of `gm` that does what `pattern` does; the places.

    >>> import ember
    >>> traced = ember.fx.symbolic_trace(lambda x: ember.neg(ember.relu(x)))
    >>> found = ember.fx.replace_pattern(
    ...     traced, lambda x: ember.relu(x), lambda x: ember.clamp(x, min=0)
    ... )
    >>> len(found), traced(ember.tensor([2.0]))
    (1, tensor([-2.]))
    """
    done = _replace(gm, pattern, replacement)
    return [Match(anchor=m.anchor, nodes_map=m.nodes_map) for m in done]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Any] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """`replace_pattern` where every filter accepts the match; `replacement_callback`
    can make the replacement for each match."""
    return _replace(
        gm, pattern, replacement, match_filters, ignore_literals, replacement_callback
    )


def _replace(
    gm: GraphModule,
    pattern: Any,
    replacement: Any,
    match_filters: list | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Any] | None = None,
) -> list[ReplacedPatterns]:
    original, wanted = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(
        wanted,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=ignore_literals,
    )
    matches = [
        m
        for m in matcher.match(original)
        if all(accepts(m, original, wanted) for accepts in match_filters or ())
    ]
    common = None if replacement is None else _graph_of(replacement)
    if common is None and replacement_callback is None:
        raise AssertionError("a replacement or a replacement_callback is needed")
    done: list[ReplacedPatterns] = []
    changed: dict[Node, Node] = {}
    for match in matches:
        new: Any = (
            replacement_callback(match, original, wanted)
            if replacement_callback is not None
            else common
        )
        done.append(_put_in(gm, match, new, changed))
    gm.recompile()
    if isinstance(replacement, Module):
        _add_missing(gm, replacement)
    return done


def _put_in(
    gm: GraphModule, match: InternalMatch, new: Graph, changed: dict[Node, Node]
) -> ReplacedPatterns:
    original = gm.graph
    inputs = [n for n in new.nodes if n.op == "placeholder"]
    if len(match.placeholder_nodes) != len(inputs):
        raise AssertionError(
            f"the pattern has {len(match.placeholder_nodes)} inputs, the replacement "
            f"{len(inputs)}"
        )
    values: dict[Node, Any] = {}
    for wanted, found in zip(inputs, match.placeholder_nodes, strict=True):
        values[wanted] = changed.get(found, found) if isinstance(found, Node) else found
    inside = set(match.nodes_map.values()) - set(match.placeholder_nodes)
    users = {u for n in match.returning_nodes for u in n.users if u not in inside}
    order = original._positions()
    first = min(users, key=order.__getitem__, default=None)
    last = max((n for n in inside if n in order), key=order.__getitem__, default=None)
    if first is None or (last is not None and order[last] < order[first]):
        first = last.next if last is not None else first
    with original.inserting_before(first):
        before = set(original.nodes)
        made = original.graph_copy(new, values)
    added = [n for n in original.nodes if n not in before]
    made_nodes = (made,) if isinstance(made, Node) else tuple(made)
    if len(match.returning_nodes) != len(made_nodes):
        raise AssertionError(
            f"the pattern returns {len(match.returning_nodes)} values, the replacement "
            f"{len(made_nodes)}"
        )
    for old, fresh in zip(match.returning_nodes, made_nodes, strict=True):
        old.replace_all_uses_with(fresh, lambda user: user not in added)
        changed[old] = fresh
    pattern_order = [
        n for n in match.nodes_map if n.op not in ("placeholder", "output")
    ]
    for node in reversed(pattern_order):
        found = match.nodes_map[node]
        dead = found in inside and not found._erased and not found.users
        if dead and found.op not in ("placeholder", "output"):
            original.erase_node(found)
    for node in sorted(
        (n for n in inside if not n._erased), key=lambda n: -order.get(n, 0)
    ):
        if not node.users and node.op not in ("placeholder", "output"):
            original.erase_node(node)
    return ReplacedPatterns(match.anchors[0], match.nodes_map, added)


def _add_missing(gm: GraphModule, replacement: Module) -> None:
    """Take over what the replacement's nodes name and `gm` lacks."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        try:
            _find(gm, node.target)
        except AttributeError:
            try:
                found = _find(replacement, node.target)
            except AttributeError:
                raise RuntimeError(
                    f'Attempted to create a "{node.op}" node during subgraph rewriting '
                    f"with target {node.target}, but the referenced attribute does not "
                    "exist in the replacement GraphModule"
                ) from None
            path, _, name = node.target.rpartition(".")
            if isinstance(found, Module):
                gm.add_submodule(node.target, copy.deepcopy(found))
            else:
                owner = gm if not path else _make(gm, path)
                setattr(owner, name, copy.deepcopy(found))
    gm.graph.lint()


def _find(module: Any, target: str) -> Any:
    for part in target.split("."):
        module = getattr(module, part)
    return module


def _make(gm: GraphModule, path: str) -> Module:
    if not hasattr(gm, path):
        gm.add_submodule(path, Module())
    return _find(gm, path)
