"""Switches and small functions of `ember.serialization` that few programs need."""

import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

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
    """Set whether `save` writes checksums of the records; `load` needs none."""
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


class skip_data:
    """Inside, `save` leaves room for the bytes of storages and `load` reads none.

    The rest of a checkpoint is as ever: bytes can be put into the file later. What is
    loaded inside has the right types and shapes, and any values.

    >>> import ember, io
    >>> file = io.BytesIO()
    >>> with ember.serialization.skip_data():
    ...     ember.save(ember.ones(3), file)
    >>> ember.load(io.BytesIO(file.getvalue()))
    tensor([0., 0., 0.])
    """

    active = False

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self.before, skip_data.active = skip_data.active, True

    def __exit__(self, *exc) -> None:
        skip_data.active = self.before


# --- devices of other packages --------------------------------------------------------

Tagger = Callable[[Any], str | None]
Deserializer = Callable[[Any, str], Any]

_BUILT_IN = 10  # the priority of ember's own devices
_packages: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Let functions choose the location of storages that `save` writes and restore it.

    `tagger(storage)` gives a location, `deserializer(storage, location)` a storage;
    None leaves it to others. A lower priority is asked earlier; ember's own devices
    have 10.

    >>> import ember
    >>> from ember.serialization import location_tag, register_package
    >>> def tag(storage):
    ...     return "five" if storage.nbytes() == 5 else None
    >>> register_package(5, tag, lambda s, where: s if where == "five" else None)
    >>> location_tag(ember.UntypedStorage(5)), location_tag(ember.UntypedStorage(4))
    ('five', 'cpu')
    >>> ember.serialization._options._packages.pop()[0]
    5
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage) -> str:
    """The device of a storage, as checkpoints name it."""
    if _packages:
        untyped = getattr(storage, "_untyped_storage", storage)
        for priority, tagger, _ in _packages:
            if priority >= _BUILT_IN:
                break  # every device of ember's has a name
            location = tagger(untyped)
            if location:
                return location
    return str(storage.device)


def restored_by_package(storage, location: str):
    """What a registered function makes of a storage, or None."""
    for priority, _, deserializer in _packages:
        if priority < _BUILT_IN or not _is_device(location):
            found = deserializer(storage, location)
            if found is not None:
                return found
    return None


def _is_device(location: str) -> bool:
    try:
        ember.device(location)
    except RuntimeError:
        return False
    return True


def default_restore_location(storage, location: str):
    """The storage on the device of that name: what `load` does by default."""
    from ember.serialization import _storage_io

    untyped = getattr(storage, "_untyped_storage", storage)
    found = restored_by_package(untyped, location)
    if found is not None:
        return found
    try:
        return _storage_io.storage_to(untyped, location)
    except (RuntimeError, AssertionError) as error:
        raise RuntimeError(
            "don't know how to restore data location of "
            f"{ember.typename(storage)} (tagged with {location})"
        ) from error


# --- small helpers --------------------------------------------------------------------


class StorageType:
    """A class of typed storages by its name, as pickles have it.

    >>> from ember.serialization import StorageType
    >>> StorageType("FloatStorage").dtype
    torch.float32
    """

    def __init__(self, name: str) -> None:
        found: Any = getattr(getattr(ember, name, None), "dtype", None)
        if found is None or not name.endswith("Storage"):
            raise KeyError(f'pickle storage type "{name}" is not recognized')
        self._dtype = found

    @property
    def dtype(self) -> "ember.dtype":
        """What its elements are."""
        return self._dtype


def normalize_storage_type(storage_type: type) -> type:
    """The class of that name in `ember`."""
    return getattr(ember, storage_type.__name__)


def storage_to_tensor_type(storage) -> type:
    """The class of tensors that goes with a typed storage.

    >>> import ember
    >>> ember.serialization.storage_to_tensor_type(ember.FloatStorage(1)).__name__
    'FloatTensor'
    """
    name = storage.pickle_storage_type().replace("Storage", "Tensor")
    return getattr(ember, name)


@contextmanager
def mkdtemp() -> Iterator[str]:
    """A directory that is removed, with what is in it, when the block ends."""
    import tempfile

    with tempfile.TemporaryDirectory() as path:
        yield path


def check_module_version_greater_or_equal(
    module, req_version_tuple: tuple, error_if_malformed: bool = True
) -> bool:
    """Whether a module's `__version__` is at least the required one.

    A version that cannot be compared raises, or warns and counts as new enough.

    >>> import ember, types
    >>> module = types.SimpleNamespace(__name__="m", __version__="1.10.2")
    >>> ember.serialization.check_module_version_greater_or_equal(module, (1, 9))
    True
    """
    import warnings

    parts = module.__version__.split(".")
    try:
        if len(parts) < len(req_version_tuple):
            raise ValueError("too short")
        version = tuple(type(r)(p) for r, p in zip(req_version_tuple, parts))
    except ValueError:
        message = (
            f"'{module.__name__}' module version string is malformed "
            f"'{module.__version__}' and cannot be compared with tuple "
            f"{req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from None
        warnings.warn(
            f"{message}, but continuing assuming that requirement is met", stacklevel=2
        )
        return True
    return version >= req_version_tuple
