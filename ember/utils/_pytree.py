"""Nested lists, tuples, dicts and registered types as a flat list of leaves, and back.

A `TreeSpec` is the form of such a value. Types of your own take part once
`register_pytree_node` was told how to take them apart; `_pytree_text` writes forms as
JSON.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from ember.utils._pytree_keys import (
    GetAttrKey,
    KeyEntry as KeyEntry,
    KeyPath,
    MappingKey,
    SequenceKey,
    key_get as key_get,
    keystr as keystr,
)

PyTree: TypeAlias = Any
Context: TypeAlias = Any
IsLeaf = Callable[[Any], bool] | None


# --- how types are taken apart --------------------------------------------------------


class NodeDef(NamedTuple):
    """How a type is taken apart and put together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list, Context]] | None = None


class _SerializeNodeDef(NamedTuple):
    """How a type and its context are written."""

    typ: Any
    serialized_type_name: str
    to_dumpable_context: Callable[[Context], Any] | None
    from_dumpable_context: Callable[[Any], Context] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()
BUILTIN_TYPES = frozenset(
    {tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque}
)
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})


def register_pytree_node(
    cls: type,
    flatten_fn: Callable,
    unflatten_fn: Callable,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable | None = None,
    from_dumpable_context: Callable | None = None,
    flatten_with_keys_fn: Callable | None = None,
) -> None:
    """Let a type be a node: `flatten_fn(x)` gives its children and a context, and
    `unflatten_fn(children, context)` puts it together.

    >>> from ember.utils._pytree import register_pytree_node, tree_map
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(
    ...     Pair, lambda p: ([p.a, p.b], None), lambda children, _: Pair(*children)
    ... )
    >>> tree_map(lambda x: x + 1, Pair(1, 2)).b
    3
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be "
            "None or registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is None:
        name = "NO_SERIALIZED_TYPE_NAME_FOUND"
    else:
        name = serialized_type_name
        SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(
        cls, name, to_dumpable_context, from_dumpable_context
    )


_private_register_pytree_node = register_pytree_node


def _register_pytree_node(
    cls: type,
    flatten_fn: Callable,
    unflatten_fn: Callable,
    to_str_fn: Callable | None = None,
    maybe_from_str_fn: Callable | None = None,
    **options: Any,
) -> None:
    """The old name of `register_pytree_node`."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls: type) -> None:
    """Let a type be a leaf again."""
    del SUPPORTED_NODES[cls]
    name = SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Let a dataclass be a node, whose children are its fields that are not None."""
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(
                "field_names must be specified with a list of all fields used to "
                f"initialize {cls}, as it is not a dataclass."
            )
        field_names = [f.name for f in dataclasses.fields(cls) if f.init]
    names = [n for n in field_names if n not in (drop_field_names or ())]

    def split(obj: Any) -> tuple[list[str], list[str]]:
        none = [n for n in names if getattr(obj, n) is None]
        return [n for n in names if n not in none], none

    def flatten(obj: Any) -> tuple[list, Context]:
        there, none = split(obj)
        return [getattr(obj, n) for n in there], [there, none]

    def flatten_with_keys(obj: Any) -> tuple[list, Context]:
        there, none = split(obj)
        return [(GetAttrKey(n), getattr(obj, n)) for n in there], [there, none]

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        there, none = context
        return cls(**dict(zip(there, values)), **dict.fromkeys(none))

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name
        or f"{cls.__module__}.{cls.__qualname__}",
        flatten_with_keys_fn=flatten_with_keys,
    )


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a constant: the object."""

    value: Any


def register_constant(cls: type) -> None:
    """Let objects of a type be part of the form, not leaves."""
    if not any("__eq__" in vars(kind) for kind in cls.__mro__[:-1]):
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__eq__` "
            "implementation."
        )
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a `__hash__`.")
    register_pytree_node(
        cls,
        lambda x: ([], ConstantNode(x)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda x: ([], ConstantNode(x)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type) -> bool:
    """Whether objects of a type are part of the form."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _retrieve_constant(spec: TreeSpec) -> Any:
    return spec._context.value


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class was made by `namedtuple`."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and callable(getattr(cls, "_make", None))
    )


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether an object, or a class, is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_structseq_class(cls: Any) -> bool:
    """Whether a class is a struct sequence of C, as `ember.return_types` are."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "n_sequence_fields", None), int)
    )


def is_structseq_instance(obj: Any) -> bool:
    """Whether an object is a struct sequence."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether an object, or a class, is a struct sequence."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _list_flatten(d: Iterable) -> tuple[list, Context]:
    return list(d), None


def _list_flatten_with_keys(d: Iterable) -> tuple[list, Context]:
    return [(SequenceKey(i), v) for i, v in enumerate(d)], None


def _list_unflatten(values: Iterable, context: Context) -> list:
    return list(values)


_tuple_flatten, _tuple_flatten_with_keys = _list_flatten, _list_flatten_with_keys


def _tuple_unflatten(values: Iterable, context: Context) -> tuple:
    return tuple(values)


def _dict_flatten(d: dict) -> tuple[list, Context]:
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d: dict) -> tuple[list, Context]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d.keys())


def _dict_unflatten(values: Iterable, context: Context) -> dict:
    return dict(zip(context, values))


_ordereddict_flatten = _odict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys


def _ordereddict_unflatten(values: Iterable, context: Context) -> OrderedDict:
    return OrderedDict(zip(context, values))


_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(d: defaultdict) -> tuple[list, Context]:
    return list(d.values()), [d.default_factory, list(d.keys())]


def _defaultdict_flatten_with_keys(d: defaultdict) -> tuple[list, Context]:
    return _dict_flatten_with_keys(d)[0], _defaultdict_flatten(d)[1]


def _defaultdict_unflatten(values: Iterable, context: Context) -> defaultdict:
    factory, keys = context
    return defaultdict(factory, zip(keys, values))


def _deque_flatten(d: deque) -> tuple[list, Context]:
    return list(d), d.maxlen


def _deque_flatten_with_keys(d: deque) -> tuple[list, Context]:
    return _list_flatten_with_keys(d)[0], d.maxlen


def _deque_unflatten(values: Iterable, context: Context) -> deque:
    return deque(values, maxlen=context)


def _namedtuple_flatten(d: Any) -> tuple[list, Context]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list, Context]:
    return [(GetAttrKey(f), v) for f, v in zip(d._fields, d)], type(d)


def _namedtuple_unflatten(values: Iterable, context: Context) -> Any:
    return context._make(values)


for _kind, _name in (
    (tuple, "tuple"),
    (list, "list"),
    (dict, "dict"),
    (namedtuple, "namedtuple"),
    (OrderedDict, "ordereddict"),
    (defaultdict, "defaultdict"),
    (deque, "deque"),
):
    SUPPORTED_NODES[_kind] = NodeDef(
        _kind,
        globals()[f"_{_name}_flatten"],
        globals()[f"_{_name}_unflatten"],
        globals()[f"_{_name}_flatten_with_keys"],
    )


def _get_node_type(tree: Any) -> Any:
    """What `SUPPORTED_NODES` knows an object by."""
    kind = type(tree)
    if kind not in SUPPORTED_NODES and isinstance(tree, tuple):
        if is_namedtuple_class(kind):
            return namedtuple
        if is_structseq_class(kind) or kind.__name__ == "Size":
            SUPPORTED_NODES[kind] = NodeDef(
                kind,
                _list_flatten,
                lambda values, context: kind(tuple(values)),
                _list_flatten_with_keys,
            )
    return kind


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is a leaf, not a node."""
    return (is_leaf is not None and is_leaf(tree)) or (
        _get_node_type(tree) not in SUPPORTED_NODES
    )


_is_leaf = tree_is_leaf


# --- forms ----------------------------------------------------------------------------


class TreeSpec:
    """The form of a nested value: what it is made of, without its leaves."""

    __slots__ = (
        "_children",
        "_context",
        "num_children",
        "num_leaves",
        "num_nodes",
        "type",
    )

    def __init__(
        self,
        type: Any,
        context: Context = None,
        children_specs: Iterable[TreeSpec] = (),
    ) -> None:
        self.type, self._context, self._children = type, context, list(children_specs)
        self.num_children = len(self._children)
        leaf = type is None
        below = self._children
        self.num_leaves: int = 1 if leaf else sum(c.num_leaves for c in below)
        self.num_nodes: int = 1 + sum(c.num_nodes for c in below)

    @property
    def context(self) -> Context:
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        return self._children

    def children(self) -> list[TreeSpec]:
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def is_leaf(self) -> bool:
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """A value of this form with these leaves."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but "
                f"the spec refers to a pytree that holds {self.num_leaves} items "
                f"({self})."
            )
        return self._unflatten(iter(leaves))

    def _unflatten(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        children = [child._unflatten(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of a value that stand where this form has its leaves."""
        found: list[PyTree] = []
        self._flatten_up_to(tree, found)
        return found

    def _flatten_up_to(self, tree: PyTree, found: list[PyTree]) -> None:
        if self.type is None:
            found.append(tree)
            return
        kind = _get_node_type(tree)
        dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind is not self.type and not dicts:
            raise ValueError(
                f"Node type mismatch; expected {self.type!r}, but got {kind!r}."
            )
        if dicts:
            keys = self._context[1] if self.type is defaultdict else self._context
            if set(keys) != set(tree):
                raise ValueError(
                    f"Node keys mismatch; expected {sorted(map(str, keys))}, but got "
                    f"{sorted(map(str, tree))}."
                )
            children: list[Any] = [tree[k] for k in keys]
        else:
            flat, context = SUPPORTED_NODES[kind].flatten_fn(tree)
            children = list(flat)
            if len(children) != self.num_children:
                raise ValueError(
                    f"Node arity mismatch; expected {self.num_children}, but got "
                    f"{len(children)}."
                )
            if self.type is not deque and context != self._context:
                raise ValueError(
                    f"Node context mismatch for custom node type {self.type!r}."
                )
        for child, part in zip(self._children, children):
            child._flatten_up_to(part, found)

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.type is None:
            return "*"
        start = f"TreeSpec({self.type.__name__}, {self._context!r}, ["
        inner = indent + 2
        texts = [child._text(inner) for child in self._children]
        return start + (",\n" + " " * inner).join(texts) + "])"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type
            and self._context == other._context
            and self._children == other._children
        )

    def __hash__(self) -> int:
        context = self._context
        if self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        elif isinstance(context, list):
            context = repr(context)
        return hash((self.type, context, tuple(self._children)))

    def __reduce__(self) -> tuple:
        return type(self) if self.type is None else TreeSpec, (
            () if self.type is None else (self.type, self._context, self._children)
        )


class LeafSpec(TreeSpec):
    """The form of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


PyTreeSpec = TreeSpec
LEAF = _LEAF_SPEC = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The form of a leaf."""
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The form of a tuple of these forms."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The form of a dict of these forms."""
    items = dict(mapping, **kwargs)
    return TreeSpec(dict, list(items), list(items.values()))


# --- flat and back --------------------------------------------------------------------


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a nested value, and its form.

    >>> from ember.utils._pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"a": 1, "b": (2, [3])})
    >>> leaves
    [1, 2, 3]
    >>> tree_unflatten([4, 5, 6], spec)
    {'a': 4, 'b': (5, [6])}
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    kind = _get_node_type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """A value of this form with these leaves."""
    if not isinstance(treespec, TreeSpec):
        if isinstance(leaves, TreeSpec):  # the two in the other order
            leaves, treespec = treespec, leaves
        else:
            raise TypeError(
                "Expected `treespec` to be an instance of PyTreeSpec but got item of "
                f"type {type(treespec)}."
            )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of a nested value, one by one."""
    node = SUPPORTED_NODES.get(_get_node_type(tree))
    if node is None or (is_leaf is not None and is_leaf(tree)):
        yield tree
        return
    for child in node.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a nested value."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The form of a nested value."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """A value of the same form, its leaves what `func` makes of the old ones."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*given) for given in zip(leaves, *others)])


def tree_map_(
    func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`func` of all leaves, for what it does; `tree` is returned."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    for given in zip(leaves, *others):
        func(*given)
    return tree


def map_only(kinds: Any, /) -> Callable[[Callable], Callable]:
    """A decorator: the function for objects of a type, others are given back."""

    def chosen(x: Any) -> bool:
        if isinstance(kinds, (type, tuple)) or not callable(kinds):
            return isinstance(x, kinds)
        return kinds(x)

    def decorate(func: Callable) -> Callable:
        return lambda x: func(x) if chosen(x) else x

    return decorate


def tree_map_only(
    kinds: Any, /, func: Callable, tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree_map` for leaves of a type, or for which a function says so."""
    return tree_map(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    kinds: Any, /, func: Callable, tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree_map_` for leaves of a type, or for which a function says so."""
    return tree_map_(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable, tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable, tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    kinds: Any, /, pred: Callable, tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether something holds for all leaves of a type."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kinds))


def tree_any_only(
    kinds: Any, /, pred: Callable, tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether something holds for a leaf of a type."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kinds))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments."""
    return tree_leaves((args, kwargs))


# --- with paths -----------------------------------------------------------------------


def _paths(
    tree: PyTree, path: KeyPath, is_leaf: IsLeaf
) -> Iterator[tuple[KeyPath, Any]]:
    node = SUPPORTED_NODES.get(_get_node_type(tree))
    if node is None or (is_leaf is not None and is_leaf(tree)):
        yield path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _paths(child, (*path, key), is_leaf)


def tree_leaves_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> list[tuple[KeyPath, Any]]:
    """The leaves of a nested value, each with the way to it."""
    return list(_paths(tree, (), is_leaf))


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves of a nested value, each with the way to it, and its form."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree_map` of a function that is given the way to each leaf first.

    >>> from ember.utils._pytree import keystr, tree_map_with_path
    >>> tree_map_with_path(lambda path, x: keystr(path), {"a": [1]})
    {'a': ["['a'][0]"]}
    """
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    leaves = [func(path, x, *more) for (path, x), *more in zip(found, *others)]
    return spec.unflatten(leaves)


# --- prefixes -------------------------------------------------------------------------


def broadcast_prefix(prefix: PyTree, spec: TreeSpec) -> list | None:
    """One value per leaf of `spec` from a tree that ends where it likes; or None."""
    kind = _get_node_type(prefix)
    node = SUPPORTED_NODES.get(kind)
    if node is None:
        return [prefix] * spec.num_leaves
    if spec.is_leaf():
        return None
    listed, _ = node.flatten_fn(prefix)
    children = list(listed)
    both = (list, tuple)
    if kind is not spec.type and not (kind in both and spec.type in both):
        return None
    if len(children) != spec.num_children:
        return None
    if kind in STANDARD_DICT_TYPES:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(prefix) != set(keys):
            return None
        children = [prefix[key] for key in keys]
    found: list = []
    for child, below in zip(children, spec.children_specs):
        values = broadcast_prefix(child, below)
        if values is None:
            return None
        found += values
    return found


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None
) -> list[Any] | None:
    """One value per leaf of a form, from a tree that ends earlier; or None."""
    return broadcast_prefix(tree, treespec)


def __getattr__(name: str) -> Any:
    if name in ("treespec_dumps", "treespec_loads", "treespec_pprint"):
        from ember.utils import _pytree_text

        return getattr(_pytree_text, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
