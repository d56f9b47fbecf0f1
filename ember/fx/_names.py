"""Names of functions and types in generated code, and names of nodes."""

from __future__ import annotations

import builtins
import keyword
import operator
import re
import sys
import types
from collections import defaultdict
from typing import Any

import ember
from ember import _C


def package_name() -> str:
    """How generated code calls this package: "torch" where programs know it so."""
    torch = sys.modules.get("torch")
    return "torch" if getattr(torch, "Tensor", None) is ember.Tensor else "ember"


def op_name(op: Any) -> str:
    """The name of an op of the core inside the package: "nn.functional.relu"."""
    reduced = op.__reduce__()
    if isinstance(reduced, str):
        return reduced
    return f"Tensor.{reduced[1][1]}"  # getattr(ember.Tensor, name)


def is_method(func: Any) -> bool:
    """Whether `func` is a method of Tensor, or the getter of one of its attributes."""
    if isinstance(func, _C.Op):
        return not isinstance(func.__reduce__(), str)
    return isinstance(
        func,
        (
            types.MethodDescriptorType | types.WrapperDescriptorType,
            types.MethodWrapperType,
        ),
    )


def is_builtin(func: Any) -> bool:
    """Whether a name of Python itself stands for it."""
    return hasattr(func, "__name__") and vars(builtins).get(func.__name__, ...) is func


def qualified_name(func: Any) -> str:
    """Where generated code finds a function: "ember.add", "_operator.add"."""
    if isinstance(func, _C.Op):
        return f"{package_name()}.{op_name(func)}"
    if hasattr(func, "_fx_name"):  # operators of `ember.ops`
        return f"{package_name()}.{func._fx_name}"
    if is_builtin(func):
        return func.__name__
    slots = types.MethodDescriptorType | types.WrapperDescriptorType
    own: Any = getattr(ember.Tensor, getattr(func, "__name__", ""), None)
    if isinstance(func, slots) and func is own:
        return f"{package_name()}.Tensor.{own.__name__}"
    name = getattr(func, "__name__", None) or type(func).__name__
    if name == "<lambda>":
        name = getattr(func, "__qualname__", name).rpartition(".")[2]
    module = _find_module(func) or "__main__"
    head, dot, rest = module.partition(".")
    if head == "ember":
        for home in _PUBLIC:  # the shortest public name
            space = ember if not home else getattr(ember, home.split(".")[0])
            for part in home.split(".")[1:]:
                space = getattr(space, part)
            if getattr(space, name, None) is func:
                module = f"ember.{home}" if home else "ember"
                break
        head, dot, rest = module.partition(".")
        module = package_name() + dot + rest
    return f"{module}.{name}"


_PUBLIC = ("nn.functional", "", "linalg", "fft", "special")


def _find_module(func: Any) -> str | None:
    module = getattr(func, "__module__", None)
    if module:
        return module
    for name, candidate in list(sys.modules.items()):
        if name not in ("__main__", "__mp_main__") and (
            getattr(candidate, getattr(func, "__name__", ""), None) is func
        ):
            return name
    return None


def type_name(kind: Any) -> str:
    """A type as text, for hints: "ember.Tensor", "int", "typing.List[int]"."""
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        if kind.__module__ in ("builtins",):
            return kind.__qualname__
        module = kind.__module__
        head, dot, rest = module.partition(".")
        if head == "ember":
            public: Any = getattr(ember, kind.__qualname__, None)
            if public is kind:
                return f"{package_name()}.{kind.__qualname__}"
            module = package_name() + dot + rest
        return f"{module}.{kind.__qualname__}"
    if kind is ...:
        return "..."
    if isinstance(kind, types.FunctionType):
        return kind.__name__
    return repr(kind)


def snake_case(text: str) -> str:
    """ "MaxPool" -> "max_pool"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()


# Names that generated code always has, besides Python's own.
def custom_builtins() -> dict[str, tuple[str, Any]]:
    """name -> (the import that makes it, the object)."""
    from ember.fx import _pytree as fx_pytree
    from ember.utils import _pytree as pytree

    p = package_name()
    return {
        "inf": ("from math import inf", float("inf")),
        "nan": ("from math import nan", float("nan")),
        "NoneType": ("NoneType = type(None)", type(None)),
        p: (f"import {p}", sys.modules[p]),
        "device": (f"from {p} import device", ember.device),
        "fx_pytree": (f"import {p}.fx._pytree as fx_pytree", fx_pytree),
        "pytree": (f"import {p}.utils._pytree as pytree", pytree),
    }


_RESERVED = frozenset(
    "inf nan NoneType torch ember device fx_pytree pytree".split()
) | frozenset(keyword.kwlist)
_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
_SUFFIX = re.compile(r"(.*)_(\d+)$")


class Namespace:
    """Names of one graph, each used once."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._used: set[str] = set()
        self._count: dict[str, int] = defaultdict(int)

    def create_name(self, candidate: str, obj: Any) -> str:
        """`candidate`, with a number behind it if it is taken; kept for `obj`."""
        if obj is not None and obj in self._names:
            return self._names[obj]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = _SUFFIX.match(candidate)
        base, number = candidate, None
        if match is not None:
            base, number = match.group(1), int(match.group(2))
            candidate = f"{base}_{number}"
        if not number:
            number = self._count[base]
        while candidate in self._used or self._illegal(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._count[base] = number
        if obj is not None:
            self._names[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Keep a name that was made without its object."""
        self._names.setdefault(obj, name)

    def rename(self, obj: Any, name: str) -> None:
        """Give an object another name, which is in use already."""
        self._names[obj] = name
        self._used.add(name)

    def _illegal(self, name: str, obj: Any) -> bool:
        if name in _RESERVED:
            return True
        own = getattr(builtins, name, None)
        return own is not None and own is not obj


MAGIC = {
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
}
REFLECTABLE = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{} // {}",
    "truediv": "{} / {}",
    "div": "{} / {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "getitem": "{}[{}]",
    "matmul": "{} @ {}",
}
INPLACE = {
    "iadd": "{} += {}",
    "iand": "{} &= {}",
    "ifloordiv": "{} //= {}",
    "ilshift": "{} <<= {}",
    "imod": "{} %= {}",
    "imul": "{} *= {}",
    "imatmul": "{} @= {}",
    "ior": "{} |= {}",
    "ipow": "{} **= {}",
    "irshift": "{} >>= {}",
    "isub": "{} -= {}",
    "itruediv": "{} /= {}",
    "ixor": "{} ^= {}",
    "setitem": "{}[{}] = {}",
}
OPERATORS = {
    getattr(operator, name): text
    for name, text in (MAGIC | REFLECTABLE).items()
    if hasattr(operator, name)
}
