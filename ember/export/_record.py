"""Running a program once and writing down its ops, by the names of aten.

Everything that a tensor of the program goes through becomes a node, whatever Python did
in between. What reads values (`if x.sum() > 0`, `x.item()`) cannot be written down and
is an error. With sizes that vary, every op runs a second time on tensors of other sizes
(shadows), which shows where sizes depend on them: see `_sizes`.
"""

from __future__ import annotations

import operator
from typing import Any

import ember
from ember import _C
from ember._dispatch import steps
from ember._traits import SWAPPED, op_named, telling
from ember.export._sizes import SizeError, SymFloat, SymInt, shadow_of
from ember.fx import Graph, Node
from ember.fx._names import op_name
from ember.overrides import TorchFunctionMode
from ember.utils import _pytree

# Attributes and methods that tell about a tensor and are no step.
_QUESTIONS = telling("form place kind history gradient text object memory")
_VALUES = telling("values")


def _looks(name: str) -> bool:
    """Whether the size of what an op returns depends on elements, in all its forms, or
    it is a number."""
    op = op_named(name)
    return op is not None and "data_dependent" in op.traits and "along" not in op.traits


# aten has these under names that are no op of ours.
_BY_NAME = ("slice", "index", "index_put_", "sym_size")


class DataDependent(RuntimeError):
    """A program that decides by the values of tensors."""


class Recorder(TorchFunctionMode):
    """Writes down what happens to tensors into `graph`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: dict[int, Node] = {}
        self.shadows: dict[int, Any] = {}
        self.keep: list[Any] = []  # ids stay theirs while the tensors live
        self.constants: dict[str, Any] = {}
        self.copied: dict[str, tuple[Any, Node]] = {}  # constants, and their copies
        self.changed: set[int] = set()  # storages, in place
        self.shadowed = False

    # --- tensors and their nodes ------------------------------------------------------

    def know(self, tensor: ember.Tensor, node: Node, shadow: Any = None) -> None:
        """`node` makes `tensor`; `shadow` is what it is in the second run."""
        self.nodes[id(tensor)] = node
        self.shadows[id(tensor)] = tensor if shadow is None else shadow
        self.keep.append(tensor)
        if shadow is not None and tuple(shadow.shape) != tuple(tensor.shape):
            node.meta["other"] = list(shadow.shape)
        if "val" not in node.meta:
            node.meta["val"] = tensor.detach().to("meta")

    def node_of(self, a: Any) -> Any:
        """An argument with nodes in place of tensors and sizes."""
        if isinstance(a, ember.Tensor):
            if id(a) not in self.nodes:
                self._constant(a)
            return self.nodes[id(a)]
        if isinstance(a, SymInt | SymFloat):
            return a.node
        if isinstance(a, tuple | list):
            items = [self.node_of(i) for i in a]
            return tuple(items) if isinstance(a, tuple) else items
        if isinstance(a, dict):
            return {k: self.node_of(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(*(self.node_of(i) for i in (a.start, a.stop, a.step)))
        return a

    def _constant(self, tensor: ember.Tensor) -> None:
        name = f"lifted_tensor_{len(self.constants)}"
        self.constants[name] = tensor.detach().clone()
        with self.graph.inserting_before(self._first()):
            node = self.graph.placeholder(f"c_{name}")
        node.meta["val"] = tensor.detach().to("meta")
        # The program may change it, each time anew.
        copy = self.graph.call_function(ember.ops.aten.clone, (node,))
        self.copied[name] = tensor, copy
        self.know(tensor, copy)

    def settle_constants(self) -> None:
        """Constants that the program does not change are not copied."""
        for name, (tensor, copy) in self.copied.items():
            if _storage(tensor) not in self.changed:
                copy.replace_all_uses_with(copy.args[0])
                self.graph.erase_node(copy)
                self.constants[name] = tensor

    def _first(self) -> Node | None:
        return next((n for n in self.graph.nodes if n.meta.get("user")), None) or next(
            iter(n for n in self.graph.nodes if n.op != "placeholder"), None
        )

    def shadow(self, a: Any) -> Any:
        """An argument as it is in the second run."""
        if isinstance(a, ember.Tensor):
            return self.shadows.get(id(a), a)
        if isinstance(a, tuple | list):
            items = [self.shadow(i) for i in a]
            return tuple(items) if type(a) is tuple else items
        if isinstance(a, dict):
            return {k: self.shadow(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(*(self.shadow(i) for i in (a.start, a.stop, a.step)))
        return shadow_of(a)

    # --- calls ------------------------------------------------------------------------

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__
        if name == "__get__":
            name = func.__self__.__name__
            return self._attribute(name, func, args)
        if name in ("size", "numel", "__len__", "nelement"):
            return self._size(name, args, kwargs)
        if name in _QUESTIONS or name in ("__set__", "__delete__"):
            return func(*args, **kwargs)
        if name in _VALUES or _looks(name):
            return self._value(name, func, args, kwargs)
        if name == "__getitem__":
            return steps.getitem(self.call, args[0], args[1], "export()")
        if name == "__setitem__":
            return steps.setitem(self.call, args[0], args[1], args[2], "export()")
        if name in SWAPPED:
            return self.call(SWAPPED[name], getattr(ember, SWAPPED[name]), args[::-1])
        if name in ("__iter__", "unbind"):
            return self.call("unbind", ember.unbind, args, kwargs)
        return self.call(_aten_name(func), func, args, kwargs)

    def call(self, name: str, func: Any, args: Any, kwargs: Any = None) -> Any:
        """Run an op, as a node."""
        kwargs = kwargs or {}
        tensors = [
            a
            for a in _pytree.tree_leaves((args, kwargs))
            if isinstance(a, ember.Tensor | SymInt | SymFloat)
        ]
        if not tensors and not self._random(name):
            return func(*args, **kwargs)  # a constant
        node_args, node_kwargs = self.node_of(tuple(args)), self.node_of(kwargs)
        shadow_args, shadow_kwargs = self.shadow(tuple(args)), self.shadow(kwargs)
        plain_args, plain_kwargs = _plain(tuple(args)), _plain(kwargs)
        before = [(a, a._version) for a in tensors if isinstance(a, ember.Tensor)]
        out = func(*plain_args, **plain_kwargs)
        node = self.graph.call_function(_target(name, func), node_args, node_kwargs)
        for tensor, version in before:
            if tensor._version != version:
                self._changes(node, tensor)
        other = out
        if self.shadowed and not _same(shadow_args, plain_args):
            try:
                other = func(*shadow_args, **shadow_kwargs)
            except Exception as error:
                raise SizeError(
                    f"export(): aten.{name} does not accept other sizes than those of "
                    f"the example inputs, although some were said to vary: {error}"
                ) from error
        self._results(node, out, other)
        return out

    def _changes(self, node: Node, tensor: ember.Tensor) -> None:
        """`node` changes a tensor in place; "shared" if others are the same memory."""
        storage = _storage(tensor)
        self.changed.add(storage)
        others = (t for t in self.keep if t is not tensor)
        if storage and any(_storage(t) == storage for t in others):
            node.meta["changes"] = "shared"

    def _random(self, name: str) -> bool:
        return name in ("rand", "randn", "randint", "normal", "randperm")

    def _results(self, node: Node, out: Any, other: Any) -> None:
        if isinstance(out, ember.Tensor):
            self.know(out, node, other)
        elif isinstance(out, tuple | list):
            node.meta["val"] = [_meta(v) for v in out]
            for i, (value, shadow) in enumerate(zip(out, other, strict=True)):
                if isinstance(value, ember.Tensor):
                    item = self.graph.call_function(operator.getitem, (node, i))
                    self.know(value, item, shadow)

    # --- sizes ------------------------------------------------------------------------

    def _sizes(self, tensor: ember.Tensor) -> list[Any]:
        real = list(tensor.shape)
        other = list(self.shadows.get(id(tensor), tensor).shape)
        sizes: list[Any] = []
        for i, (a, b) in enumerate(zip(real, other, strict=True)):
            sizes.append(a if a == b else self._sym_size(tensor, i, a, b))
        return sizes

    def _sym_size(self, tensor: Any, dim: int, value: int, shadow: int) -> SymInt:
        node = self.graph.call_function(
            ember.ops.aten.sym_size, (self.node_of(tensor), dim)
        )
        node.meta["val"] = value
        return SymInt(value, shadow, node)

    def _size(self, name: str, args: Any, kwargs: Any) -> Any:
        tensor = args[0]
        sizes = self._sizes(tensor)
        if name == "__len__":
            return len(tensor)
        if name in ("numel", "nelement"):
            total: Any = 1
            for size in sizes:
                total = total * size
            return total
        dim = args[1] if len(args) > 1 else kwargs.get("dim")
        return _Sizes(sizes) if dim is None else sizes[dim]

    def _attribute(self, name: str, func: Any, args: Any) -> Any:
        if name == "shape":
            return self._size("size", args, {})
        if name in ("T", "mT", "H", "mH", "real", "imag"):
            tensor = args[0]
            if name == "T":
                order = tuple(range(tensor.dim()))[::-1]
                return self.call("permute", ember.permute, (tensor, order))
            if name == "mT":
                return self.call("transpose", ember.transpose, (tensor, -2, -1))
            if name in ("real", "imag"):
                return self.call(name, getattr(ember, name), args)
        if name == "data":
            return self.call("detach", ember.detach, args)
        return func(*args)

    def _value(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        known = any(
            isinstance(a, ember.Tensor) and id(a) in self.nodes
            for a in _pytree.tree_leaves((args, kwargs))
        )
        if not known:
            return func(*args, **kwargs)
        what = {"__bool__": "if / while / assert", "__index__": "an index or size"}
        raise DataDependent(
            "export(): Could not guard on data-dependent expression: the program reads "
            f"the values of a tensor ({what.get(name, name)}), so that its steps "
            "depend on the input. Use ember.where, ember.clamp and the like, or move "
            "that part out of the exported module"
        )


class _Sizes(tuple):
    """Sizes, some of which may vary, where a program expects a `Size`."""

    def numel(self) -> Any:
        total: Any = 1
        for size in self:
            total = total * size
        return total


def _storage(tensor: ember.Tensor) -> int:
    """What stands for the memory of a tensor; 0 if it has none."""
    if tensor.layout is not ember.strided or tensor.device.type == "meta":
        return 0
    return tensor.untyped_storage()._cdata


def _meta(value: Any) -> Any:
    return value.detach().to("meta") if isinstance(value, ember.Tensor) else value


def _plain(a: Any) -> Any:
    """Sizes as ordinary ints, for the ops."""
    if isinstance(a, SymInt):
        return int(a)
    if isinstance(a, SymFloat):
        return float(a)
    if isinstance(a, _Sizes):
        return ember.Size([int(i) for i in a])
    if type(a) in (tuple, list):
        return type(a)(_plain(i) for i in a)
    if isinstance(a, dict):
        return {k: _plain(v) for k, v in a.items()}
    if isinstance(a, slice):
        return slice(*(_plain(i) for i in (a.start, a.stop, a.step)))
    return a


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, ember.Tensor) or isinstance(b, ember.Tensor):
        return a is b
    if isinstance(a, tuple | list):
        return all(map(_same, a, b))
    if isinstance(a, dict):
        return all(_same(v, b[k]) for k, v in a.items())
    if isinstance(a, slice):
        return (a.start, a.stop, a.step) == (b.start, b.stop, b.step)
    return a is b or a == b


def _target(name: str, func: Any) -> Any:
    """aten's operator where it is the same function, else the function itself."""
    try:
        found = getattr(ember.ops.aten, name)
    except AttributeError:
        return func
    full = op_name(func).removeprefix("Tensor.") if isinstance(func, _C.Op) else ""
    same = (func, _C._ops.get(full))
    if found._function in same or name in _BY_NAME:
        return found
    return func


def _aten_name(func: Any) -> str:
    if isinstance(func, _C.Op):
        name = op_name(func).removeprefix("Tensor.").removeprefix("nn.functional.")
        return name.replace(".", "_")
    return func.__name__
