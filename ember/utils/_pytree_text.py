"""Forms of nested values as JSON, in the layout of PyTorch."""

from __future__ import annotations

import importlib
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

from ember.utils import _pytree as tree

DEFAULT_PROTOCOL = 1
_NAMES = {
    tuple: "builtins.tuple",
    list: "builtins.list",
    dict: "builtins.dict",
    namedtuple: "collections.namedtuple",
    OrderedDict: "collections.OrderedDict",
    defaultdict: "collections.defaultdict",
    deque: "collections.deque",
}
_KINDS = {name: kind for kind, name in _NAMES.items()}


def _object_name(kind: Any) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def _context_out(spec: tree.TreeSpec) -> Any:
    kind, context = spec.type, spec.context
    known = tree.SUPPORTED_SERIALIZED_TYPES.get(kind)
    if known is not None and known.to_dumpable_context is not None:
        return known.to_dumpable_context(context)
    if kind is defaultdict:
        module, name = _object_name(context[0])
        return {
            "default_factory_module": module,
            "default_factory_name": name,
            "dict_context": context[1],
        }
    if kind is namedtuple:
        named = tree.SUPPORTED_SERIALIZED_TYPES.get(context)
        return named.serialized_type_name if named else ".".join(_object_name(context))
    return json.dumps(context)


def _find(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _context_in(kind: Any, written: Any) -> Any:
    known = tree.SUPPORTED_SERIALIZED_TYPES.get(kind)
    if known is not None and known.from_dumpable_context is not None:
        return known.from_dumpable_context(written)
    if kind is defaultdict:
        factory = _find(
            f"{written['default_factory_module']}.{written['default_factory_name']}"
        )
        return [factory, written["dict_context"]]
    if kind is namedtuple:
        return tree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(written) or _find(written)
    return json.loads(written)


def _out(spec: tree.TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    name = _NAMES.get(spec.type)
    if name is None:
        known = tree.SUPPORTED_SERIALIZED_TYPES.get(spec.type)
        name = known.serialized_type_name if known else None
        if name in (None, "NO_SERIALIZED_TYPE_NAME_FOUND"):
            raise NotImplementedError(
                f"No registered serialization name for {spec.type} found. Please "
                "register it with serialized_type_name."
            )
    children = [_out(child) for child in spec.children_specs]
    return {"type": name, "context": _context_out(spec), "children_spec": children}


def _in(written: dict[str, Any]) -> tree.TreeSpec:
    name = written["type"]
    if name is None:
        return tree.LEAF
    kind = _KINDS.get(name, tree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name))
    if kind is None:
        raise NotImplementedError(f"Cannot deserialize {name}: it is not registered")
    children = [_in(child) for child in written["children_spec"]]
    return tree.TreeSpec(kind, _context_in(kind, written["context"]), children)


def treespec_dumps(treespec: tree.TreeSpec, protocol: int | None = None) -> str:
    """A form as JSON.

    >>> from ember.utils import _pytree
    >>> text = _pytree.treespec_dumps(_pytree.tree_structure([1, (2,)]))
    >>> _pytree.treespec_loads(text) == _pytree.tree_structure([3, (4,)])
    True
    """
    if not isinstance(treespec, tree.TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of "
            f"TreeSpec but got item of type {type(treespec)}."
        )
    if protocol not in (None, DEFAULT_PROTOCOL):
        raise ValueError(
            f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_PROTOCOL}]"
        )
    return json.dumps((DEFAULT_PROTOCOL, _out(treespec)))


def treespec_loads(serialized: str) -> tree.TreeSpec:
    """The form that `treespec_dumps` wrote."""
    protocol, written = json.loads(serialized)
    if protocol != DEFAULT_PROTOCOL:
        raise ValueError(
            f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_PROTOCOL}]"
        )
    return _in(written)


def treespec_pprint(treespec: tree.TreeSpec) -> str:
    """A form as the value would be printed, with * for leaves."""

    class Star:
        def __repr__(self) -> str:
            return "*"

    return repr(treespec.unflatten([Star() for _ in range(treespec.num_leaves)]))
