"""Options of compilers: blocks in which some are set, as programs for PyTorch do."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Any


def patch_of(module: str) -> Any:
    """`patch` of a module of options: sets some in a block or a decorated function."""

    @contextmanager
    def patch(arg: Any = None, value: Any = None, /, **changes: Any) -> Any:
        """Set options, by keywords, a dictionary or a name and a value, and back."""
        if isinstance(arg, dict):
            changes |= arg
        elif arg is not None:
            changes[arg] = value
        options = sys.modules[module]
        before = {name: getattr(options, name, patch) for name in changes}
        try:
            for name, new in changes.items():
                setattr(options, name, new)
            yield
        finally:
            for name, old in before.items():
                if old is not patch:
                    setattr(options, name, old)
                elif hasattr(options, name):  # there was none
                    delattr(options, name)

    return patch
