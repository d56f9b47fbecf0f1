"""Contents of private files of `torch.utils` that are a few lines each."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import ContextDecorator, nullcontext
from types import ModuleType
from typing import Any


def has_triton_package() -> bool:
    """Whether Triton can compile kernels for a device here: no."""
    return False


has_triton = has_triton_package


class OrderedSet(dict):
    """A set that keeps the order of its items."""

    def __init__(self, items: Any = ()) -> None:
        super().__init__(dict.fromkeys(items))

    def add(self, item: Any) -> None:
        self[item] = None

    def discard(self, item: Any) -> None:
        self.pop(item, None)


def _check_module_exists(name: str) -> bool:
    """Whether a module is installed."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:  # "a.b" where there is no a
        return False


def dill_available() -> bool:
    """Whether dill is installed."""
    return _check_module_exists("dill")


def report_compile_source_on_error() -> Any:
    """A block whose errors would name compiled sources; there are none."""
    return nullcontext()


class CapturedTraceback:
    """Where a program stands."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    @staticmethod
    def extract(*, script: bool = False, cpp: bool = False, skip: int = 0) -> Any:
        """The stack as it is now."""
        import traceback

        return CapturedTraceback(traceback.format_stack()[: -1 - skip])

    def format(self) -> list[str]:
        """A line for each call."""
        return self._lines

    @staticmethod
    def format_all(tracebacks: list[CapturedTraceback]) -> list[list[str]]:
        """The lines of several."""
        return [traceback.format() for traceback in tracebacks]


def format_traceback_short(traceback: Any) -> str:
    """The place of an error: "file:line in function"."""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = traceback.tb_frame.f_code
    return f"{code.co_filename}:{traceback.tb_lineno} in {code.co_name}"


def render_call(function: Any, args: Any, kwargs: dict[str, Any]) -> str:
    """A call as text, tensors without their values."""
    from ember._compat.printing import printoptions
    from ember.overrides import resolve_name

    with printoptions(threshold=0, edgeitems=0):
        parts = [repr(a) for a in args]
        parts += [f"{key}={value!r}" for key, value in kwargs.items()]
    return f"{resolve_name(function) or function}({', '.join(parts)})"


class ConfigModule(ModuleType):
    """A module of options."""

    def patch(self, name: Any = None, value: Any = None, **changes: Any) -> _Patch:
        """A block, or a decorator, with other values of some options."""
        given = (
            name if isinstance(name, dict) else {} if name is None else {name: value}
        )
        return _Patch(self, given | changes)

    def get_config_copy(self) -> dict[str, Any]:
        """The options and their values."""
        kinds = (bool, int, float, str, type(None), dict, list, tuple)
        return {
            k: v
            for k, v in vars(self).items()
            if not k.startswith("_") and isinstance(v, kinds)
        }


class _Patch(ContextDecorator):
    def __init__(self, module: ModuleType, changes: dict[str, Any]) -> None:
        for name in changes:
            if not hasattr(module, name):
                raise AttributeError(f"{module.__name__}.{name} does not exist")
        self.module, self.changes = module, changes
        self.before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self.before.append({name: getattr(self.module, name) for name in self.changes})
        self._set(self.changes)

    def __exit__(self, *error: object) -> None:
        self._set(self.before.pop())

    def _set(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self.module, name, value)


def install_config_module(module: ModuleType) -> None:
    """Let a module of options be a `ConfigModule`."""
    sys.modules[module.__name__].__class__ = ConfigModule


def valid_vec_isa_list() -> list:
    """Sets of instructions a compiler could use: there is no compiler."""
    return []


def pick_vec_isa() -> None:
    """None: there is no compiler."""
    return None


def _members(module: Any, name: str) -> Any:
    """The dictionary of a module that a tensor of this name is in."""
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name in module._parameters:
        return module._parameters
    return module._buffers if name in module._buffers else vars(module)


def set_tensor(module: Any, name: str, tensor: Any) -> None:
    """Put a tensor in place of a parameter, buffer or attribute of a module."""
    _members(module, name)[name] = tensor


_MISSING = object()  # what `swap_tensor` finds, and may be given, for no member


def swap_tensor(
    module: Any, name: str, tensor: Any, allow_missing: bool = False
) -> Any:
    """The same; what was there."""
    members = _members(module, name)
    if name not in members and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    before = members.get(name, _MISSING)
    if tensor is _MISSING:
        members.pop(name, None)
    else:
        members[name] = tensor
    return before


class NamedMemberAccessor:
    """Members of a module by their dotted names."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def _owner(self, name: str) -> tuple[Any, str]:
        path, _, last = name.rpartition(".")
        return self.module.get_submodule(path), last

    def get_tensor(self, name: str) -> Any:
        """A parameter or buffer."""
        owner, last = self._owner(name)
        return getattr(owner, last)

    def set_tensor(self, name: str, value: Any) -> None:
        """Put a tensor in place of a parameter or buffer."""
        owner, last = self._owner(name)
        (owner._parameters if last in owner._parameters else owner._buffers)[last] = (
            value
        )

    def get_submodule(self, name: str) -> Any:
        """A module."""
        return self.module.get_submodule(name)
