"""Trees as generated code takes them apart: `tree_flatten_spec`."""

from __future__ import annotations

from typing import Any

from ember.utils import _pytree

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

_flattens: dict[type, Any] = {}


def register_pytree_flatten_spec(
    cls: type, flatten_fn_spec: Any, flatten_fn_exact_match_spec: Any = None
) -> None:
    """How an object of a class is taken apart along a spec made from another one."""
    _flattens[cls] = flatten_fn_spec


def tree_flatten_spec(tree: Any, spec: Any, exact_structural_match: Any = None) -> list:
    """The leaves of `tree`, in the order of a spec."""
    own = _flattens.get(getattr(spec, "type", type(None)))
    if own is None:
        return spec.flatten_up_to(tree)
    children = own(tree, spec)
    parts = zip(children, spec.children_specs, strict=False)
    return [leaf for child, sub in parts for leaf in tree_flatten_spec(child, sub)]


tree_flatten, tree_unflatten = _pytree.tree_flatten, _pytree.tree_unflatten
