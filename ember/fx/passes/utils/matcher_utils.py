"""Finding the places of a graph that do what a pattern does."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import ember
from ember.fx.graph import Graph
from ember.fx.node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place: nodes of the graph for nodes of the pattern."""

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            anchors=self.anchors,
            nodes_map=self.nodes_map.copy(),
            placeholder_nodes=self.placeholder_nodes.copy(),
            returning_nodes=self.returning_nodes.copy(),
        )


class SubgraphMatcher:
    """Finds a pattern in graphs, from its outputs backwards."""

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError(
                "SubgraphMatcher cannot be initialized with an empty pattern"
            )
        for node in pattern.nodes:
            if node.op != "output" and not node.users and node.op != "placeholder":
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead "
                    "code"
                )
        self.pattern_placeholder_nodes = [
            n for n in pattern.nodes if n.op == "placeholder"
        ]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = (
            [output]
            if match_output
            else [n for n in output.all_input_nodes if len(n.users) == 1]
        )

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        if pn.target == gn.target:
            return True
        wanted = _attribute(pn.graph.owning_module, pn.target)
        found = _attribute(gn.graph.owning_module, gn.target)
        if type(wanted) is not type(found):
            return False
        return isinstance(wanted, ember.Tensor) or wanted == found

    def _nodes_are_equal(self, pn: Node, gn: Node) -> bool:
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._match_attributes(pn, gn)
        return pn.target == gn.target

    def _is_contained(self, nodes_map: dict[Node, Node]) -> bool:
        """Whether nothing outside uses a value that the replacement would drop."""
        lookup = {g: p for p, g in nodes_map.items() if isinstance(g, Node)}
        for gn, pn in lookup.items():
            if pn.op in ("placeholder", "get_attr") or pn in self._kept():
                continue
            if any(user not in lookup for user in gn.users):
                return False
        return True

    def _kept(self) -> list[Node]:
        return self.pattern_returning_nodes

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        if isinstance(pn, Node):
            if isinstance(gn, Node):
                raise AssertionError("pn and gn cannot both be Node")
            if pn.op == "placeholder":
                if pn in match.nodes_map:
                    return match.nodes_map[pn] == gn
                match.nodes_map[pn] = gn
                return True
            return False
        return not isinstance(gn, Node) and type(gn) is type(pn) and gn == pn

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if gn in match.nodes_map.values() and pn.op != "placeholder":
            return False
        if not self._nodes_are_equal(pn, gn):
            return False
        saved = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        if self._match_arguments(pn, gn, match):
            return True
        match.nodes_map = saved.nodes_map
        match.placeholder_nodes = saved.placeholder_nodes
        match.returning_nodes = saved.returning_nodes
        return False

    def _match_arguments(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        wanted, found = _named(pn), _named(gn)
        if wanted is None or found is None or set(wanted[1]) != set(found[1]):
            wanted, found = (pn.args, dict(pn.kwargs)), (gn.args, dict(gn.kwargs))
        if len(wanted[0]) != len(found[0]) or set(wanted[1]) != set(found[1]):
            return False
        pairs = [*zip(wanted[0], found[0], strict=True)]
        pairs += [(value, found[1][key]) for key, value in wanted[1].items()]
        return all(self._match_args(p, g, match) for p, g in pairs)

    def _match_args(self, p: Any, g: Any, match: InternalMatch) -> bool:
        if isinstance(p, Node) and isinstance(g, Node):
            return self._match_nodes(p, g, match)
        if isinstance(p, list | tuple) and isinstance(g, list | tuple):
            return len(p) == len(g) and all(
                self._match_args(a, b, match) for a, b in zip(p, g, strict=True)
            )
        if isinstance(p, dict) and isinstance(g, dict):
            return set(p) == set(g) and all(
                self._match_args(p[k], g[k], match) for k in p
            )
        if isinstance(p, slice) and isinstance(g, slice):
            ours, theirs = (p.start, p.stop, p.step), (g.start, g.stop, g.step)
            return self._match_args(ours, theirs, match)
        if self.ignore_literals and not isinstance(p, Node) and not isinstance(g, Node):
            return True
        return self._match_literals(p, g, match)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places where `graph` does what the pattern does, first to last."""
        candidates: dict[Node, list[Node]] = {
            anchor: [n for n in graph.nodes if self._nodes_are_equal(anchor, n)]
            for anchor in self.pattern_anchors
        }
        for anchor in self.pattern_anchors:
            if anchor.op == "placeholder":
                candidates[anchor] = [n for n in graph.nodes if n.op != "output"]
        matches: list[InternalMatch] = []

        def follow(at: int, match: InternalMatch) -> None:
            if at >= len(self.pattern_anchors):
                match.placeholder_nodes = [
                    match.nodes_map[pn]
                    for pn in self.pattern_placeholder_nodes
                    if pn in match.nodes_map
                ]
                match.returning_nodes = [
                    match.nodes_map[pn] for pn in self.pattern_returning_nodes
                ]
                matches.append(match)
                return
            anchor = self.pattern_anchors[at]
            for node in candidates[anchor]:
                trial = copy.copy(match)
                if self._match_nodes(anchor, node, trial):
                    follow(at + 1, trial)

        follow(0, InternalMatch(anchors=self.pattern_anchors))
        matches = [m for m in matches if self._is_contained(m.nodes_map)]
        for m in matches:
            m.anchors = [m.nodes_map[a] for a in self.pattern_anchors]
        return self._apart(matches) if self.remove_overlapping_matches else matches

    def _apart(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        """Those that share no node with an earlier one."""
        taken: set[Node] = set()
        kept = []
        for match in matches:
            own = [
                gn
                for pn, gn in match.nodes_map.items()
                if pn.op not in ("placeholder", "output") and isinstance(gn, Node)
            ]
            if not any(n in taken for n in own):
                kept.append(match)
                taken.update(n for n in own if n.op != "get_attr")
        return kept


def _named(node: Node) -> tuple | None:
    """Arguments of a function by the names of its signature, where it has one."""
    if node.op != "call_function":
        return None
    from ember.fx.operator_schemas import normalize_function

    found = normalize_function(
        node.target, node.args, dict(node.kwargs), normalize_to_only_use_kwargs=True
    )
    return None if found is None else (found.args, found.kwargs)


def _attribute(module: Any, target: str) -> Any:
    for part in target.split("."):
        module = getattr(module, part, None)
    return module
