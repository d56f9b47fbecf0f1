"""Schemas of custom operators: `(Tensor x, float by=2.0, *, int n=1) -> Tensor`."""

import ast
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ember

_ARGUMENT = re.compile(r"(?P<type>\S+?)\s+(?P<name>\w+)\s*(?:=\s*(?P<default>.+))?$")
_NOTHING = inspect.Parameter.empty


@dataclass
class Parameter:
    """One argument of an operator."""

    name: str
    type: str
    default: Any = _NOTHING
    keyword_only: bool = False

    @property
    def has_default(self) -> bool:
        """Whether it need not be given."""
        return self.default is not _NOTHING

    @property
    def mutated(self) -> bool:
        """Whether the operator changes it in place."""
        return "!" in self.type

    @property
    def is_tensor(self) -> bool:
        """Whether it must be one tensor."""
        return re.sub(r"\(.*?\)", "", self.type) == "Tensor"


def parse(schema: str) -> list[Parameter]:
    """The arguments that a schema (without the name) lists."""
    head, arrow, _ = schema.rpartition("->")
    head = head.strip()
    if not arrow or not (head.startswith("(") and head.endswith(")")):
        raise RuntimeError(
            f"expected a schema such as '(Tensor x, int n=1) -> Tensor', got {schema!r}"
        )
    found, keyword_only = [], False
    for text in _split(head[1:-1]):
        if text == "*":
            keyword_only = True
            continue
        match = _ARGUMENT.match(text)
        if match is None:
            raise RuntimeError(f"cannot read the argument {text!r} of {schema!r}")
        default = match["default"]
        value = _NOTHING if default is None else _value(default)
        found.append(Parameter(match["name"], match["type"], value, keyword_only))
    return found


def _split(text: str) -> list[str]:
    """The parts between commas that are not in brackets or strings."""
    parts = re.findall(r"""(?:"[^"]*"|'[^']*'|\([^)]*\)|\[[^\]]*\]|[^,])+""", text)
    return [p.strip() for p in parts if p.strip()]


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text.strip("\"'")  # such as the name of a memory format


_SCALARS: dict[Any, str] = {
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    ember.dtype: "ScalarType",
    ember.device: "Device",
    ember.Tensor: "Tensor",
    int | float | bool: "Scalar",
    types.NoneType: "()",
}


def _type_name(hint: Any, parameter: bool) -> str | None:
    """What a schema calls a type, or None if it has no name."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        rest = [i for i in inner if i is not types.NoneType]
        if set(rest) == {int, float, bool}:
            name: str | None = "Scalar"
        else:
            name = _type_name(rest[0], parameter) if len(rest) == 1 else None
        return name and (name + "?" if len(rest) < len(inner) else name)
    if origin in (list, Sequence) and len(inner) == 1:
        name = _type_name(inner[0], parameter)
        return name and name + "[]"
    if origin is tuple and not parameter:
        names = [_type_name(i, parameter) for i in inner]
        return None if None in names else f"({', '.join(map(str, names))})"
    return _SCALARS.get(hint)


def infer_schema(
    prototype_function: Callable,
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = (),
) -> str:
    """The schema that a function's type hints tell.

    >>> from ember import Tensor
    >>> from ember.library import infer_schema
    >>> def scale(x: Tensor, by: float = 2.0) -> Tensor: ...
    >>> infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def fail(what: str) -> typing.NoReturn:
        raise ValueError(
            f"infer_schema(func): {what} Got func with signature {signature})"
        )

    hints = typing.get_type_hints(prototype_function)
    unknown = mutates_args == "unknown"
    mutated = set() if unknown else set(mutates_args)
    if not mutated <= set(signature.parameters):
        missing = mutated - set(signature.parameters)
        fail(f"{missing} in mutates_args were not found in the custom op's signature.")
    texts, starred = [], False
    for number, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            texts.append("*")
            starred = True
        if name not in hints:
            fail(f"Parameter {name} must have a type annotation.")
        kind = _type_name(hints[name], True)
        if kind is None or kind == "()":
            fail(f"Parameter {name} has unsupported type {hints[name]}.")
        if kind.startswith("Tensor") and (unknown or name in mutated):
            kind = kind.replace("Tensor", f"Tensor(a{number}!)", 1)
        elif name in mutated:
            fail(f"Parameter {name} is in mutables_args but only Tensors can be.")
        default = parameter.default
        shown = f'"{default}"' if isinstance(default, str) else default
        texts.append(f"{kind} {name}" + ("" if default is _NOTHING else f"={shown}"))
    if "return" not in hints:
        fail("No return type annotation was provided. Please add one.")
    returned = _type_name(hints["return"], False)
    if returned is None:
        fail(f"Return has unsupported type {hints['return']}.")
    return f"{op_name or ''}({', '.join(texts)}) -> {returned}"
