"""Names and defaults of the arguments of ops, from their schemas."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any


@cache
def overloads(op: Any) -> list[tuple[list[str], dict[str, Any]]]:
    """(names, defaults) of each overload; the tensor itself is called `input`."""
    return [_parse(schema) for schema in op.schemas]


def _parse(schema: str) -> tuple[list[str], dict[str, Any]]:
    inner = schema.partition("(")[2].rpartition(") ->")[0]
    names: list[str] = []
    defaults: dict[str, Any] = {}
    for text in _split(inner):
        if text == "*":
            continue
        head, equals, default = text.partition("=")
        name = head.split()[-1]
        name = "input" if name == "self" else name
        names.append(name)
        if equals:
            try:
                defaults[name] = ast.literal_eval(default.strip())
            except (ValueError, SyntaxError):
                defaults[name] = default.strip().strip("'\"")
    return names, defaults


def _split(text: str) -> list[str]:
    parts, depth, at = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[at:i].strip())
            at = i + 1
    parts.append(text[at:].strip())
    return [p for p in parts if p]
