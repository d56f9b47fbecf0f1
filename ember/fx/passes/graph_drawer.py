"""Graphs as pictures, in the language of Graphviz."""

from __future__ import annotations

from typing import Any

__all__ = ["FxGraphDrawer"]

_COLORS = {
    "placeholder": "AliceBlue",
    "call_module": "LemonChiffon1",
    "get_attr": "LightGrey",
    "output": "PowderBlue",
}


class FxGraphDrawer:
    """The picture of a GraphModule: `dot_text`, or `get_dot_graph` with pydot.

    >>> import ember
    >>> from ember.fx.passes.graph_drawer import FxGraphDrawer
    >>> drawer = FxGraphDrawer(ember.fx.symbolic_trace(lambda x: x + 1), "add")
    >>> print(drawer.dot_text().splitlines()[0])
    digraph "add" {
    """

    def __init__(self, graph_module: Any, name: str, **options: Any) -> None:
        self.graph_module, self.name = graph_module, name

    def _label(self, node: Any) -> str:
        rows = [f"name=%{node.name}", f"op_code={node.op}"]
        target = node._pretty_print_target(node.target)
        rows.append(f"target={target}")
        meta = node.meta.get("tensor_meta", node.meta.get("val"))
        if hasattr(meta, "shape") and hasattr(meta, "dtype"):
            rows.append(f"{meta.dtype} {tuple(meta.shape)}")
        text = "|".join(r.translate(_ESCAPED) for r in rows)
        return "{" + text + "}"

    def dot_text(self) -> str:
        """The picture as text."""
        lines = [f'digraph "{self.name}" {{', "rankdir=TB;"]
        for node in self.graph_module.graph.nodes:
            color = _COLORS.get(node.op, "CornSilk")
            lines.append(
                f'"{node.name}" [label="{self._label(node)}", shape=record, '
                f'style="filled,rounded", fillcolor="{color}"];'
            )
        for node in self.graph_module.graph.nodes:
            for used in node.all_input_nodes:
                lines.append(f'"{used.name}" -> "{node.name}";')
        return "\n".join([*lines, "}"]) + "\n"

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The picture as an object of pydot, which has to be installed."""
        try:
            import pydot
        except ImportError as error:
            raise RuntimeError(
                "FXGraphDrawer requires the pydot package to be installed. Please "
                "install pydot, or use dot_text()"
            ) from error
        return pydot.graph_from_dot_data(self.dot_text())[0]


_ESCAPED = str.maketrans({c: "\\" + c for c in '{}|<>"'})
