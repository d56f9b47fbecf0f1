"""Whether a compiler follows the program: nnsight, tensordict and spikingjelly ask."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ember import _unavailable

_active = import_module("ember._subclasses.fake_tensor").active


def active_fake_mode() -> Any:
    """The innermost `FakeTensorMode` that is on, or None."""
    return _active[-1] if _active else None


def detect_fake_mode(inputs: Any = None) -> Any:
    """The same: tensors do not remember the mode they were made in."""
    return active_fake_mode()


class TracingContext:
    """What a compiler knows while it follows a program; there is none."""

    @staticmethod
    def try_get() -> None:
        """None: nothing is traced."""


CompileContext = TracingContext

wrap_triton = _unavailable.function("library.wrap_triton", "there is no Triton here")
get_ctx = _unavailable.function(
    "library.get_ctx", "shapes that depend on values are not known without them"
)
scaled_grouped_mm = _unavailable.function(
    "nn.functional.scaled_grouped_mm", "products of float8 in groups are not here"
)
