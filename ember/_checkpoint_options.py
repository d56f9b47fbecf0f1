"""Switches and small functions of `ember.serialization` that few programs need."""

import mmap
from enum import Enum

import ember


class LoadEndianness(Enum):
    """The byte order of files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class SourceChangeWarning(Warning):
    """PyTorch's warning about modules whose source has changed; not given here."""


_options: dict = {"endianness": None, "crc32": True, "mmap": mmap.MAP_PRIVATE}


def get_default_load_endianness() -> LoadEndianness | None:
    """What `set_default_load_endianness` was told."""
    return _options["endianness"]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order of zip files that do not say theirs."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _options["endianness"] = endianness


def default_order() -> str:
    """The same as "little" or "big"."""
    import sys

    wanted = _options["endianness"]
    if wanted in (None, LoadEndianness.NATIVE):
        return sys.byteorder
    return wanted.name.lower()


def get_crc32_options() -> bool:
    """What `set_crc32_options` was told."""
    return _options["crc32"]


def set_crc32_options(compute_crc32: bool) -> None:
    """Remember the wish; files always have checksums."""
    _options["crc32"] = bool(compute_crc32)


def get_default_mmap_options() -> int:
    """How `load(mmap=True)` maps files: `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`."""
    return _options["mmap"]


class set_default_mmap_options:
    """Choose how `load(mmap=True)` maps files, for good or for a block.

    With `mmap.MAP_SHARED`, changes of the tensors change the file.
    """

    def __init__(self, flags: int) -> None:
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected "
                f"mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.before, _options["mmap"] = _options["mmap"], flags

    def __enter__(self) -> None: ...

    def __exit__(self, *exc) -> None:
        _options["mmap"] = self.before


def location_tag(storage) -> str:
    """The device of a storage, as checkpoints name it."""
    return str(storage.device)


def default_restore_location(storage, location: str):
    """The storage on the device of that name: what `load` does by default."""
    from ember import _storage_io

    untyped = getattr(storage, "_untyped_storage", storage)
    try:
        return _storage_io.storage_to(untyped, location)
    except (RuntimeError, AssertionError) as error:
        raise RuntimeError(
            "don't know how to restore data location of "
            f"{ember.typename(storage)} (tagged with {location})"
        ) from error
