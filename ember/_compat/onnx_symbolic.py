"""Decorators of functions that say how an operator is exported: torchvision and
torch_geometric define some; nothing calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def parse_args(*kinds: Any) -> Callable[[Any], Any]:
    """The function itself."""
    return lambda function: function


def quantized_args(*kinds: Any, **options: Any) -> Callable[[Any], Any]:
    """The function itself."""
    return lambda function: function
