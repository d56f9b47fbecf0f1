"""What PyTorch keeps about its compiler of Python; nothing is compiled here, as where
PYTORCH_JIT=0 turned it off."""

from __future__ import annotations

from typing import Any


class EnabledProxy:
    """A bool that can be asked later."""

    enabled = False

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()
_script_classes: dict[type, Any] = {}
_script_functions: dict[Any, Any] = {}


class ConcreteTypeStore:
    """Types of the modules that were compiled: none."""

    def __init__(self) -> None:
        self.type_store: dict[type, list] = {}


concrete_type_store = ConcreteTypeStore()
