"""How much a process group checks itself."""

import os
from enum import Enum


class DebugLevel(Enum):
    """How much a process group checks itself."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """What was set."""
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Kept for programs that ask."""
    global _level
    _level = level


def set_debug_level_from_env() -> None:
    """The level that TORCH_DISTRIBUTED_DEBUG names."""
    set_debug_level(
        DebugLevel[os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()]
    )
