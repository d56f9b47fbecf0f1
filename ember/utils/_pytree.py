"""Nested lists, tuples and dicts as a flat list of leaves, and back."""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple


class TreeSpec(NamedTuple):
    """The form of a nested value: what it is made of, without its leaves."""

    kind: Any  # the type of a node; None for a leaf
    context: Any  # keys of a dict, and whatever else the type needs
    children: tuple["TreeSpec", ...]

    @property
    def num_leaves(self) -> int:
        return sum(c.num_leaves for c in self.children) if self.kind else 1


LEAF = TreeSpec(None, None, ())


def _parts(tree) -> tuple[Any, Any, list] | None:
    """Type, context and children of a node; None for a leaf."""
    kind = type(tree)
    if kind in (list, tuple, deque):
        return kind, getattr(tree, "maxlen", None), list(tree)
    if kind in (dict, OrderedDict, defaultdict):
        keys = list(tree)
        extra = tree.default_factory if kind is defaultdict else None
        return kind, (keys, extra), [tree[k] for k in keys]
    if isinstance(tree, tuple) and (hasattr(tree, "_fields") or _is_structseq(kind)):
        return kind, None, list(tree)
    return None


def _is_structseq(kind: type) -> bool:
    return hasattr(kind, "n_sequence_fields")


def _build(spec: TreeSpec, children: list):
    kind, context = spec.kind, spec.context
    if kind is deque:
        return deque(children, context)
    if kind in (dict, OrderedDict, defaultdict):
        keys, factory = context
        items = zip(keys, children)
        return defaultdict(factory, items) if kind is defaultdict else kind(items)
    if hasattr(kind, "_make"):
        return kind._make(children)
    return kind(children)


def tree_flatten(tree) -> tuple[list, TreeSpec]:
    """The leaves of a nested value, and its form.

    >>> from ember.utils._pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"a": 1, "b": (2, [3])})
    >>> leaves
    [1, 2, 3]
    >>> tree_unflatten([4, 5, 6], spec)
    {'a': 4, 'b': (5, [6])}
    """
    leaves: list = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree, leaves: list) -> TreeSpec:
    parts = _parts(tree)
    if parts is None:
        leaves.append(tree)
        return LEAF
    kind, context, children = parts
    return TreeSpec(kind, context, tuple(_flatten(c, leaves) for c in children))


def tree_unflatten(leaves, treespec: TreeSpec):
    """A value of this form with these leaves."""
    if not isinstance(treespec, TreeSpec):  # torch takes the two in either order
        leaves, treespec = treespec, leaves
    given = iter(leaves)
    return _unflatten(given, treespec)


def _unflatten(leaves, spec: TreeSpec):
    if spec.kind is None:
        return next(leaves)
    return _build(spec, [_unflatten(leaves, c) for c in spec.children])


def tree_leaves(tree) -> list:
    """The leaves of a nested value."""
    return tree_flatten(tree)[0]


def tree_map(func: Callable, tree, *rests):
    """A value of the same form, its leaves what `func` makes of the old ones."""
    leaves, spec = tree_flatten(tree)
    others = [tree_leaves(rest) for rest in rests]
    return tree_unflatten([func(*given) for given in zip(leaves, *others)], spec)


def tree_map_only(kind, func: Callable, tree):
    """`tree_map` for leaves of a type; the others stay."""
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree)


def broadcast_prefix(prefix, spec: TreeSpec) -> list | None:
    """One value per leaf of `spec` from a tree that ends where it likes; or None."""
    parts = _parts(prefix)
    if parts is None:
        return [prefix] * spec.num_leaves
    kind, context, children = parts
    if kind is not spec.kind or len(children) != len(spec.children):
        if not (kind in (list, tuple) and spec.kind in (list, tuple)):
            return None
        if len(children) != len(spec.children):
            return None
    if context is not None and kind in (dict, OrderedDict, defaultdict):
        if set(context[0]) != set(spec.context[0]):
            return None
        children = [prefix[key] for key in spec.context[0]]
    found: list = []
    for child, below in zip(children, spec.children):
        values = broadcast_prefix(child, below)
        if values is None:
            return None
        found += values
    return found
