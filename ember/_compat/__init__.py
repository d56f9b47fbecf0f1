"""Names that are here because libraries written for PyTorch import them.

Three kinds, all looked up only when a name is found nowhere else, so that programs
which do not need them never load this package:

- `names.txt`: private names, aliases and old names of modules that exist;
- `files.txt`: files of PyTorch whose contents have other homes here;
- `modules/`: whole modules that only libraries ask for, `modules/_dynamo.py` for
  `ember._dynamo`.

Each entry says who needs it. What users call has its home among the real modules.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ember import _unavailable

_HERE = Path(__file__).parent


def _rows(file: str) -> list[list[str]]:
    """The columns of a table; two spaces or more part them, # begins a comment."""
    text = (_HERE / file).read_text(encoding="utf-8")
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [
        [c.strip() for c in line.split("  ") if c.strip()] for line in lines if line
    ]


@cache
def names() -> dict[str, dict[str, str]]:
    """Module -> name -> where it is, as "module:attribute"; "*" is the module."""
    table: dict[str, dict[str, str]] = {}
    for module, listed, target, _who in _rows("names.txt"):
        where, _, attribute = target.partition(":")
        for name in listed.split():
            table.setdefault(module, {})[name] = f"{where}:{attribute or name}"
    return table


@cache
def files() -> dict[str, list[tuple[str, list[str]]]]:
    """File of PyTorch -> [(module or reason, its names there; none: all of them)]."""
    table: dict[str, list[tuple[str, list[str]]]] = {}
    for file, source, listed, _who in _rows("files.txt"):
        chosen = [] if listed == "*" else listed.split()
        table.setdefault(file, []).append((source, chosen))
    return table


def _inner(module: str) -> str:
    """ "ember.nn" -> "nn", "ember" -> ""."""
    return module.partition(".")[2]


def _outer(inner: str) -> str:
    return f"ember.{inner}" if inner and inner != "." else "ember"


def find(module: str, name: str) -> Any:
    """Attribute `name` of a module that lacks it, or AttributeError."""
    target = names().get(_inner(module) or ".", {}).get(name)
    if target is not None:
        where, _, attribute = target.partition(":")
        value: Any = importlib.import_module(_outer(where))
        return value if attribute == "*" else getattr(value, attribute)
    full = f"{module}.{name}"
    if (name.startswith("__") and module != "ember") or not _is_package(module):
        pass
    elif importlib.util.find_spec(full) is not None:
        return importlib.import_module(full)
    raise AttributeError(f"module '{module}' has no attribute '{name}'")


def _is_package(module: str) -> bool:
    return hasattr(sys.modules[module], "__path__")


def contents(module: str) -> list[str]:
    """What `find` would find in a module, for `dir`."""
    return sorted(names().get(_inner(module) or ".", {}))


# --- modules that are elsewhere -------------------------------------------------------


# What stands in place of a module where `files.txt` lists names that raise.
_REASONS = {
    "!processes": "ember.distributed does not have this yet",
    "!graphs": "ember does not record programs as graphs yet",
    "!onnx": "ember does not write ONNX files yet",
    "!quantized": "ember has no quantized tensors",
    "!compiler": "ember's compiler is another one",
    "!memory": "ember has no CUDA memory whose history it could record",
}


class _File(importlib.machinery.ModuleSpec):
    """The spec of a file whose contents have other homes."""


class _Loader:
    """Makes a module of what `files.txt` lists."""

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        space = vars(module)
        exported: list[str] = []
        for source, chosen in files()[_inner(module.__name__)]:
            if source in _REASONS:
                reason, listed = _REASONS[source], " ".join(chosen)
                _unavailable.fill(space, _inner(module.__name__), reason, listed)
                exported += chosen
                continue
            outside = source in ("typing",)
            home = importlib.import_module(source if outside else _outer(source))
            public = [n for n in dir(home) if not n.startswith("_")]
            for name in chosen or public:
                here, _, there = name.partition("=")  # "a=b": b of that module
                space[here] = getattr(home, there or here)
                exported.append(here)
        space["__all__"] = [n for n in exported if not n.startswith("_")]
        space["__getattr__"] = lambda name: find(module.__name__, name)


class _Alias:
    """Puts a module that `names.txt` lists under another name in its place."""

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The module made for the spec is given up.
        outer, _, name = module.__name__.rpartition(".")
        sys.modules[module.__name__] = find(outer, name)


def _is_alias(inner: str) -> bool:
    """Whether a name of `names.txt` is a module, which programs import as one."""
    module, _, name = inner.rpartition(".")
    target = names().get(module or ".", {}).get(name, "")
    return target.endswith(":*") or target.startswith("_compat.c_modules:")


def spec(full: str) -> importlib.machinery.ModuleSpec | None:
    """The spec of a module that has no file at its own place."""
    inner = _inner(full)
    if _is_alias(inner):
        alias: Any = _Alias()
        return importlib.machinery.ModuleSpec(full, alias)
    path = _HERE.joinpath("modules", *inner.split("."))
    if (path / "__init__.py").is_file():
        return importlib.util.spec_from_file_location(
            full, path / "__init__.py", submodule_search_locations=[str(path)]
        )
    file = path.with_name(path.name + ".py")
    if file.is_file():
        return importlib.util.spec_from_file_location(full, file)
    table = files()
    if inner in table or any(known.startswith(inner + ".") for known in table):
        table.setdefault(inner, [])
        loader: Any = _Loader()
        made = _File(full, loader, is_package=True)
        made.submodule_search_locations = []
        return made
    return None
