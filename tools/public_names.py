"""The public names of ember, found by walking the package: what the reference has
pages for, and what must have a docstring.

A module is public if no part of its path begins with an underscore. Its public names
are those of `__all__`; without that, what it defines, and for a package also what it
takes from its own submodules. A name that a package hands on from a submodule belongs
to the package. What is there only to say that it is missing (`ember._unavailable`,
names for libraries in `ember._compat`) is no public name.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import ember

OP = type(ember.add)
_CLASS_MEMBERS = {**vars(object), **vars(type)}


@dataclass
class Namespace:
    """A public module, or the class Tensor, with what it offers."""

    name: str
    doc: str
    members: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)


def is_placeholder(value: Any) -> bool:
    """Whether it can only say that ember does not have it."""
    if _own(value).startswith("ember._compat"):
        return True
    function = value.__init__ if isinstance(value, type) else value
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and code.co_filename.endswith("_unavailable.py")


def _is_ours(value: Any) -> bool:
    """Not of Python's library, as much of `multiprocessing` is."""
    home = _own(value).partition(".")[0]
    return home in ("ember", "", "builtins") or isinstance(value, OP)


def is_documented_kind(value: Any) -> bool:
    """Functions, classes, methods and properties: what can have a page."""
    return callable(value) or isinstance(
        value, property | types.GetSetDescriptorType | types.MemberDescriptorType
    )


def modules() -> Iterator[types.ModuleType]:
    """Every public module that can be imported, packages before what is in them."""
    yield ember
    found = pkgutil.walk_packages(ember.__path__, "ember.", onerror=lambda name: None)
    for name in sorted(info.name for info in found):
        if any(part.startswith("_") for part in name.split(".")):
            continue
        try:
            yield importlib.import_module(name)
        except ImportError:  # it needs what is not installed
            continue


def _belongs(value: Any, module: types.ModuleType) -> bool:
    """Whether a module without `__all__` defines it, or takes it from its parts."""
    if isinstance(value, OP):
        return True
    home = _own(value)
    if module is ember:
        return home.startswith("ember")
    inside = hasattr(module, "__path__") and home.startswith(module.__name__ + ".")
    return home == module.__name__ or inside


def _names(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    listed = getattr(module, "__all__", None)
    for name in sorted(listed or dir(module)):
        if name.startswith("_"):
            continue
        try:
            value = getattr(module, name)
        except (AttributeError, ImportError, NotImplementedError):
            continue
        if isinstance(value, types.ModuleType):
            continue
        if listed or not is_documented_kind(value) or _belongs(value, module):
            yield name, value


def _constant(value: Any) -> bool:
    kinds = (int, float, ember.dtype, ember.layout, ember.memory_format)
    return isinstance(value, kinds)


def tensor_members() -> dict[str, Any]:
    """What a Tensor has beyond any object, by name."""
    names = [n for n in dir(ember.Tensor) if not n.startswith("_")]
    values = {n: inspect.getattr_static(ember.Tensor, n) for n in names}
    return {n: v for n, v in values.items() if n not in _CLASS_MEMBERS}


def namespaces() -> dict[str, Namespace]:
    """Every public namespace that has names of its own, shortest paths first."""
    result: dict[str, Namespace] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in modules():
            space = Namespace(module.__name__, inspect.getdoc(module) or "")
            above = [
                result[name]
                for name in _ancestors(module.__name__)
                if name in result
                and (name != "ember" or not hasattr(module, "__path__"))
            ]
            strict = not getattr(module, "__all__", None)
            for name, value in _names(module):
                if not is_documented_kind(value):
                    if _constant(value):
                        space.constants[name] = value
                    continue
                if is_placeholder(value) or not _is_ours(value):
                    continue
                taken = any(each.members.get(name) is value for each in above)
                if taken and (strict or _own(value).startswith(module.__name__)):
                    continue
                space.members[name] = value
            if space.members:
                result[space.name] = space
        _drop_guests(result)
    doc = inspect.getdoc(ember.Tensor) or ""
    result["ember.Tensor"] = Namespace("ember.Tensor", doc, tensor_members())
    return result


def _drop_guests(spaces: dict[str, Namespace]) -> None:
    """A name that a module lists though it belongs to another has its page there."""

    def inside(value: Any, space: str) -> bool:
        return f"{_own(value)}.".startswith(space + ".")

    at_home = {
        id(value)
        for space in spaces.values()
        for value in space.members.values()
        if space.name != "ember" and inside(value, space.name)
    }
    for space in [s for s in spaces.values() if s.name != "ember"]:
        for name, value in list(space.members.items()):
            if not inside(value, space.name) and id(value) in at_home:
                del space.members[name]
        if not space.members:
            del spaces[space.name]


def _own(value: Any) -> str:
    """The module that says it defines the value."""
    home = getattr(value, "__module__", None)
    return home if isinstance(home, str) else ""


def _ancestors(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


if __name__ == "__main__":
    for space in namespaces().values():
        print(space.name, len(space.members), len(space.constants))
