"""`save` and `load`: checkpoints in PyTorch's zip format, readable by either library.

Loading is restricted to tensors and plain containers unless asked otherwise; see
`_unpickle` for what that means and `_archive` for the container.
"""

import errno
import io
import os
import pickle
import sys
from functools import partial
from typing import Any

from ember import _C, _lazy
from ember._types import FileLike
from ember.serialization._options import (
    LoadEndianness,
    SourceChangeWarning,
    StorageType,
    check_module_version_greater_or_equal,
    default_order as default_order,
    default_restore_location,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    location_tag,
    mkdtemp,
    normalize_storage_type,
    register_package,
    restored_by_package as restored_by_package,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
    storage_to_tensor_type,
)


def save(
    obj: object,
    f: FileLike,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object with its tensors to a path or to a binary file.

    A file gets its new content only once all of it is on the disk: whatever happens
    before, the old one is there as it was.

    >>> import ember, io
    >>> buffer = io.BytesIO()
    >>> ember.save({"w": ember.ones(2)}, buffer)
    >>> ember.load(io.BytesIO(buffer.getvalue()))
    {'w': tensor([1., 1.])}
    """
    kind = _Content if _use_new_zipfile_serialization else _OldContent
    if _is_path(f):
        return _save_to_path(kind(obj, pickle_protocol), f)
    if not hasattr(f, "write"):
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' "
            f"attribute, but got {type(f).__name__}"
        )
    kind(obj, pickle_protocol).write(f, "archive")


class FileError(OSError, RuntimeError):
    """A file that can't be written: PyTorch raises RuntimeError, Python OSError."""


def _save_to_path(content: "_Content", path) -> None:
    from ember._files import replacing

    root = os.path.splitext(os.path.basename(path))[0]
    root = root if root and root.isascii() else "archive"
    try:
        with replacing(path) as file:
            content.write(file, root)
    except OSError as error:
        folder = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(folder):
            raise FileError(
                errno.ENOENT, f"Parent directory {folder} does not exist", str(path)
            ) from None
        raise FileError(
            error.errno,
            f"save(): the file can't be written: {error.strerror or error}",
            str(path),
        ) from error


def load(
    f: FileLike,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save` (ember's or PyTorch's) wrote.

    `map_location` is a device, a dictionary from saved to wanted devices or a function
    of storage and location. `weights_only=False` runs code that the file names: use
    it for files that you trust. With `mmap` storages stay in the file until used.

    >>> import ember
    >>> ember.save(ember.arange(3), "numbers.pt")
    >>> ember.load("numbers.pt")
    tensor([0, 1, 2])
    """
    if mmap and not _is_path(f):
        raise ValueError(
            "f must be a file path in order to use the mmap argument, but got "
            f"{type(f).__name__}"
        )
    if isinstance(map_location, (int, float)) and not isinstance(map_location, bool):
        raise TypeError(
            "load(): map_location is a device, a name of one, a dictionary or a "
            f"function, got {map_location!r}"
        )
    from ember.serialization._archive import seekable

    safe = _safe_names() if _restricted(weights_only) else None
    reader = Reader(map_location, safe, pickle_load_args, pickle_module)
    if _is_path(f):
        with open(f, _mode(mmap)) as file:
            return _read(file if mmap else seekable(file), reader, bool(mmap))
    if not hasattr(f, "read"):
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'read' "
            f"attribute, but got {type(f).__name__}"
        )
    if not hasattr(f, "seek") and not hasattr(f, "tell"):
        raise AttributeError(
            f"'{type(f).__name__}' object has no attribute 'seek'. You can only "
            "torch.load from a file that is seekable. Please pre-load the data into a "
            "buffer like io.BytesIO and try to load from it instead."
        )
    return _read(seekable(f), reader, False)


def _restricted(weights_only: bool | None) -> bool:
    """Whether loading is, by the argument and by two environment variables."""
    yes = ("1", "y", "yes", "true")
    never, always = (
        os.environ.get(f"TORCH_FORCE_{word}WEIGHTS_ONLY_LOAD", "0") in yes
        for word in ("NO_", "")
    )
    if never and always:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or "
            "`TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both were set."
        )
    if never and weights_only is None:
        return False
    return always or weights_only is not False


def _mode(mapped: bool | None) -> str:
    import mmap

    shared = mapped and get_default_mmap_options() == mmap.MAP_SHARED
    return "r+b" if shared else "rb"


def _is_path(f) -> bool:
    return isinstance(f, (str, os.PathLike))


class _Content:
    """What a checkpoint will hold: made before a file is touched, since it may fail."""

    def __init__(self, obj: Any, protocol: int) -> None:
        from ember.serialization._pickle import Pickler

        self.text = io.BytesIO()
        pickler = Pickler(self.text, protocol)
        pickler.dump(obj)
        self.storages = pickler.storages

    def write(self, file: Any, root: str) -> None:
        """Write a checkpoint to a binary file."""
        if not hasattr(file, "seekable") or not file.seekable():
            whole = io.BytesIO()
            self.write(whole, root)
            file.write(whole.getbuffer())
            return
        from ember.serialization import _storage_io
        from ember.serialization._archive import ArchiveWriter

        with ArchiveWriter(file, root) as archive:
            archive.write("data.pkl", self.text.getbuffer())
            archive.write(".format_version", b"1")
            archive.write(".storage_alignment", b"64")
            archive.write("byteorder", sys.byteorder.encode())
            for key, storage in self.storages.items():
                if skip_data.active:
                    archive.reserve(f"data/{key}", storage.nbytes())
                else:
                    archive.write(f"data/{key}", _storage_io.storage_view(storage))
            archive.write("version", b"3\n")


class _OldContent(_Content):
    """The same in the format from before PyTorch 1.6: see `_before_zip`."""

    def __init__(self, obj: Any, protocol: int) -> None:
        from ember.serialization._before_zip import OldPickler

        self.text = io.BytesIO()
        pickler = OldPickler(self.text, protocol)
        pickler.dump(obj)
        self.storages, self.sizes = pickler.storages, pickler.sizes

    def write(self, file: Any, root: str) -> None:
        """Write a checkpoint to a binary file."""
        from ember.serialization._before_zip import write_pickled

        write_pickled(file, self.text.getbuffer(), self.storages, self.sizes)


class Reader:
    """How the parts of a checkpoint become objects, whatever its format."""

    def __init__(
        self,
        map_location: Any,
        safe: dict | None,
        pickle_args: dict,
        pickle_module: Any = None,
    ) -> None:
        self.map_location, self.safe = map_location, safe
        self.pickle_module = pickle_module
        self.pickle_args = {"encoding": "utf-8", **pickle_args}

    def unpickle(self, file: Any, storage: Any, made: dict | None = None) -> Any:
        """The next object of a file. `storage` finds storages, `made` has tensors."""
        from ember.serialization._unpickle import SafeUnpickler, unpickler_of

        plain = self.safe is None
        kind: type = unpickler_of(self.pickle_module) if plain else SafeUnpickler
        try:
            return kind(file, storage, self.safe, made, **self.pickle_args).load()
        except (pickle.UnpicklingError, ImportError, MemoryError):
            raise
        except Exception as error:
            plain = isinstance(error, RuntimeError)
            if self.safe is None or (plain and not isinstance(error, RecursionError)):
                raise  # it may come from the user's own classes
            raise pickle.UnpicklingError(
                f"load(): the pickle is damaged ({type(error).__name__}: {error})"
            ) from error

    def restore(self, stored: Any, location: str) -> Any:
        """A storage on the device where it is wanted."""
        from ember.serialization import _storage_io

        target = location
        if callable(self.map_location):
            moved = self.map_location(stored, location)
            if moved is not None:
                return getattr(moved, "_untyped_storage", moved)
        elif isinstance(self.map_location, dict):
            target = self.map_location.get(location, location)
        elif self.map_location is not None:
            target = self.map_location
        found = restored_by_package(stored, str(target))
        if found is not None:
            return found
        try:
            return _storage_io.storage_to(stored, str(target))
        except (RuntimeError, AssertionError) as error:
            kind = str(target).partition(":")[0].upper()
            raise RuntimeError(
                f"Attempting to deserialize object on a {kind} device but "
                f"torch.{kind.lower()}.is_available() is False. If you are running on "
                "a CPU-only machine, please use torch.load with "
                "map_location=torch.device('cpu') to map your storages to the CPU. "
                f"({error})"
            ) from None


def _read(file, reader: Reader, mapped: bool):
    from ember.serialization._archive import is_archive

    if is_archive(file):
        return _read_archive(file, reader, mapped)
    if mapped:
        raise RuntimeError(
            "mmap can only be used with files saved with `save(_use_new_zipfile_"
            "serialization=True)`, which is the default"
        )
    start = file.tell()
    head = file.read(512)
    file.seek(start)
    if not head:
        raise EOFError("Ran out of input")
    from ember.serialization._before_zip import Bounded, load_pickled, load_tar

    try:
        if head[257:262] == b"ustar" or head[:1] != pickle.PROTO:
            return load_tar(file, reader)
        return load_pickled(Bounded(file), reader)
    except Exception as error:
        plain = isinstance(error, (RuntimeError, pickle.UnpicklingError, MemoryError))
        if reader.safe is None or (plain and not isinstance(error, RecursionError)):
            raise
        raise RuntimeError(
            "load(): the file is truncated or not a checkpoint "
            f"({type(error).__name__}: {error})"
        ) from error


def _read_archive(file, reader: Reader, mapped: bool):
    from ember import UntypedStorage
    from ember.serialization import _storage_io
    from ember.serialization._archive import ArchiveReader

    archive = ArchiveReader(file, mapped)
    order = default_order()
    if "byteorder" in archive:
        order = bytes(archive.read("byteorder")).decode("latin1")
        if order not in ("little", "big"):
            raise RuntimeError(f"load(): unknown byte order {order!r:.40}")
    storages: dict = {}

    def stored_bytes(name: str, dtype):
        if archive.map is None and archive.is_plain(name):
            stored = UntypedStorage(archive.size(name))
            fill = partial(archive.fill, name)
            _storage_io.fill(stored, fill, order, dtype)
            return stored
        data = _storage_io.in_native_order(archive.read(name), order, dtype)
        return _storage_io.storage_from_buffer(data, archive.map is not None)

    def storage(name: str, location: str, dtype, count: int):
        # By number: a record has many names, as case does not count.
        key = archive.find(f"data/{name}")
        if key not in storages:
            if skip_data.active:
                stored = UntypedStorage(archive.size(f"data/{name}"))
            else:
                stored = stored_bytes(f"data/{name}", dtype)
            storages[key] = reader.restore(stored, location)
        return storages[key]

    return reader.unpickle(io.BytesIO(archive.read("data.pkl")), storage)


_safe_globals: dict = {}


def add_safe_globals(safe_globals: list) -> None:
    """Let restricted loading use these classes and functions.

    An entry is an object, or a pair of an object and the dotted name it has in files.

    >>> import ember, fractions
    >>> ember.serialization.add_safe_globals([fractions.Fraction])
    >>> ember.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> ember.serialization.clear_safe_globals()
    """
    for entry in safe_globals:
        obj, name = entry if isinstance(entry, tuple) else (entry, None)
        _safe_globals[name or _name_in_files(obj)] = entry


def _name_in_files(obj) -> str:
    # Ops are written as where they are called from: nn.functional.relu.
    name = obj.__reduce__() if isinstance(obj, _C.Op) else obj.__qualname__
    return f"{obj.__module__}.{name}"


def get_safe_globals() -> list:
    """What `add_safe_globals` allowed."""
    return list(_safe_globals.values())


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` allowed."""
    _safe_globals.clear()


class safe_globals:
    """`add_safe_globals` for a block."""

    def __init__(self, safe_globals: list) -> None:
        self.added = safe_globals

    def __enter__(self) -> None:
        self.before = dict(_safe_globals)
        add_safe_globals(self.added)

    def __exit__(self, *exc: Any) -> None:
        _safe_globals.clear()
        _safe_globals.update(self.before)


def _safe_names() -> dict:
    return {
        name: entry[0] if isinstance(entry, tuple) else entry
        for name, entry in _safe_globals.items()
    }


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list[str]:
    """The names in a zip checkpoint that restricted loading would refuse.

    Nothing is loaded to find them.

    >>> import ember, fractions
    >>> ember.save(fractions.Fraction(1, 2), "numbers.pt")
    >>> ember.serialization.get_unsafe_globals_in_checkpoint("numbers.pt")
    ['fractions.Fraction']
    """
    from ember.serialization._archive import ArchiveReader, is_archive, seekable
    from ember.serialization._unpickle import is_allowed, names_in

    if _is_path(f):
        with open(f, "rb") as opened:
            return get_unsafe_globals_in_checkpoint(opened)
    file = seekable(f)
    if not is_archive(file):  # as `load` looks at it: the rest of the file can't tell
        raise ValueError("Expected input to be a checkpoint returned by ember.save")
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        raise ValueError(
            "Expected input to be a checkpoint returned by ember.save but got a "
            "torchscript checkpoint"
        )
    try:
        names = names_in(bytes(archive.read("data.pkl")))
    except pickle.UnpicklingError:
        raise
    except Exception as error:
        raise pickle.UnpicklingError(
            f"load(): the pickle is damaged ({type(error).__name__}: {error})"
        ) from None
    safe = _safe_names()
    return sorted(f"{m}.{n}" for m, n in names if not is_allowed(m, n, safe))


__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
]


__getattr__ = _lazy.missing(__name__)
