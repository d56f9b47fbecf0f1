"""Contents of private files of `torch.utils` that are a few lines each."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import nullcontext
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
    return importlib.util.find_spec(name) is not None


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


class ConfigModule(ModuleType):
    """A module of options."""


def install_config_module(module: ModuleType) -> None:
    """Let a module of options be a `ConfigModule`."""
    sys.modules[module.__name__].__class__ = ConfigModule
