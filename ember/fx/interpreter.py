"""Running a graph node by node, and making another graph of one."""

from __future__ import annotations

from typing import Any

from ember.fx import traceback as fx_traceback
from ember.fx._symbolic_trace import Tracer
from ember.fx.graph import Graph
from ember.fx.graph_module import GraphModule
from ember.fx.node import Node, map_aggregate, map_arg
from ember.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a GraphModule one node after another; subclasses change what a node does.

    >>> import ember
    >>> class Log(ember.fx.Interpreter):
    ...     def run_node(self, n):
    ...         print(n.name)
    ...         return super().run_node(n)
    >>> Log(ember.fx.symbolic_trace(lambda x: x + 1)).run(ember.ones(1))
    x
    add
    output
    tensor([2.])
    """

    def __init__(
        self,
        module: Any,
        garbage_collect_values: bool = True,
        graph: Graph | None = None,
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = graph if graph is not None else module.graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            last: dict[Node, Node] = {}
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in last:
                        last[used] = node
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """What the program makes of `args`."""
        self.env = initial_env if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    note = f"While executing {node.format_node()}"
                    if node.stack_trace:
                        note += f"\nOriginal traceback:\n{node.stack_trace}"
                    message = f"{error.args[0]}\n\n{note}" if error.args else note
                    error.args = (message, *error.args[1:])
                raise
            if self.garbage_collect_values:
                for used in self.user_to_last_uses.get(node, ()):
                    self.env.pop(used, None)
            if node.op == "output":
                result = self.env[node]
                if enable_io_processing:
                    return self.graph.process_outputs(result)
                return result
        return None

    def boxed_run(self, args_list: list) -> Any:
        """`run` of a list of inputs, which is emptied."""
        env = {}
        inputs = [n for n in self.graph.nodes if n.op == "placeholder"]
        for node, value in zip(inputs, args_list, strict=True):
            env[node] = value
        args_list.clear()
        return self.run(initial_env=env)

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        with fx_traceback.set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """The next input."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                "Expected positional argument for parameter "
                f"{target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """A call of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """A call of a method of the first argument."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """A call of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """What the program returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """The attribute "a.b.c" of the module."""
        found = self.module
        parts = target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}"
                )
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict]:
        """The values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(
            n.kwargs, n
        )

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """`args` with values in place of nodes."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() "
                    "to diagnose such issues"
                )
            return self.env[node]

        return _plain(map_arg(args, value))


def _plain(a: Any) -> Any:
    """Lists and dicts that can be changed, for the functions that get them."""
    if isinstance(a, list):
        return [_plain(item) for item in a]
    if isinstance(a, dict):
        return {k: _plain(v) for k, v in a.items()}
    if type(a) is tuple:
        return tuple(_plain(item) for item in a)
    return a


class Transformer(Interpreter):
    """Makes a GraphModule of another, node by node; subclasses change what a node
    becomes.

    >>> import ember
    >>> class Swap(ember.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         target = ember.tanh if target is ember.relu else target
    ...         return super().call_function(target, args, kwargs)
    >>> traced = ember.fx.symbolic_trace(lambda x: ember.relu(x))
    >>> Swap(traced).transform()(ember.zeros(1))
    tensor([0.])
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.tensor_attrs: dict = {}
                self.root = module

            def is_leaf_module(self, m: Any, name: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer._parameters = {
            id(p): n for n, p in module.named_parameters(remove_duplicate=False)
        }

    def placeholder(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """An input of the new graph."""
        default = args[0] if args else ...
        node = self.new_graph.placeholder(target, default_value=default)
        return Proxy(node, self.tracer)

    def get_attr(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """An attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """A call of a submodule in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """A call of a function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(a: Any) -> Any:
                return a.node if isinstance(a, Proxy) else a

            made = self.new_graph.output(map_aggregate(result, node_of))
            old = self.module.graph.output_node()
            made.type = old.type
            made.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)
