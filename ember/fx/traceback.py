"""What is noted on the nodes that are made in a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "annotate",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]

current_meta: dict[str, Any] = {}
_preserve = False


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A block in which `Interpreter` and `Transformer` hand on `meta` of nodes."""
    global _preserve
    before, _preserve = _preserve, enable
    saved = dict(current_meta)
    try:
        yield
    finally:
        _preserve = before
        current_meta.clear()
        current_meta.update(saved)


def has_preserved_node_meta() -> bool:
    """Whether `meta` of nodes is handed on."""
    return _preserve


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """A block whose nodes carry the entries under `meta["custom"]`."""
    saved = dict(current_meta)
    current_meta["custom"] = {**current_meta.get("custom", {}), **annotation_dict}
    try:
        yield
    finally:
        current_meta.clear()
        current_meta.update(saved)


def set_stack_trace(stack: list[str]) -> None:
    """The lines of the program for nodes made from now on."""
    if _preserve and stack:
        current_meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The lines of the program where a node is made."""
    import traceback

    if _preserve:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """A block in which nodes take over the `meta` of `node`."""
    if not _preserve or not node.meta:
        yield
        return
    saved = dict(current_meta)
    current_meta.clear()
    current_meta.update({k: v for k, v in node.meta.items() if k in _HANDED_ON})
    current_meta["from_node"] = [
        *node.meta.get("from_node", []),
        (node.name, node.target),
    ]
    try:
        yield
    finally:
        current_meta.clear()
        current_meta.update(saved)


_HANDED_ON = ("stack_trace", "nn_module_stack", "custom", "seq_nr", "source_fn_stack")


def get_current_meta() -> dict[str, Any]:
    """What nodes made now are given."""
    return current_meta
