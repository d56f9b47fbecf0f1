"""What stands for a value while a program is followed: each thing done to a `Proxy`
becomes a node of the graph.
"""

from __future__ import annotations

import dis
import operator
import sys
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

import ember
from ember.fx._names import MAGIC, REFLECTABLE, is_method
from ember.fx.graph import Graph
from ember.fx.node import Node, base_types

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError"]


class TraceError(ValueError):
    """What cannot be followed: it depends on values."""


class Scope:
    """The module whose forward is running."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class TracerBase:
    """Makes nodes; `Tracer` follows whole modules with it."""

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope | None = None

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node at the end of the graph."""
        if kind == "call_function" and self.check_mutable_operations:
            _check_mutable(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        stack = getattr(self, "module_stack", None)
        if stack:
            node.meta["nn_module_stack"] = dict(stack)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = _user_stack()
        from ember.fx.traceback import current_meta

        if current_meta:
            for key, value in current_meta.items():
                node.meta.setdefault(key, value)
        return node

    def proxy(self, node: Node) -> Proxy:
        """What stands for the value of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:
        """A node of these arguments, and what stands for its value."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, tuple(args_), kwargs_, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """An argument as nodes have it: proxies become their nodes."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            if hasattr(a, "_fields"):
                return type(a)(*items)
            return tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return self._create_dict(a)
        if isinstance(a, range):
            return range(*(self.create_arg(v) for v in (a.start, a.stop, a.step)))
        if isinstance(a, slice):
            return slice(*(self.create_arg(v) for v in (a.start, a.stop, a.step)))
        if hasattr(type(a), "__dataclass_fields__") and not isinstance(a, type):
            from dataclasses import fields

            kwargs = {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a)}
            return self.create_node("call_function", type(a), (), kwargs)
        if isinstance(a, base_types) or a is ... or _is_constant(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _create_dict(self, a: dict) -> dict:
        made = {}
        for key, value in a.items():
            if isinstance(self.create_arg(key), Node):
                raise RuntimeError(
                    "Keys for dictionaries used as an argument cannot contain a Node. "
                    f"Got key: {key}"
                )
            made[key] = self.create_arg(value)
        return made

    def to_bool(self, obj: Proxy) -> bool:
        """A proxy as a condition: an error, since its value is not known."""
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow"
        )

    def iter(self, obj: Proxy) -> Iterator:
        """A proxy in a loop: an error, since its length is not known."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is "
            "used in a loop or as a *args or **kwargs function argument. See the "
            "torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring "
            "for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """A proxy as `**kwargs`."""
        return Attribute(obj, "keys")()


def _is_constant(a: Any) -> bool:
    """Whether an object goes into the graph as it is."""
    from ember.ops import OpOverloads

    return isinstance(a, OpOverloads) or (
        callable(a)
        and (isinstance(a, type) or getattr(a, "__name__", "").isidentifier())
        and not isinstance(a, ember.nn.Module)
    )


def _check_mutable(target: Any, args: tuple, kwargs: dict) -> None:
    name = getattr(target, "__name__", "")
    mutable = name.endswith("_") and not name.endswith("__")
    if mutable or "out" in kwargs or kwargs.get("inplace") is True:
        raise RuntimeError(
            f"Tried to trace mutable operation {name}. FX only supports functional "
            "code, so operations that mutate operands in-place (e.g. via `out` "
            "arguments) are not supported"
        )


def _user_stack() -> str:
    """The lines of the program on the stack, without those of this package."""
    frames = traceback.extract_stack()
    here = __file__.rpartition("fx")[0]
    return "".join(
        traceback.format_list([f for f in frames if not f.filename.startswith(here)])
    ).strip()


class GraphAppendingTracer(TracerBase):
    """Appends to a graph that exists."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack: dict = {}
        self.node_name_to_scope: dict = {}


class Proxy:
    """Stands for a value while a program is followed.

    Ops, operators, methods, attributes and indexing of it become nodes. What depends on
    the value itself (a condition, a loop over it, its length) raises.

    >>> import ember
    >>> graph = ember.fx.Graph()
    >>> x = ember.fx.Proxy(graph.placeholder("x"))
    >>> (ember.relu(x) + 1).node
    add
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        if tracer is None:
            tracer = GraphAppendingTracer(node.graph)
        self.tracer = tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict:
        return self.__dict__

    def __setstate__(self, state: dict) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict) -> Proxy:
        from copy import deepcopy

        made = Proxy.__new__(type(self))
        made.__dict__.update(
            {k: deepcopy(v, memo) if k == "node" else v for k, v in vars(self).items()}
        )
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy(
            "call_method", "__call__", (self, *args), kwargs
        )

    def __iter__(self) -> Iterator:
        caller = sys._getframe(1)
        count = _unpacked(caller)
        if count is not None:
            return (self[i] for i in range(count))  # type: ignore[index]
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            return _assertion(self, sys._getframe(1))
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Its keys, as a call of `**proxy` asks for them."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this "
            "call to be recorded, please call torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        tracers = {p.tracer: None for p in _proxies((args, kwargs))}
        if len(tracers) != 1:
            raise RuntimeError(
                "Found multiple different tracers "
                f"{list(tracers)} while trying to trace operations {func}"
            )
        (tracer,) = tracers
        name = func.__name__
        if is_method(func):
            if name == "__get__":
                # the attribute of a tensor that stands beside a proxy
                return tracer.create_proxy(
                    "call_function", getattr, (args[0], func.__self__.__name__), kwargs
                )
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy(
            "call_function",
            func,
            args,
            kwargs,
            name=tracer.graph._target_to_str(name),
        )


def _proxies(a: Any) -> Iterator[Proxy]:
    if isinstance(a, Proxy):
        yield a
    elif isinstance(a, tuple | list):
        for item in a:
            yield from _proxies(item)
    elif isinstance(a, dict):
        for item in a.values():
            yield from _proxies(item)
    elif isinstance(a, slice):
        yield from _proxies((a.start, a.stop, a.step))


def _instruction(frame: FrameType, ahead: int = 0) -> Any:
    """The instruction that a frame is at, or one behind it."""
    instructions = list(dis.get_instructions(frame.f_code))
    for i, found in enumerate(instructions):
        if found.offset == frame.f_lasti:
            return instructions[i + ahead] if i + ahead < len(instructions) else None
    return None


def _unpacked(frame: FrameType) -> int | None:
    """Into how many names `a, b = proxy` unpacks; None if it is something else."""
    found = _instruction(frame)
    if found is not None and found.opname == "UNPACK_SEQUENCE":
        return found.argval
    return None


def _assertion(proxy: Proxy, frame: FrameType) -> bool:
    """Record `assert proxy`; other conditions are errors."""
    jump = _instruction(frame)
    instructions = list(dis.get_instructions(frame.f_code))
    for i, found in enumerate(instructions):
        if found.offset != frame.f_lasti:
            continue
        if jump.opname == "TO_BOOL":
            i, jump = i + 1, instructions[i + 1]
        rest = instructions[i + 1 : i + 3]
        if "JUMP" in jump.opname and any(
            r.opname == "LOAD_ASSERTION_ERROR"
            or (r.opname == "LOAD_COMMON_CONSTANT" and "Assertion" in r.argrepr)
            for r in rest
        ):
            message = next(
                (
                    r.argval
                    for r in instructions[i + 1 : i + 4]
                    if r.opname == "LOAD_CONST"
                ),
                "",
            )
            proxy.tracer.create_proxy(
                "call_function", ember._assert, (proxy, message), {}
            )
            return True
    return proxy.tracer.to_bool(proxy)


class Attribute(Proxy):
    """An attribute of a value; calling it calls the method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of `getattr`, made when the attribute itself is used."""
        if self._node is None:
            made = self.tracer.create_proxy(
                "call_function", getattr, (self.root, self.attr), {}
            )
            self._node = made.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy(
            "call_method", self.attr, (self.root, *args), kwargs
        )


class ParameterProxy(Proxy):
    """A parameter: its shape is known while the program is followed."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, ember.nn.Parameter):
            raise AssertionError("a ParameterProxy is of a Parameter")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's."""
        return self.param.shape

    def size(self, *args: Any) -> Any:
        """The parameter's."""
        return self.param.size(*args)

    def dim(self) -> int:
        """The parameter's."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The parameter's."""
        return self.param.ndim

    def numel(self) -> int:
        """The parameter's."""
        return self.param.numel()

    def nelement(self) -> int:
        """The parameter's."""
        return self.param.nelement()


def _binary(function: Any, swapped: bool = False) -> Any:
    def operator(self: Proxy, *others: Any) -> Any:
        args = (*others, self) if swapped else (self, *others)
        return self.tracer.create_proxy("call_function", function, args, {})

    return operator


for _name in (*MAGIC, *REFLECTABLE, "setitem"):
    _function = getattr(operator, _name, None)
    if _function is not None:
        _stem = _name.strip("_")
        setattr(Proxy, f"__{_stem}__", _binary(_function))
        if _name in REFLECTABLE and _name != "getitem":
            setattr(Proxy, f"__r{_stem}__", _binary(_function, swapped=True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
