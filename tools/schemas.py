"""The ops of the compiled module by their schemas: see ember/_schemas.py.

The stubs, the op tests and the docs are made from what this module returns.
"""

from __future__ import annotations

from typing import Any

from ember._schemas import (  # noqa: F401 (for those who use this module)
    FUNCTION,
    FUNCTION_IN_PLACE,
    IN_PLACE,
    METHOD,
    OUT,
    Param,
    Schema,
    parse,
    takes_varargs,
)


def registered(module: Any = None) -> dict[str, list[Schema]]:
    """The overloads of every registered op, by name."""
    if module is None:
        from ember import _C as module
    ops: dict[str, list[Schema]] = {}
    for text, forms, doc in module._schemas:
        schema = parse(text, forms, doc)
        ops.setdefault(schema.name, []).append(schema)
    return ops
