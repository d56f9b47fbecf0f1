"""Machine code on disk: core/disk.h, which takes nothing that the user's own secret has
not signed, in a directory that belongs to the user alone (ember/_cache.py).

The variable EMBER_JIT_CACHE names another directory, or is empty: none.
EMBER_JIT_CACHE_SIZE says how many megabytes to keep, 256 if it is not set. Called
by one thread at a time (_llvm.py).
"""

from __future__ import annotations

from typing import Any

from ember import _C, _cache as _directories

_MEGABYTES = 256
_disk: Any = None


def _opened() -> Any:
    global _disk
    if _disk is None:
        most = _directories.size("EMBER_JIT_CACHE_SIZE", _MEGABYTES)
        directory = _directories.directory("jit", "EMBER_JIT_CACHE")
        _disk = _C._disk_cache(directory, most)
    return _disk


def find(key: bytes) -> bytes | None:
    """What was kept under a key, if it is whole and the user's."""
    return _C._disk_find(_opened(), key)


def keep(key: bytes, code: bytes) -> None:
    """Keep machine code, if there is a place for it."""
    _C._disk_keep(_opened(), key, code)
