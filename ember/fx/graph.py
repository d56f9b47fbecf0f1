"""A program as a list of nodes, in the order in which they run."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

from ember.fx._codegen import (
    CodeGen,
    PythonCode,
    _PyTreeCodeGen as _PyTreeCodeGen,
    _PyTreeInfo as _PyTreeInfo,
)
from ember.fx._names import Namespace as _Namespace, snake_case as _snake_case
from ember.fx.node import Argument, Node, Target, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode"]


class _node_list:
    """The nodes of a graph, first to last."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, direction = self.graph._root, self.direction
        node = getattr(root, direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class _InsertPoint:
    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = new_insert

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None:
        self.graph._insert = self.before


class Graph:
    """A program: nodes, in order.

    >>> import ember
    >>> graph = ember.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(ember.relu, (x,))
    >>> _ = graph.output(y)
    >>> module = ember.fx.GraphModule({}, graph)
    >>> module(ember.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._len = 0
        self._graph_namespace = _Namespace()
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._owners = 0
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._order: dict[Node, int] | None = None

    def _changed(self) -> None:
        self._order = None

    def _positions(self) -> dict[Node, int]:
        if self._order is None:
            self._order = {node: i for i, node in enumerate(self.nodes)}
        return self._order

    @property
    def owning_module(self) -> Any:
        """The GraphModule that runs this graph."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> Any:
        """The nodes, in order; `reversed(graph.nodes)` too."""
        return _node_list(self)

    def find_nodes(
        self, *, op: str, target: Target | None = None, sort: bool = True
    ) -> list[Node]:
        """The nodes of a kind, and of a target.

        >>> import ember
        >>> graph = ember.fx.symbolic_trace(lambda x: ember.relu(x) + 1).graph
        >>> graph.find_nodes(op="call_function", target=ember.relu)
        [relu]
        """
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes(): a call_function needs its target")
        return [
            node
            for node in self.nodes
            if node.op == op and (target is None or node.target == target)
        ]

    # --- making nodes ---------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the point of insertion."""
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple | list):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        candidate = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(candidate, None)
        node = Node(self, name, op, target, tuple(args), kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(name, node)
        for hook in getattr(self.owning_module, "_create_node_hooks", None) or ():
            hook(node)
        self._insert(node)
        self._len += 1
        self._changed()
        return node

    def _target_to_str(self, target: Any) -> str:
        if callable(target):
            text = getattr(target, "__name__", type(target).__name__)
        else:
            text = str(target)
            if text.startswith("__") and text.endswith("__"):
                text = text[2:-2]
        return _snake_case(text)

    def placeholder(
        self, name: str, type_expr: Any = None, default_value: Any = ...
    ) -> Node:
        """An input."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module."""
        owner = self.owning_module
        if owner is not None and not _attribute_exists(owner, qualified_name):
            import warnings

            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in "
                "the owning GraphModule! Call GraphModule.add_submodule to add the "
                "necessary submodule, GraphModule.add_parameter to add the necessary "
                "Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a submodule."""
        owner = self.owning_module
        if owner is not None and not _attribute_exists(owner, module_name):
            import warnings

            warnings.warn(
                "Attempted to insert a call_module Node with no underlying reference "
                "in the owning GraphModule! Call GraphModule.add_submodule to add the "
                "necessary submodule",
                stacklevel=2,
            )
        return self.create_node(
            "call_module", module_name, args, kwargs, type_expr=type_expr
        )

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node(
            "call_method", method_name, args, kwargs, type_expr=type_expr
        )

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node(
            "call_function", the_function, args, kwargs, name, type_expr
        )

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """What the program returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def output_node(self) -> Node:
        """The node of kind "output"."""
        node = self._root._prev
        if node.op != "output":
            raise AssertionError("the last node of the graph is not its output")
        return node

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """A copy, here, of a node of another graph."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        made = self.create_node(
            node.op, node.target, args, kwargs, node.name, node.type
        )
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Copy the nodes of `g` here; what its output returns, as values here."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    # --- changing -------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out; nothing may use it."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had "
                f"{len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            import warnings

            warnings.warn(
                f"erase_node({to_erase}) on an already erased node", stacklevel=2
            )
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", None) or ():
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs((), {})
        self._changed()

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """A block in which new nodes go before `n`, or before all."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """A block in which new nodes go after `n`, or behind all; in order."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        at = [n]

        def insert(node: Node) -> None:
            at[0].append(node)
            at[0] = node

        return _InsertPoint(self, insert)

    def eliminate_dead_code(
        self, is_impure_node: Callable[[Node], bool] | None = None
    ) -> bool:
        """Erase nodes that nothing uses and that have no effect; whether there were.

        >>> import ember
        >>> graph = ember.fx.symbolic_trace(lambda x: (ember.relu(x), x)[1]).graph
        >>> graph.eliminate_dead_code()
        True
        """
        self.lint()
        before = self._len
        for node in reversed(self.nodes):
            impure = is_impure_node(node) if is_impure_node else node.is_impure()
            if node.op in ("placeholder", "output"):
                continue
            if not impure and not node.users:
                self.erase_node(node)
        return self._len < before

    def lint(self) -> None:
        """Raise unless every node uses only nodes before it, and targets exist."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' does not belong to this "
                        "Graph, but was used as an argument! If you are copying nodes "
                        "from another graph, make sure to use ``arg_transform`` on "
                        f"node_copy() to remap values\n{self}"
                    )
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has "
                        "been defined! Please check that Nodes in the graph are "
                        f"topologically ordered\n{self}"
                    )
                if node not in used.users:
                    raise RuntimeError(f"'{node}' is not among the users of '{used}'")
            seen.add(node)
            names.add(node.name)
            owner = self.owning_module
            named = owner is not None and node.op in ("get_attr", "call_module")
            if named and not _attribute_exists(owner, node.target):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent "
                    "attribute of the module"
                )

    # --- text -----------------------------------------------------------------------

    def python_code(self, root_module: str, *, verbose: bool = False, **options: Any):
        """The program as text; `root_module` is what it calls its module."""
        namespace = _Namespace()

        def name_of(node: Node) -> str:
            return namespace.create_name(node.name, node)

        for node in self.nodes:
            node._repr_fn = name_of
        try:
            return self._codegen._gen_python_code(
                self.nodes, root_module, namespace, verbose=verbose, **options
            )
        finally:
            for node in self.nodes:
                node._repr_fn = None

    def set_codegen(self, codegen: CodeGen) -> None:
        """Write the program with `codegen` from now on."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable) -> Any:
        """Register a change of the lines of the body; undone by leaving the block."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def undo() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return undo()

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, from the arguments of the function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the function returns, from the value of the output."""
        return self._codegen.process_outputs(out)

    def print_tabular(self) -> None:
        """Print the nodes as a table.

        >>> import ember
        >>> ember.fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
        opcode         name    target                   args    kwargs
        -------------  ------  -----------------------  ------  --------
        placeholder    x       x                        ()      {}
        call_function  add     <built-in function add>  (x, 1)  {}
        output         output  output                   (add,)  {}
        """
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [
            [str(v) for v in (n.op, n.name, n.target, n.args, n.kwargs)]
            for n in self.nodes
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, ["-" * max(w, 0) for w in widths])
        for i in range(5):  # a little wider than the head
            widths[i] = max(widths[i], len(rows[0][i]) + 2 if i else widths[i])
            rows[1][i] = "-" * widths[i]
        for row in rows:
            cells = (c.ljust(w) for c, w in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip())

    def __str__(self) -> str:
        inputs: list[str] = []
        returns = [""]
        lines = [n.format_node(None, returns) for n in self.nodes]
        text = f"graph({', '.join(inputs)}){returns[0]}:"
        return text + "".join(f"\n    {line}" for line in lines if line)

    def __deepcopy__(self, memo: dict | None = None) -> Graph:
        memo = memo if memo is not None else {}
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        made._codegen = copy.deepcopy(self._codegen)
        val_map: dict[Node, Node] = {}
        found = made.graph_copy(self, val_map, return_output_node=True)
        if found is not None:
            result, old = found
            node = made.output(result, type_expr=old.type)
            node._rename(old.name)
            node.meta = copy.copy(old.meta)
        memo[id(self)] = made
        return made

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_order"] = None
        state["_nodes"] = [_node_state(n) for n in self.nodes]
        for key in ("_root", "_insert", "_owning_module", "_graph_namespace", "_len"):
            state.pop(key)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = state.pop("_nodes")
        self.__init__(tracer_cls=state["_tracer_cls"])  # type: ignore[misc]
        self.__dict__.update(state)
        made: dict[str, Node] = {}
        for op, name, target, args, kwargs, kind, meta in rows:
            back = lambda a: _from_state(a, made)  # noqa: E731
            node = self.create_node(op, target, back(args), back(kwargs), name, kind)
            made[name], node.meta = node, meta


class _Reference:
    """A node, in a pickled graph."""

    def __init__(self, name: str) -> None:
        self.name = name


def _node_state(node: Node) -> tuple:
    def named(n: Node) -> _Reference:
        return _Reference(n.name)

    args, kwargs = map_arg(node.args, named), map_arg(node.kwargs, named)
    return (node.op, node.name, node.target, args, kwargs, node.type, node.meta)


def _from_state(a: Any, made: dict[str, Node]) -> Any:
    from ember.fx.node import map_aggregate

    return map_aggregate(a, lambda x: made[x.name] if isinstance(x, _Reference) else x)


def _attribute_exists(module: Any, target: str) -> bool:
    for part in target.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True
