"""Writes the stubs from the compiled module: `make stubs`; `--check` only compares.

`ember/_C.pyi` has what `import *` finds in the core; `ember/_names/` what the packages
put into their namespaces at run time, where a type checker cannot follow.

Ops come from their schemas (tools/schemas.py): functions, methods, in-place and out=
forms, overloads. What is not an op is found by looking at the module; what cannot be
seen there is in tools/stub_types.py.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.schemas import (  # noqa: E402
    FUNCTION,
    FUNCTION_IN_PLACE,
    IN_PLACE,
    METHOD,
    OUT,
    Param,
    Schema,
    registered,
    takes_varargs,
)
from tools.stub_signatures import (  # noqa: E402
    CLASSES,
    FUNCTIONS,
    PROTOCOLS,
    by_flags,
)
from tools.stub_types import (  # noqa: E402
    ATTRIBUTES,
    BASES,
    HEADER,
    MEMBERS,
    NAMESPACE,
    OPERATORS,
    RESULTS,
    SIGNATURES,
    TYPES,
    WRITABLE,
)

STUB = ROOT / "ember" / "_C.pyi"
NAMES = ROOT / "ember" / "_names"
SOURCES = {"Future": "ember.futures"}  # names that their modules import themselves
NAMESPACES = ("fft", "linalg", "nn.functional", "special")


class Results:
    """The classes of results with named parts, each written once."""

    def __init__(self) -> None:
        self.classes: dict[tuple[str, ...], str] = {}

    def type_of(self, text: str) -> str:
        if not text.startswith("("):
            return RESULTS[text]
        parts = [part.split() for part in text.strip("()").split(",")]
        if all(len(part) == 2 for part in parts):
            fields = tuple(f"{name}: {RESULTS[kind]}" for kind, name in parts)
            name = "_" + "_".join(part[1] for part in parts)
            return self.classes.setdefault(fields, name)
        return f"tuple[{', '.join(RESULTS[part[0]] for part in parts)}]"

    def text(self) -> list[str]:
        lines = []
        for fields, name in self.classes.items():
            lines += ["", f"class {name}(NamedTuple):"]
            lines += [f"    {field}" for field in fields]
        return lines


def parameter(p: Param) -> str:
    kind = TYPES[p.type]
    if p.optional and p.type not in ("Dims", "Any"):
        kind += " | None"
    name = p.name + "_" if keyword.iskeyword(p.name) else p.name
    return f"{name}: {kind}" + (" = ..." if p.default is not None else "")


def signature(schema: Schema, method: bool, in_place: bool, varargs: bool) -> str:
    """The parameter list of one form of an op."""
    parts, star = [], False
    for i, p in enumerate(schema.params):
        if i == 0 and method:
            parts.append("self")
        elif i == 0 and p.name == "self":
            parts.append(parameter(p).replace("self", "input", 1))
        elif varargs and (p.type == "Size" or p.varargs) and not star:
            parts.append(f"*{p.name}: {'Tensor' if p.varargs else '_int'}")
            star = True
        else:
            if p.keyword_only and not star:
                parts.append("*")
                star = True
            parts.append(parameter(p))
    if schema.has(OUT) and not in_place:
        tuple_result = schema.result.startswith("(")
        out = "_Sequence[Tensor]" if tuple_result else "Tensor"
        parts += ([] if star else ["*"]) + [f"out: {out} | None = ..."]
    return ", ".join(parts)


def define(
    name: str, schemas: list[Schema], results: Results, method: bool, in_place: bool
) -> list[str]:
    """One op as a function or method, with its overloads."""
    forms = []
    for schema in schemas:
        result = results.type_of(schema.result)
        if in_place:
            result = "Self" if method else "Tensor"
        elif method and schema.short_name.endswith("_") and result == "Tensor":
            result = "Self"
        for varargs in [False, True] if takes_varargs(schema) else [False]:
            parameters = signature(schema, method, in_place, varargs)
            forms.append(f"def {name}({parameters}) -> {result}:")
    first = "self" if method else parameter(schemas[0].params[0])
    if chosen := by_flags(name, first.replace("self:", "input:")):
        forms = [f"def {name}{form}:" for form in chosen]
    return overloads(forms, schemas[0].doc)


def overloads(forms: list[str], doc: str) -> list[str]:
    """The forms of one function, the first with the docstring."""
    forms = list(dict.fromkeys(forms))
    lines: list[str] = []
    for i, form in enumerate(forms):
        if len(forms) > 1:
            lines.append("@overload")
        lines += [form, *documented(doc)] if doc and i == 0 else [form + " ..."]
    return lines


def given(name: str, signatures: str | tuple[str, ...], doc: str = "") -> list[str]:
    """A function or method by what tools/stub_signatures.py says of it."""
    if isinstance(signatures, str):
        signatures = (signatures,)
    return overloads([f"def {name}{text}:" for text in signatures], doc)


def documented(doc: str) -> list[str]:
    """A body that consists of a docstring."""
    text = doc.replace("\\", "\\\\").replace('"""', "'''").strip()
    if text.endswith('"'):
        text += " "
    if len(text) <= 78 and "\n" not in text:
        return [f'    """{text}"""']
    if "\n" in text:
        lines = text.splitlines()
    else:
        lines = textwrap.wrap(text, 80)
    body = [f'    """{lines[0]}', *(f"    {line}".rstrip() for line in lines[1:])]
    return [*body, '    """']


def op_functions(ops: dict[str, list[Schema]]) -> dict[str, tuple[list[Schema], bool]]:
    found: dict[str, tuple[list[Schema], bool]] = {}
    for name, schemas in ops.items():
        if "." in name:
            continue
        if plain := [s for s in schemas if s.has(FUNCTION)]:
            found[name] = (plain, False)
        if changing := [s for s in schemas if s.has(FUNCTION_IN_PLACE)]:
            found[name + "_"] = (changing, True)
    return found


def op_methods(ops: dict[str, list[Schema]]) -> dict[str, tuple[list[Schema], bool]]:
    found: dict[str, tuple[list[Schema], bool]] = {}
    for schemas in ops.values():
        for form, suffix in ((METHOD, ""), (IN_PLACE, "_")):
            if chosen := [s for s in schemas if s.has(form)]:
                name = chosen[0].short_name + suffix
                known, changes = found.get(name, ([], bool(suffix)))
                found[name] = ([*known, *chosen], changes)
    return found


def attribute(name: str, kind: str, writable: bool) -> list[str]:
    lines = ["@property", f"def {name}(self) -> {kind}: ..."]
    if writable:
        lines += [f"@{name}.setter", f"def {name}(self, value: Any) -> None: ..."]
    return lines


def found_members(cls: type, known: set[str]) -> list[str]:
    """What else a class has, with as much as its descriptors tell."""
    lines: list[str] = []
    for name, value in sorted(vars(cls).items()):
        special = name.startswith("__") and name not in ("__enter__", "__exit__")
        if special or name in known:
            continue
        if inspect.isgetsetdescriptor(value) or inspect.ismemberdescriptor(value):
            kind = MEMBERS.get((cls.__name__, name), "Any")
            lines += attribute(name, kind, kind == "Any")
        elif isinstance(value, staticmethod):
            lines += [
                "@staticmethod",
                f"def {name}(*args: Any, **kwargs: Any) -> Any: ...",
            ]
        elif (
            isinstance(value, classmethod)
            or type(value).__name__ == "classmethod_descriptor"
        ):
            lines += [
                "@classmethod",
                f"def {name}(cls, *args: Any, **kwargs: Any) -> Any: ...",
            ]
        elif name in CLASSES.get(cls.__name__, {}):
            lines += given(name, CLASSES[cls.__name__][name], prose(value))
        elif callable(value):
            lines.append(f"def {name}(self, *args: Any, **kwargs: Any) -> Any: ...")
        else:
            lines.append(f"{name}: Any")
    return lines


def prose(value: Any) -> str:
    """The docstring of a member, without the signature that it begins with."""
    doc = inspect.getdoc(value) or ""
    head, _, rest = doc.partition("\n\n")
    return rest if head.startswith(f"{value.__name__}(") else doc


def protocols(cls: str) -> list[str]:
    """Python's methods of a class."""
    named = CLASSES.get(cls, {})
    return [
        line for name in named if name in PROTOCOLS for line in given(name, named[name])
    ]


def tensor_class(
    tensor: type, ops: dict[str, list[Schema]], results: Results
) -> list[str]:
    methods = op_methods(ops)
    lines = ["def __new__(cls, *args: Any, **kwargs: Any) -> Self: ..."]
    for name in sorted(vars(tensor)):
        kind = ATTRIBUTES.get(name, "_bool" if name.startswith("is_") else "Any")
        value = vars(tensor)[name]
        if inspect.isgetsetdescriptor(value) and kind and name not in methods:
            lines += attribute(name, kind, name in WRITABLE)
    lines += OPERATORS + protocols("Tensor")
    known = {line.split("(")[0].removeprefix("def ") for line in lines} | set(
        ATTRIBUTES
    )
    known |= {n for n, v in vars(tensor).items() if inspect.isgetsetdescriptor(v)}
    lines += found_members(tensor, known | set(methods))
    for name, (schemas, changes) in sorted(methods.items()):
        if f"__{name.strip('_')}__" != name:
            lines += define(name, schemas, results, True, changes)
    return ["", "class Tensor:", *(f"    {line}".rstrip() for line in lines)]


def other_class(cls: type, name: str) -> list[str]:
    lines = [*SIGNATURES.get(name, ()), *protocols(name)]
    if not any("def __init__" in line or "def __new__" in line for line in lines) and (
        {"__init__", "__new__"} & vars(cls).keys()
    ):
        lines.append("def __init__(self, *args: Any, **kwargs: Any) -> None: ...")
    known = {line.split("(")[0].removeprefix("def ") for line in lines}
    lines += found_members(cls, known)
    base = f"({BASES[name]})" if name in BASES else ""
    return ["", f"class {name}{base}:", *(f"    {line}" for line in lines or ["..."])]


def make(module: Any) -> str:
    """The text of the core's stub."""
    for cls, members in CLASSES.items():
        for name in members:
            if not hasattr(getattr(module, cls), name) and name != "__buffer__":
                raise AttributeError(f"tools/stub_signatures.py: {cls}.{name}")
    ops, results = registered(module), Results()
    functions = op_functions(ops)
    classes: list[str] = []
    plain: list[str] = []
    values: list[str] = []
    for name in sorted(dir(module)):
        value = getattr(module, name)
        if name in functions or (name.startswith("__") and name.endswith("__")):
            continue
        if name == "Tensor":
            classes += tensor_class(value, ops, results)
        elif inspect.isclass(value):
            classes += other_class(value, name)
        elif name in FUNCTIONS:
            plain += given(name, FUNCTIONS[name], prose(value))
        elif callable(value) and not isinstance(value, module.dtype):
            plain += [f"def {name}(*args: Any, **kwargs: Any) -> Any: ..."]
        else:
            kind = type(value).__name__
            known = inspect.isclass(getattr(module, kind, None))
            values.append(f"{name}: {kind if known else 'Any'}")
    body: list[str] = []
    for name, (schemas, changes) in sorted(functions.items()):
        body += ["", *define(name, schemas, results, False, changes)]
    named = results.text()
    return "\n".join([HEADER, *values, *named, *classes, "", *plain, *body, ""])


def make_namespace(module: Any, prefix: str) -> str:
    """The stub of the ops called `prefix.name`."""
    ops, results = registered(module), Results()
    head = prefix + "."
    inside = {n[len(head) :]: s for n, s in ops.items() if n.startswith(head)}
    body: list[str] = []
    for name, (schemas, changes) in sorted(op_functions(inside).items()):
        body += ["", *define(name, schemas, results, False, changes)]
    return "\n".join([NAMESPACE, *results.text(), *body, ""])


def make_top() -> str:
    """The stub of what the package finds on first use."""
    from ember import _C, _lazy

    lines = [
        "# Written by `make stubs` from ember/_lazy.py. Do not edit.",
        "# ruff: noqa: E501",
        "from typing import Any as _Any",
        "",
    ]
    elsewhere = []
    for name in sorted(_lazy.SUBMODULES):
        path = ROOT / "ember" / name
        if path.is_dir() or path.with_suffix(".py").exists():
            lines.append(f"from ember import {name} as {name}")
        else:
            elsewhere.append(f"{name}: _Any")
    for name, module in sorted(_lazy.NAMES.items(), key=lambda item: item[::-1]):
        if hasattr(_C, name):  # the core's own comes first
            continue
        source = SOURCES.get(name, f"ember.{module}")
        lines.append(f"from {source} import {name} as {name}")
    return "\n".join([*lines, "", *elsewhere, ""])


def everything(module: Any) -> dict[Path, str]:
    """Each stub and its text."""
    texts = {STUB: make(module), NAMES / "top.pyi": make_top()}
    for prefix in NAMESPACES:
        path = NAMES / f"{prefix.rpartition('.')[2]}.pyi"
        texts[path] = make_namespace(module, prefix)
    return texts


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--check", action="store_true", help="fail if it would change")
    check = options.parse_args().check
    from ember import _C

    different = 0
    for path, text in everything(_C).items():
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if text == old:
            continue
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"stubs: {path.relative_to(ROOT)} written")
            continue
        different += 1
        changes = difflib.unified_diff(old.splitlines(), text.splitlines(), lineterm="")
        print("\n".join(list(changes)[:20]))
        print(f"stubs: {path.relative_to(ROOT)} differs; run `make stubs`")
    if not different:
        print(f"stubs: {len(_C._schemas)} schemas, up to date")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
