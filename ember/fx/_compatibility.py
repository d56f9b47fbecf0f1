"""A mark of functions that stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that gives back its function."""
    return lambda function: function
