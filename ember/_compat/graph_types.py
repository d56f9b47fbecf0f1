"""Parts of graphs that libraries import to write hints or subclasses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from ember import _unavailable
from ember.fx import GraphModule as GraphModule

_REASON = "ember does not record programs as graphs yet"
_unavailable.fill(
    globals(),
    "fx",
    _REASON,
    """Graph Value Node Type ShapeProp make_fx split_module reduce_graph_module
    _copy_attr""",
)
_CodeOnlyModule = GraphModule
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
Argument = Target = Any
use_duck_shape = True


class immutable_list(list):
    """A list of a graph."""


class immutable_dict(dict):
    """A dict of a graph."""


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that says whether a function stays as it is."""
    return lambda function: function


def annotate(annotation: dict) -> Any:
    """A block whose ops would be marked in a graph."""
    return nullcontext()


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """`fn` of every item of nested lists, tuples, dicts and slices."""
    from ember.utils._pytree import tree_map

    return tree_map(fn, a)


def get_proxy_mode() -> None:
    """None: nothing is traced."""
    return None


def guard_or_false(a: Any) -> bool:
    """A condition on sizes, which are numbers."""
    return bool(a)


guard_or_true = guard_size_oblivious = statically_known_true = guard_or_false


def is_concrete_int(a: Any) -> bool:
    """Whether a size is a number: it is."""
    return True
