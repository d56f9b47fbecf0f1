"""One graph as several submodules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ember.fx.graph import Graph
from ember.fx.graph_module import GraphModule
from ember.fx.node import Node, map_arg
from ember.nn import Module

__all__ = ["Partition", "split_module"]


class Partition:
    """The steps that become one submodule."""

    def __init__(self, name: str) -> None:
        self.name, self.submod_name = name, f"submod_{name}"
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.needs: dict[str, None] = {}


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], int | str | None],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool = False,
    keep_original_node_name: bool = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    **options: Any,
) -> GraphModule:
    """A module whose submodules are the parts that `split_callback` puts each node in.

    >>> import ember
    >>> from ember.fx.passes.split_module import split_module
    >>> traced = ember.fx.symbolic_trace(lambda x: ember.relu(x) + 1)
    >>> split = split_module(traced, traced, lambda n: int(n.name == "add"))
    >>> [name for name, _ in split.named_children()]
    ['submod_0', 'submod_1']
    """
    parts: dict[str, Partition] = {}
    home: dict[Node, Partition] = {}
    affix = f"{partition_affix}_" if partition_affix else ""
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = affix + str(split_callback(node))
        part = parts.setdefault(name, Partition(name))
        part.nodes.append(node)
        home[node] = part
    for node in m.graph.nodes:
        for used in node.all_input_nodes:
            _connect(used, node, home)
    order = list(parts.values()) if keep_original_order else _sorted(parts)
    values: dict[Node, Any] = {}
    base = Graph()
    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = node.args[0] if node.args else ...
            values[node] = base.placeholder(node.target, node.type, default)
            values[node].meta = node.meta.copy()
    children: dict[str, Any] = {}
    for part in order:
        children[part.submod_name] = _submodule(part, root_m, m, qualname_map)
        args = tuple(values[n] for n in part.inputs)
        call = base.create_node("call_module", part.submod_name, args)
        outputs = list(part.outputs)
        if len(outputs) == 1:
            values[outputs[0]] = call
        elif outputs:
            import operator

            for i, out in enumerate(outputs):
                item = base.call_function(operator.getitem, (call, i))
                values[out] = item
    for node in m.graph.nodes:
        if node.op == "output":

            def value(n: Node) -> Node:
                if n.op == "get_attr" and n not in values:
                    values[n] = base.get_attr(n.target)
                    children[n.target] = _attribute(root_m, n.target)
                return values[n]

            base.output(map_arg(node.args[0], value), node.type)
    made = GraphModule(children, base)
    made.training = m.training
    return made


def _attribute(module: Any, target: str) -> Any:
    for part in target.split("."):
        module = getattr(module, part)
    return module


def _connect(used: Node, user: Node, home: dict[Node, Partition]) -> None:
    made_in, used_in = home.get(used), home.get(user)
    if made_in is used_in:
        return
    if made_in is not None:
        made_in.outputs[used] = None
    if used_in is not None and used.op != "get_attr":
        used_in.inputs[used] = None
        if made_in is not None:
            used_in.needs[made_in.name] = None


def _sorted(parts: dict[str, Partition]) -> list[Partition]:
    """Parts behind those whose results they use."""
    done: dict[str, Partition] = {}
    while len(done) < len(parts):
        ready = [
            p
            for p in parts.values()
            if p.name not in done and set(p.needs) <= set(done)
        ]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        done[ready[0].name] = ready[0]
    return list(done.values())


def _submodule(
    part: Partition, root: Any, m: GraphModule, qualname_map: dict[str, str] | None
) -> GraphModule:
    graph = Graph()
    values: dict[Node, Node] = {}
    attributes: dict[str, Any] = {}
    for node in part.inputs:
        values[node] = graph.placeholder(node.name, node.type)
        values[node].meta = node.meta.copy()

    def value(n: Node) -> Node:
        if n.op == "get_attr" and n not in values:
            name = n.target.replace(".", "_")
            attributes[name] = _attribute(root, n.target)
            values[n] = graph.get_attr(name)
        return values[n]

    for node in part.nodes:
        args, kwargs = map_arg(node.args, value), map_arg(node.kwargs, value)
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            attributes[target] = _attribute(root, node.target)
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = node.target
        made = graph.create_node(node.op, target, args, kwargs, node.name, node.type)
        made.meta = node.meta.copy()
        values[node] = made
    outputs = [values[n] for n in part.outputs]
    graph.output(outputs[0] if len(outputs) == 1 else tuple(outputs))
    return GraphModule(attributes, graph)
