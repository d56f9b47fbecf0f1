"""What `help()` and `inspect.signature` say of an op, put together when somebody asks.

Signatures come from the schema, the summary from the line of EMBER_OP, the rest from
core/ops/reference/*.md, which is compiled in. There, an op is a heading and what
follows:

    ## cumsum
    More words, if the summary is not enough.
    - dim: what this argument means, if arguments.md does not say it.
    >>> ember.cumsum(ember.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])

The method and the in-place forms get the same example in their spelling; where that
makes no sense, `## cumsum_` (a function) or `## Tensor.cumsum_` (a method) has its own.
`## absolute = abs` takes all from another op. `## hsplit(input, sections)` says which
signature Python shows for overloads that have none in common.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from ember import _C
from ember._schemas import OUT, Param, Schema, parse, takes_varargs

HEADING = re.compile(r"([\w.]+)(\(.*\))?(?: = ([\w.]+))?")
ARGUMENT = re.compile(r"- (\*?\w+): (.+)")

TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "sequence of Tensors",
    "Tensor?[]": "sequence of Tensors or None",
    "Number": "Tensor or number",
    "Scalar": "number",
    "int": "int",
    "float": "float",
    "float[]": "sequence of floats",
    "bool": "bool",
    "str": "str",
    "Dims": "int or tuple of ints",
    "Size": "tuple of ints",
    "Dtype": "dtype",
    "Device": "device or str",
    "Format": "memory_format",
    "Generator": "Generator",
    "Any": "object",
}
RESULTS = {"Tensor[]": "tuple[Tensor, ...]", "Scalar": "number", "Any": "object"}


class _Words:
    """A default that is shown as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


NOT_GIVEN = _Words("...")  # may be left out in one overload, not in another


# --- the texts -----------------------------------------------------------------------


@dataclass
class Entry:
    """What the files say of one name."""

    words: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
    example: str = ""
    signature: str | None = None
    like: str | None = None


def read_entry(body: str) -> Entry:
    """One entry, from what follows its heading."""
    entry, words, last = Entry(), [], ""
    head, mark, example = body.partition("\n>>>")
    entry.example = (mark + example).strip()
    for line in head.strip().splitlines():
        if match := ARGUMENT.fullmatch(line):
            last = match[1]
            entry.arguments[last] = match[2]
        elif last and line.startswith("  "):
            entry.arguments[last] += " " + line.strip()
        else:
            words.append(line)
    entry.words = "\n".join(words).strip()
    return entry


def read(texts: Iterable[str]) -> tuple[dict[str, Entry], dict[str, str]]:
    """The entries of some files by name, and what arguments mean everywhere."""
    entries: dict[str, Entry] = {}
    shared: dict[str, str] = {}
    for text in texts:
        head, *sections = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
        shared |= read_entry("\n" + head).arguments
        for title, body in zip(sections[::2], sections[1::2], strict=True):
            match = HEADING.fullmatch(title)
            if match is None or match[1] in entries:
                raise ValueError(f"reference of ops: {title!r} is no heading, or twice")
            entry = read_entry("\n" + body)
            entry.signature, entry.like = match[2], match[3]
            entries[match[1]] = entry
    return entries, shared


@cache
def entries() -> tuple[dict[str, Entry], dict[str, str]]:
    return read(_C._reference_texts())


# --- the ops -------------------------------------------------------------------------


@cache
def _rows() -> dict[str, tuple[int, str]]:
    return {text: (forms, doc) for text, forms, doc in _C._schemas}


@dataclass(frozen=True)
class Form:
    """One form of an op, as Python sees it: function or method, in place or not."""

    schemas: tuple[Schema, ...]
    name: str  # "cumsum_"
    is_method: bool

    @property
    def op(self) -> str:
        return self.schemas[0].name

    @property
    def in_place(self) -> bool:
        return self.name != self.schemas[0].short_name

    @property
    def key(self) -> str:
        """The heading that is its own."""
        if self.is_method:
            return "Tensor." + self.name
        return self.op + "_" * self.in_place

    @property
    def path(self) -> str:
        """How a program spells it."""
        return self.key if self.is_method else "ember." + self.key


@lru_cache(64)
def form_of(op: Any) -> Form:
    schemas = tuple(parse(text, *_rows()[text]) for text in op.schemas)
    return Form(schemas, op.__name__, hasattr(op, "__objclass__"))


def entry_of(form: Form) -> tuple[Entry, str | None]:
    """What is said of a form; the name of the op that its example calls instead."""
    known = entries()[0]
    for key in (form.key, form.op):
        if key not in known:
            continue
        entry, name = known[key], None if key == form.key else form.op
        while entry.like is not None:
            name = entry.like
            entry = known[name]
        return entry, name
    return Entry(), None


# --- signatures ----------------------------------------------------------------------


def _default(p: Param) -> Any:
    if p.default is None:
        return inspect.Parameter.empty
    try:
        value = ast.literal_eval(p.default)
    except (ValueError, SyntaxError):
        return p.default if p.type == "str" else _Words(p.default)
    return tuple(value) if isinstance(value, list) else value


def name_in_python(p: Param, place: int, form: Form) -> str:
    if place == 0 and form.is_method:
        return "self"
    if p.name == "self":
        return "input"
    return p.name + "_" * keyword.iskeyword(p.name)


def parameters(schema: Schema, form: Form) -> list[inspect.Parameter]:
    """Those of one overload."""
    kinds = inspect.Parameter
    found, keyword_only = [], False
    varargs = takes_varargs(schema)
    for i, p in enumerate(schema.params):
        name = name_in_python(p, i, form)
        alone = i == 0 or form.is_method
        if varargs and (p.varargs or (p.type == "Size" and alone)):
            found.append(kinds(name, kinds.VAR_POSITIONAL))
            keyword_only = True
            continue
        keyword_only = keyword_only or p.keyword_only
        kind = kinds.KEYWORD_ONLY if keyword_only else kinds.POSITIONAL_OR_KEYWORD
        found.append(kinds(name, kind, default=_default(p)))
    if schema.has(OUT) and not form.is_method and not form.in_place:
        found.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
    return found


def _result(schema: Schema, form: Form) -> str:
    text = schema.result
    if form.in_place:
        return "Tensor"
    if text.startswith("("):
        parts = [part.split()[-1] for part in text.strip("()").split(",")]
        return f"({', '.join(parts)})"
    return RESULTS.get(text, text)


def _covers(one: inspect.Signature, other: inspect.Signature) -> bool:
    """Whether every call that fits `other` fits `one`."""
    mine, rest = one.parameters, other.parameters
    if [n for n in mine if n in rest] != list(rest):
        return False
    if any(mine[n].kind != rest[n].kind for n in rest):
        return False
    empty = inspect.Parameter.empty
    optional = {n for n, p in mine.items() if p.default is not empty}
    return set(mine) - optional <= set(rest) and all(
        rest[n].default is empty or n in optional for n in rest
    )


@dataclass(frozen=True)
class Overload:
    """One way to call a form."""

    signature: inspect.Signature
    result: str
    doc: str

    def covers(self, other: Overload) -> bool:
        return self.result == other.result and _covers(self.signature, other.signature)


def overloads(form: Form) -> list[Overload]:
    """The ways to call a form; none that another covers."""
    found: list[Overload] = []
    for s in form.schemas:
        shown = inspect.Signature(parameters(s, form))
        one = Overload(shown, _result(s, form), s.doc.strip())
        if not any(known.covers(one) for known in found):
            found = [known for known in found if not one.covers(known)] + [one]
    return found


def _said(text: str) -> inspect.Signature:
    """The signature that a heading gives."""
    args = ast.parse(f"def f{text}: ...").body[0].args  # type: ignore[attr-defined]
    kinds, found = inspect.Parameter, []
    before = len(args.args) - len(args.defaults)
    for i, a in enumerate(args.args):
        default = args.defaults[i - before] if i >= before else None
        value = kinds.empty if default is None else ast.literal_eval(default)
        value = NOT_GIVEN if value is ... else value
        found.append(kinds(a.arg, kinds.POSITIONAL_OR_KEYWORD, default=value))
    if args.vararg:
        found.append(kinds(args.vararg.arg, kinds.VAR_POSITIONAL))
    for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        value = kinds.empty if default is None else ast.literal_eval(default)
        value = NOT_GIVEN if value is ... else value
        found.append(kinds(a.arg, kinds.KEYWORD_ONLY, default=value))
    return inspect.Signature(found)


def _merged(all_of_them: list[inspect.Signature]) -> inspect.Signature:
    """One signature for all: the longest, in which what others lack is optional."""
    kinds, empty = inspect.Parameter, inspect.Parameter.empty
    longest = max(all_of_them, key=lambda s: len(s.parameters))
    merged, optional = [], False
    for name, p in longest.parameters.items():
        if p.kind is not kinds.VAR_POSITIONAL:
            needed = all(
                name in s.parameters and s.parameters[name].default is empty
                for s in all_of_them
            )
            if p.kind is kinds.POSITIONAL_OR_KEYWORD:
                optional = optional or not needed
                needed = not optional
            if not needed and p.default is empty:
                p = p.replace(default=NOT_GIVEN)
        merged.append(p)
    extra = {}
    for s in all_of_them:
        for name, p in s.parameters.items():
            if name not in longest.parameters and p.kind is not kinds.VAR_POSITIONAL:
                default = NOT_GIVEN if p.default is empty else p.default
                extra[name] = kinds(name, kinds.KEYWORD_ONLY, default=default)
    return inspect.Signature([*merged, *extra.values()])


def _heading(form: Form) -> inspect.Signature | None:
    """The signature that the heading of a form gives, or that of its op."""
    for key in (form.key, form.op):
        entry = entries()[0].get(key)
        if entry is None or entry.signature is None:
            continue
        said = _said(entry.signature)
        if not form.is_method and not form.in_place:
            return said
        first, *rest = said.parameters.values()
        first = first.replace(name="self") if form.is_method else first
        return inspect.Signature([first, *(p for p in rest if p.name != "out")])
    return None


def signature(op: Any) -> inspect.Signature:
    """`__signature__` of an op."""
    form = form_of(op)
    return _heading(form) or _merged([o.signature for o in overloads(form)])


def text_signature(op: Any) -> str:
    """`__text_signature__` of an op."""
    return str(signature(op))


# --- docstrings ----------------------------------------------------------------------


def _in_words(text: str, form: Form) -> str:
    """The operand by the name that it has in this form."""
    takes_self = any(p.name == "self" for p in form.schemas[0].params)
    if form.is_method:
        return text.replace("`input`", "`self`")
    return re.sub(r"\bself\b", "input", text) if takes_self else text


def _summary(form: Form) -> str:
    lines = [_in_words(o.doc, form) for o in overloads(form) if o.doc]
    text = " ".join(dict.fromkeys(lines))
    return f"{text} In place: the tensor itself changes." if form.in_place else text


def describe_arguments(form: Form) -> dict[str, tuple[str, str]]:
    """The type of each argument, and what it means."""
    entry, _ = entry_of(form)
    known, shared = entries()
    op = known.get(form.op, entry)
    said = shared | op.arguments | entry.arguments
    heading = _heading(form)
    names = {n for o in overloads(form) for n in o.signature.parameters}
    if heading is not None:
        names &= (
            heading.parameters.keys() | op.arguments.keys() | entry.arguments.keys()
        )
    kinds: dict[str, list[str]] = {}
    rest: dict[str, str] = {}
    texts: dict[str, str] = {}
    for schema in form.schemas:
        for i, p in enumerate(schema.params):
            name = name_in_python(p, i, form)
            if name not in names:
                continue
            kinds.setdefault(name, []).append("Tensors" if p.varargs else TYPES[p.type])
            texts[name] = said.get(p.name if p.name != "self" else name, "")
            default = _default(p)
            if p.optional or default is None:
                rest[name] = ", optional"
            elif default is not inspect.Parameter.empty:
                rest.setdefault(name, f", default {default!r}")
    if "out" in names:
        several = form.schemas[0].result.startswith("(")
        kinds["out"] = ["tuple of Tensors" if several else "Tensor"]
        rest["out"], texts["out"] = ", optional", said.get("out", "")
    shown = heading or _merged([o.signature for o in overloads(form)])
    order = [n for n in shown.parameters if n in kinds]
    return {
        n: (_either(kinds[n]) + rest.get(n, ""), _in_words(texts[n], form))
        for n in [*order, *(n for n in kinds if n not in order)]
    }


def _either(kinds: list[str]) -> str:
    """One text for the types that overloads take."""
    return " or ".join(dict.fromkeys(" or ".join(kinds).split(" or ")))


def docstring(op: Any) -> str:
    """`__doc__` of an op."""
    form = form_of(op)
    entry, called = entry_of(form)
    ways = [(o.signature, o.result) for o in overloads(form)]
    if (heading := _heading(form)) is not None:
        ways = [(heading, ways[0][1])]
    lines = []
    for shown, result in ways:
        if form.is_method:
            shown = inspect.Signature(list(shown.parameters.values())[1:])
        lines.append(f"{form.path}{shown} -> {result}")
    parts = ["\n".join(lines), _summary(form), _in_words(entry.words, form)]
    if called is not None and called != form.op and called in _C._ops:
        parts.insert(2, _summary(form_of(_C._ops[called])))
    described = describe_arguments(form)
    if form.is_method:
        described.pop("self", None)
    if described:
        rows = [
            f"    {name} ({kind})" + (f": {text}" if text else "")
            for name, (kind, text) in described.items()
        ]
        parts.append("\n".join(["Args:", *rows]))
    if example := example_of(form):
        rows = [f"    {line}".rstrip() for line in example.splitlines()]
        parts.append("\n".join(["Example:", "", *rows]))
    return "\n\n".join(part for part in parts if part) + "\n"


# --- examples ------------------------------------------------------------------------


def example_of(form: Form) -> str:
    """The example of a form: its own, or the op's in the spelling of the form."""
    entry, called = entry_of(form)
    if called is None or not entry.example:
        return entry.example
    steps = _steps(entry.example)
    if not form.in_place:
        return "\n".join(_shown(_respelt(s, called, form), out) for s, out in steps)
    lines: list[str] = []
    for source, out in steps:
        changed = _respelt(source, called, form)
        if changed != source:
            return "\n".join([*lines, _shown(changed, out)])
        if isinstance(ast.parse(source).body[0], (ast.Assign, ast.ImportFrom)):
            lines.append(_shown(source, out))
    return ""


def _steps(example: str) -> list[tuple[str, str]]:
    """The statements of an example, and what each prints."""
    steps: list[tuple[str, str]] = []
    for line in example.splitlines():
        if line.startswith(">>> "):
            steps.append((line[4:], ""))
        elif line.startswith("...") and not steps[-1][1]:
            steps[-1] = (f"{steps[-1][0]}\n{line[4:]}", "")
        else:
            steps[-1] = (steps[-1][0], f"{steps[-1][1]}{line}\n")
    return steps


def _shown(source: str, out: str) -> str:
    first, *more = source.split("\n")
    lines = [f">>> {first}", *(f"... {line}".rstrip() for line in more)]
    return "\n".join([*lines, out.rstrip("\n")] if out else lines)


def _spellings(name: str) -> set[str]:
    short = name.removeprefix("nn.functional.")
    return {f"ember.{name}"} if short == name else {f"F.{short}", f"ember.{name}"}


def _respelt(source: str, name: str, form: Form) -> str:
    """A statement that calls the function `name`, calling the form instead."""
    is_functional = form.op.startswith("nn.functional.")
    while True:
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or not isinstance(
                node.func, ast.Attribute
            ):
                continue
            if ast.unparse(node.func) not in _spellings(name):
                continue
            start, end = _place(source, node.func)
            if not form.is_method:
                path = f"F.{form.name}" if is_functional else form.path
                if source[start:end] == path:
                    continue
                source = source[:start] + path + source[end:]
                break
            if not node.args or isinstance(node.args[0], ast.Starred):
                continue
            source = _with_method(source, node, form.name)
            break
        else:
            return source


def _with_method(source: str, call: ast.Call, name: str) -> str:
    start, end = _place(source, call)
    first = call.args[0]
    a, b = _place(source, first)
    receiver = source[a:b]
    if not isinstance(first, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)):
        receiver = f"({receiver})"
    rest = (
        source[b:end].lstrip(" ,\n") if len(call.args) + len(call.keywords) > 1 else ")"
    )
    return f"{source[:start]}{receiver}.{name}({rest}{source[end:]}"


def _place(source: str, node: ast.expr) -> tuple[int, int]:
    """Where an expression stands in a text without letters beyond ASCII."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (
        starts[node.lineno - 1] + node.col_offset,
        starts[node.end_lineno - 1] + node.end_col_offset,
    )
