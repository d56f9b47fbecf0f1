"""The line by which an op is registered, read: its parameters, forms and traits.

A schema is the line of EMBER_OP, e.g. "sum(Tensor self, Dims dim=None) -> Tensor"; its
grammar is described in core/ops/schema.h.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ember import _C

FUNCTION, METHOD, IN_PLACE, OUT, FUNCTION_IN_PLACE = 1, 2, 4, 8, 16
FIRST_TRAIT = 1 << 10

PARAM = re.compile(
    r"(?P<type>[A-Za-z]+(\??\[\])?\??) (?P<star>\*?)(?P<name>\w+)(=(?P<default>.+))?"
)


@dataclass(frozen=True)
class Param:
    type: str  # without "?"
    name: str
    optional: bool  # accepts None
    keyword_only: bool
    default: str | None  # as in the schema
    varargs: bool = False  # may be given one by one: "Tensor[] *tensors"


@dataclass(frozen=True)
class Schema:
    text: str
    name: str  # "linalg.norm"
    params: tuple[Param, ...]
    result: str
    forms: int
    doc: str

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]

    def has(self, form: int) -> bool:
        return bool(self.forms & form)

    @property
    def traits(self) -> frozenset[str]:
        """What it does, in words: Note [Traits] in core/ops/schema.h."""
        bits = self.forms // FIRST_TRAIT
        return frozenset(t for i, t in enumerate(_C._traits) if bits >> i & 1)


def _split(text: str) -> list[str]:
    """Splits at commas that are not inside brackets or quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        if c == "'":
            quoted = not quoted
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0 and not quoted:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def parse(text: str, forms: int = 0, doc: str = "") -> Schema:
    """One schema, from its text."""
    signature, _, result = text.rpartition(" -> ")
    name, _, inner = signature.partition("(")
    params, keyword_only = [], False
    for part in _split(inner.rstrip()[:-1]):
        if part == "*":
            keyword_only = True
            continue
        match = PARAM.fullmatch(part)
        if match is None:
            raise ValueError(f"cannot read parameter {part!r} of schema {text!r}")
        kind = match["type"]
        params.append(
            Param(
                kind.rstrip("?"),
                match["name"],
                kind.endswith("?") or match["default"] == "None",
                keyword_only,
                match["default"],
                bool(match["star"]),
            )
        )
    return Schema(text, name, tuple(params), result, forms, doc)


def takes_varargs(schema: Schema) -> bool:
    """Whether sizes may be given one by one: view(2, 3)."""
    positional = [p for p in schema.params if not p.keyword_only]
    if positional and positional[-1].varargs:
        return True
    place = next((i for i, p in enumerate(positional) if p.type == "Size"), -1)
    if place != len(positional) - 1:
        return False
    return place == 0 or (place == 1 and positional[0].type == "Tensor")
