"""Draws fuzzed calls: text made from a target and a seed, the same in every run.

Most are right calls in which one or two arguments are bad, since these get furthest:
the places of a recipe's arguments are known from its syntax tree, and other text is put
there. The rest are calls with arguments by the names of the parameters, or with any.
"""

from __future__ import annotations

import ast
import keyword
import re
from random import Random

from tests.fuzz.hostile import HUGE, KEYWORDS, OUTS, VALUES, VIEWS, WRAPPERS
from tests.fuzz.targets import Param, Target

KINDS = [kind for kind in VALUES if kind != "none"]
_MAKERS = ("t", "leaf", "of", "meta", "tr", "node")
Span = tuple[int, int, str]  # start, end, kind


def _kind_of(node: ast.expr) -> str:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Constant):
        for kind, types in (
            ("bool", bool),
            ("int", int),
            ("float", float),
            ("str", str),
        ):
            if isinstance(node.value, types):
                return kind
        return "any"
    if isinstance(node, (ast.List, ast.Tuple)):
        kinds = {_kind_of(item) for item in node.elts}
        return "tensors" if "tensor" in kinds else "ints"
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        if name == "params" or name == "net":
            return {"params": "params", "net": "module"}[name]
        if name in _MAKERS or name in (
            "ember.tensor",
            "ember.ones",
            "ember.zeros",
            "ember.rand",
        ):
            return "tensor"
        inner = node.func
        if isinstance(inner, ast.Attribute) and _kind_of(inner.value) == "tensor":
            return "tensor"
    if isinstance(node, ast.Attribute):
        text = ast.unparse(node)
        if re.fullmatch(r"ember\.(u?int\d+|b?float\d+|bool|complex\d+)", text):
            return "dtype"
    if isinstance(node, ast.Lambda):
        return "function"
    return "any"


def spans(text: str) -> list[Span]:
    """Where the arguments of the calls in `text` are."""
    starts = [0]
    lines = text.split("\n")
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found: list[Span] = []

    def at(line: int, column: int) -> int:  # columns are counted in bytes
        before = lines[line - 1].encode()[:column]
        return starts[line - 1] + len(before.decode())

    def add(node: ast.expr) -> None:
        start = at(node.lineno, node.col_offset)
        end = at(node.end_lineno or 1, node.end_col_offset or 0)
        found.append((start, end, _kind_of(node)))
        if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) < 9:
            for item in node.elts:
                add(item)

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in _MAKERS or name in ("params", "range"):
                continue
            for arg in [*node.args, *(k.value for k in node.keywords)]:
                add(arg)
            inner = node.func
            if isinstance(inner, ast.Attribute) and _kind_of(inner.value) == "tensor":
                add(inner.value)
    return [span for span in found if text[span[0] : span[1]].isascii()]


class Draw:
    """One call's worth of decisions."""

    def __init__(
        self, seed: str, cache: dict[str, list[Span]], huge: bool = True
    ) -> None:
        self.random = Random(seed)
        self.cache = cache
        self.huge = huge

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def value(self, kind: str) -> str:
        if kind == "any" or kind not in VALUES or self.chance(0.15):
            kind = self.random.choice(KINDS)
        text = self.random.choice(VALUES[kind])
        if "big(" in text and not (self.huge and self.chance(0.2)):
            return "t(2,3)"
        if kind == "tensor" and self.chance(0.3):
            text = self.wrapped(text)
        return text

    def wrapped(self, text: str) -> str:
        if self.huge and self.chance(0.02):
            return self.random.choice(HUGE).format(text)
        return self.random.choice(WRAPPERS).format(text)

    def changed(self, text: str, kind: str) -> str:
        """Something in the place of a right argument."""
        if kind == "tensor" and self.chance(0.75):
            text = self.wrapped(text)
            return self.wrapped(text) if self.chance(0.2) else text
        return self.value(kind)

    def recipe(self, text: str) -> str:
        """A recipe with a change or two."""
        places = self.cache.get(text)
        if places is None:
            places = self.cache[text] = spans(text)
        tensors = [span for span in places if span[2] == "tensor"]
        if len(tensors) > 0 and self.chance(0.25):
            return self.aliased(text, tensors)
        chosen: list[Span] = []
        for _ in range(self.random.choice((0, 1, 1, 1, 1, 2, 2, 3))):
            if places:
                span = self.random.choice(places)
                if all(span[1] <= c[0] or span[0] >= c[1] for c in chosen):
                    chosen.append(span)
        for start, end, kind in sorted(chosen, reverse=True):
            made = self.changed(text[start:end], kind)
            if text[end : end + 1] == ".":
                made = f"({made})"
            text = text[:start] + made + text[end:]
        return text

    def aliased(self, text: str, tensors: list[Span]) -> str:
        """A recipe whose tensors share memory."""
        first = self.random.choice(tensors)
        made = text[first[0] : first[1]]
        if self.chance(0.3):
            made = self.wrapped(made)
        disjoint = [first]
        for span in tensors:
            if all(span[1] <= c[0] or span[0] >= c[1] for c in disjoint):
                disjoint.append(span)
        for span in sorted(disjoint, reverse=True):
            other = "a" if span == first else None
            if other is None and self.chance(0.7):
                other = self.random.choice(VIEWS).format("a")
            if other is not None:
                text = text[: span[0]] + other + text[span[1] :]
        return f"a = {made}\n{text}"

    def with_keyword(self, text: str, params: list[Param] | None) -> str:
        """One keyword more: one of the call's own, or any."""
        if not text.endswith(")"):
            return text
        if params and self.chance(0.5):
            param = self.random.choice(params)
            name, value = param.name, self.value(param.kind)
        else:
            name = "out" if self.chance(0.6) else self.random.choice(list(KEYWORDS))
            value = self.random.choice(OUTS if name == "out" else KEYWORDS[name])
        if f"{name}=" in text or keyword.iskeyword(name):
            return text
        if (
            value in ("a", "part(a)", "tr(a)", "flat(a)", "(a,a)")
            and "a = " not in text
        ):
            place = next((s for s in spans(text) if s[2] == "tensor"), None)
            if place is None:
                return text
            made = text[place[0] : place[1]]
            text = f"a = {made}\n{text[: place[0]]}a{text[place[1] :]}"
        comma = "" if text.endswith("()") else ", "
        return f"{text[:-1]}{comma}{name}={value})"

    def arguments(self, params: list[Param] | None) -> str:
        """Arguments for a call without a recipe."""
        if params is None or self.chance(0.15):
            kinds = self.random.choice((KINDS, ["tensor"], ["int"], ["tensor", "int"]))
            count = self.random.choice((0, 1, 1, 2, 2, 3, 4, 6))
            made = [self.value(self.random.choice(kinds)) for _ in range(count)]
        else:
            made, by_name = [], False
            for param in params:
                if self.chance(0.03 if param.required else 0.7):
                    by_name = True  # what comes after cannot go by its place
                    continue
                value = self.value(param.kind)
                by_name = by_name or param.keyword_only
                if by_name or (not param.required and self.chance(0.5)):
                    by_name = True
                    named = f"{param.name}={value}"
                    if keyword.iskeyword(param.name):
                        named = f"**{{{param.name!r}:{value}}}"
                    made.append(named)
                else:
                    made.append(value)
        return ", ".join(made)

    def text(self, target: Target) -> str:
        if target.recipes and self.chance(0.75):
            text = self.recipe(self.random.choice(target.recipes))
            if self.chance(0.2):
                text = self.with_keyword(text, target.params)
        elif target.attribute:
            on = self.receiver(target)
            what = target.call.format("o")
            kind = self.random.choice(("any", "tensor"))
            change = f"{what} = {self.value(kind)}\nr = o"
            used = self.random.choice((f"r = {what}", change, f"del {what}\nr = o"))
            text = f"o = {on}\n{used}"
        else:
            call = target.call
            if "{}" in call:
                call = call.format(self.receiver(target))
            text = f"r = {call}({self.arguments(target.params)})"
            if self.chance(0.1):
                text = self.with_keyword(text, target.params)
        if self.chance(0.3):
            text += "\nbackward(r, ember)"
        return text

    def receiver(self, target: Target) -> str:
        if target.name.startswith("ember.Tensor."):
            return f"({self.value('tensor')})" if self.chance(0.7) else "t(2,3)"
        return target.receiver
