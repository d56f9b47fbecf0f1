"""`make_fx`: a function as a graph of the aten ops that a run of it carries out.

Unlike `symbolic_trace` it sees what happens to tensors, not what the text of the
function says, so derivatives and `vmap` inside of it become ops as well.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any

import ember
from ember.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from ember.fx.graph import Graph
from ember.fx.graph_module import GraphModule
from ember.fx.node import Node
from ember.utils import _pytree

_tracers: list[_Tracer] = []  # those that are running, innermost last


class ProxyTensor(ember.Tensor):
    """A tensor with its value, and the node of the graph that makes it."""

    elem: ember.Tensor
    node: Node
    tracer: _Tracer

    @staticmethod
    def __new__(
        cls, elem: ember.Tensor, node: Node, tracer: _Tracer, requires_grad: bool
    ) -> ProxyTensor:
        return ember.Tensor._make_wrapper_subclass(
            cls,
            elem.shape,
            dtype=elem.dtype,
            device=elem.device,
            strides=elem.stride(),
            requires_grad=requires_grad,
        )

    def __init__(
        self, elem: ember.Tensor, node: Node, tracer: _Tracer, requires_grad: bool
    ) -> None:
        self.elem, self.node, self.tracer = elem, node, tracer
        node.meta.setdefault("val", elem.detach().to("meta"))

    def __repr__(self) -> str:  # type: ignore[override]
        return f"ProxyTensor({self.elem}, {self.node})"

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """The op on the values, written down."""
        leaves = _pytree.tree_leaves((args, kwargs))
        tracer = next(a.tracer for a in leaves if isinstance(a, ProxyTensor))
        return tracer.call(func, args, kwargs or {})


class _Tracer:
    """The graph that grows while a function runs."""

    def __init__(self, table: Mapping[Any, Callable]) -> None:
        self.graph = Graph()
        self.root: dict[str, Any] = {}
        self.table = table

    def wrap(self, value: Any, node: Node, requires_grad: bool = False) -> Any:
        if isinstance(value, ember.Tensor):
            return ProxyTensor(value, node, self, requires_grad)
        if isinstance(value, tuple | list):
            items = [
                self.wrap(v, self.graph.call_function(operator.getitem, (node, i)))
                if isinstance(v, ember.Tensor)
                else v
                for i, v in enumerate(value)
            ]
            return type(value)(items)  # a named tuple of an op takes one sequence
        return value

    def node_of(self, a: Any) -> Any:
        """What stands for an argument in the graph."""
        if isinstance(a, ProxyTensor):
            return a.node
        if isinstance(a, ember.Tensor):
            name = f"_tensor_constant{len(self.root)}"
            self.root[name] = a
            return self.graph.get_attr(name)
        return a

    def call(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """Carry out an op and write it down, by its parts where a table has them."""
        parts = self.table.get(func)
        if parts is not None:
            return parts(*args, **kwargs)
        name = getattr(func, "__name__", str(func)).split(".")[0]
        if name in ("item", "_local_scalar_dense", "is_nonzero", "equal", "tolist"):
            raise RuntimeError(
                f"make_fx(): {name}() reads the values of a tensor, which a graph "
                "cannot follow"
            )
        values = _pytree.tree_map(_value, (args, kwargs))
        nodes = _pytree.tree_map(self.node_of, (args, kwargs))
        out = func(*values[0], **values[1])
        if name == "detach" and _pytree.tree_leaves(nodes[0]):
            return self.wrap(out, nodes[0][0])  # the same values: no step
        node = self.graph.call_function(func, *nodes)
        changed = kwargs.get("out") if "out" in kwargs else None
        if name.endswith("_") and not name.endswith("__"):
            changed = args[0]
        if isinstance(changed, ProxyTensor):
            changed.node = node
            return changed
        return self.wrap(out, node)


def _changes(node: Node) -> bool:
    """Whether an op changes one of its arguments."""
    name = getattr(node.target, "__name__", "").split(".")[0]
    return node.op == "call_function" and (
        "out" in node.kwargs or (name.endswith("_") and not name.endswith("__"))
    )


def _value(a: Any) -> Any:
    return a.elem if isinstance(a, ProxyTensor) else a


def make_fx(
    f: Callable,
    decomposition_table: Mapping[Any, Callable] | None = None,
    tracing_mode: str = "real",
    **options: Any,
) -> Callable[..., GraphModule]:
    """A function that runs `f` on example inputs and returns the graph of its ops.

    The graph is that of this run: what Python decided, by sizes or otherwise, is
    decided for good. Decisions by the values of tensors are refused.

    >>> import ember
    >>> from ember.fx.experimental.proxy_tensor import make_fx
    >>> def f(x):
    ...     return ember.func.grad(lambda x: x.sin().sum())(x)
    >>> g = make_fx(f)(ember.zeros(2))
    >>> g(ember.ones(2))
    tensor([0.5403, 0.5403])
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(
            "tracing_mode should be real, fake or symbolic, but got " + tracing_mode
        )
    if tracing_mode == "symbolic":
        raise NotImplementedError(
            "make_fx(): sizes are numbers in its graphs; ember.export.export has sizes "
            "that vary"
        )

    def wrapped(*args: Any) -> GraphModule:
        tracer = _Tracer(decomposition_table or {})
        leaves, spec = _pytree.tree_flatten(args)
        names = _names(f, len(args))
        flat = len(leaves) == len(args)
        given = []
        for i, leaf in enumerate(leaves):
            node = tracer.graph.placeholder(f"{names[i]}_1" if flat else f"arg{i}_1")
            given.append(
                tracer.wrap(leaf.detach(), node, leaf.requires_grad)
                if isinstance(leaf, ember.Tensor)
                else leaf
            )
        _tracers.append(tracer)
        try:
            out = f(*_pytree.tree_unflatten(given, spec))
        finally:
            _tracers.pop()
        results, out_spec = _pytree.tree_flatten(out)
        nodes = [tracer.node_of(r) for r in results]
        single = len(results) == 1 and results[0] is out
        tracer.graph.output(nodes[0] if single else nodes)
        if not flat or not single:
            in_spec = _pytree.tree_flatten(list(args))[1]
            tracer.graph._codegen = _PyTreeCodeGen(
                _PyTreeInfo(names, in_spec, out_spec)
            )
        tracer.graph.eliminate_dead_code(_changes)
        name = getattr(f, "__name__", "wrapped")
        return GraphModule(tracer.root, tracer.graph, name)

    return wrapped


def _names(f: Callable, count: int) -> list[str]:
    """Names of the first arguments of a function."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()  # type: ignore[assignment]
    names = [
        p.name
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ][:count]
    return names + [f"arg{i}" for i in range(len(names), count)]


def get_proxy_mode() -> _Tracer | None:
    """What records at the moment, if anything does."""
    return _tracers[-1] if _tracers else None


__all__ = ["get_proxy_mode", "make_fx"]
