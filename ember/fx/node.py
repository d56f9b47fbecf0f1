"""A step of a graph. `ember.fx.graph` holds them in order."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ember
from ember._traits import op_named
from ember.fx._names import is_builtin, qualified_name, type_name
from ember.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from ember.fx.graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any
Target = Any
BaseArgumentTypes = Any

base_types: tuple[type, ...] = (
    str,
    int,
    float,
    bool,
    complex,
    ember.dtype,
    ember.Tensor,
    ember.device,
    ember.memory_format,
    ember.layout,
    types.NoneType,
)

KINDS = (
    "placeholder",
    "call_method",
    "call_module",
    "call_function",
    "get_attr",
    "output",
    "root",
)
_legal_ops = dict.fromkeys(KINDS)
_side_effectful_functions: set[Callable] = {
    ember._assert,  # type: ignore[has-type]
    operator.setitem,
    setattr,
    print,
}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of `fn` in a graph although nothing uses their result.

    >>> import ember
    >>> @ember.fx.has_side_effect
    ... def log(x):
    ...     print(x)
    """
    _side_effectful_functions.add(fn)
    return fn


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """`a` with `fn` of every node in it.

    >>> import ember
    >>> ember.fx.map_arg((1, [2]), print)
    (1, [2])
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """`fn` of every item of nested lists, tuples, dicts and slices."""
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list(map_aggregate(item, fn) for item in a)
    if isinstance(a, dict):
        return immutable_dict((k, map_aggregate(v, fn)) for k, v in a.items())
    if isinstance(a, slice):
        return slice(*(map_aggregate(s, fn) for s in (a.start, a.stop, a.step)))
    return fn(a)


_get_qualified_name = qualified_name
_type_repr = type_name


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """An argument as text; nodes have a % before their name."""
    custom = getattr(type(arg), "_custom_fx_repr_fn", None)
    if custom is not None:
        return custom(arg)
    if isinstance(arg, list | tuple):
        items = [
            _format_arg(a) if i < max_list_len else ""
            for i, a in enumerate(arg)
            if i <= max_list_len
        ]
        if len(arg) > max_list_len:
            items[-1] = f"...[total_len={len(arg)}]"
        text = ", ".join(items)
        if isinstance(arg, list):
            return f"[{text}]"
        return f"({text},)" if len(arg) == 1 else f"({text})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return "%" + str(arg) if isinstance(arg, Node) else str(arg)


def _changes_its_argument(name: str) -> bool:
    """Of an op or a method, by its name: `add_`, and `iadd` of operator's."""
    return (name.endswith("_") and not name.endswith("__")) or name in _IN_PLACE


_IN_PLACE = frozenset(
    "iadd iand ifloordiv ilshift imatmul imod imul ior ipow irshift isub itruediv "
    "ixor".split()
)


class Node:
    """A step: an input, a call, an attribute of the module, or the output.

    `op` says what kind, `target` what is called, `args` and `kwargs` with what; other
    nodes among them are the steps whose results it uses, and `users` are the steps that
    use this one's.

    >>> import ember
    >>> graph = ember.fx.symbolic_trace(lambda x: ember.relu(x) + 1).graph
    >>> [(node.op, node.name) for node in graph.nodes]
    [('placeholder', 'x'), ('call_function', 'relu'), ('call_function', 'add'), \
('output', 'output')]
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not one of {', '.join(KINDS)}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                    f"{type_name(type(target))} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type_name(type(target))} but a str is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.meta: dict[str, Any] = {}
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple = ()
        self._kwargs: dict = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._update_args_kwargs(args, kwargs)

    # --- where it stands ------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one; the graph's root is after the last."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Put `x` before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        self.graph._changed()

    def append(self, x: Node) -> None:
        """Put `x` after this node."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def _position(self) -> int:
        return self.graph._positions()[self]

    def __lt__(self, other: Node) -> bool:
        return self._position() < other._position()

    def __gt__(self, other: Node) -> bool:
        return self._position() > other._position()

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # --- arguments ------------------------------------------------------------------

    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments by position; assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name; assign a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _update_args_kwargs(self, args: Any, kwargs: Any) -> None:
        if not isinstance(args, tuple | list) or not isinstance(kwargs, Mapping):
            raise TypeError(
                "the arguments of a node are a tuple and a dict, got "
                f"{type(args).__name__} and {type(kwargs).__name__}"
            )
        for used in self._input_nodes:
            used.users.pop(self, None)
        self._input_nodes = {}

        def note(node: Node) -> Node:
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args = map_arg(tuple(args), note)
        self._kwargs = map_arg(dict(kwargs), note)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Change one argument by position."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put an argument before the one at `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(
                "insert_args index must be between 0 and len(self.args)"
            )
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Change one argument by name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use `new_input` wherever this node uses `old_input`."""

        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self._note_replacements(old_input, new_input, self)
        self._update_args_kwargs(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the users of this node (those `delete_user_cb` accepts) use another one;
        the users that were changed.

        >>> import ember
        >>> traced = ember.fx.symbolic_trace(lambda x: ember.relu(x) + 1)
        >>> relu = traced.graph.find_nodes(op="call_function", target=ember.relu)[0]
        >>> with traced.graph.inserting_after(relu):
        ...     tanh = traced.graph.call_function(ember.tanh, relu.args)
        >>> relu.replace_all_uses_with(tanh)
        [add]
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, "
                    "propagate_meta=True), but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def _note_replacements(self, old: Node, new: Node, user: Node) -> None:
        module = self.graph.owning_module
        for hook in getattr(module, "_replace_hooks", None) or ():
            hook(old=old, new=new.name, user=user)

    # --- what it is -----------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that made it, if the tracer recorded them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it must stay although nothing uses its result."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if self.target in _side_effectful_functions:
                return True
            name = getattr(self.target, "__name__", "")
            if _changes_its_argument(name.split(".")[0]):
                return True
            if self.kwargs.get("out") is not None:
                return True
            op = op_named(name)
            return impure_random and op is not None and "random" in op.traits
        if self.op == "call_method":
            return _changes_its_argument(self.target)
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError(
                    "self.graph.owning_module not set for purity check"
                )
            module = owner.get_submodule(self.target)
            return getattr(module, "_is_impure", False)
        return False

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple | None = None,
        kwarg_types: dict | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """(args, kwargs) as the signature of the target names them; None if it is not
        known."""
        from ember.fx.operator_schemas import (
            normalize_function,
            normalize_module,
        )

        if self.op == "call_function":
            return normalize_function(
                self.target,
                self.args,
                self.kwargs,
                arg_types,
                kwarg_types,
                normalize_to_only_use_kwargs,
            )
        if self.op == "call_module":
            return normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None

    def _rename(self, candidate: str) -> None:
        if candidate == self.name:
            return
        self.name = self.graph._graph_namespace.create_name(candidate, None)
        self.graph._graph_namespace.rename(self, self.name)

    # --- text -----------------------------------------------------------------------

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) == "_operator":
            return f"operator.{target.__name__}"
        if is_builtin(target):
            return f"builtins.{target.__name__}"
        return qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node as a line of `str(graph)`."""
        hint = f"{type_name(self.type)} " if self.type else ""
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(self.target + (f": {hint}" if hint else ""))
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return (
                f"%{self.name} : {hint}[num_users={len(self.users)}] = "
                f"{self.op}[target={self.target}]{default}"
            )
        if self.op == "get_attr":
            return (
                f"%{self.name} : {hint}[num_users={len(self.users)}] = "
                f"{self.op}[target={self._pretty_print_target(self.target)}]"
            )
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_name(self.type)}"
            return f"return {self.args[0]}"
        return (
            f"%{self.name} : {hint}[num_users={len(self.users)}] = "
            f"{self.op}[target={self._pretty_print_target(self.target)}]"
            f"(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("op", "target") and name in self.__dict__:
            object.__setattr__(self, name, value)
            self.graph._changed()
        else:
            object.__setattr__(self, name, value)


Args = Sequence[Argument]
