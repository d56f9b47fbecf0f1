"""`save` and `load`: checkpoints in PyTorch's zip format, readable by either library.

Loading is restricted to tensors and plain containers unless asked otherwise; see
`_pickle` for what that means and `_archive` for the container.
"""

import io
import os
import pickle
import sys


def save(
    obj: object,
    f,
    pickle_module=pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object with its tensors to a path or to a binary file.

    A path gets its new content only once all of it is written.

    >>> import ember, io
    >>> buffer = io.BytesIO()
    >>> ember.save({"w": ember.ones(2)}, buffer)
    >>> ember.load(io.BytesIO(buffer.getvalue()))
    {'w': tensor([1., 1.])}
    """
    from ember._archive import replacing

    if not _use_new_zipfile_serialization:
        raise NotImplementedError("save(): only the zip format is written")
    if _is_path(f):
        root = os.path.splitext(os.path.basename(f))[0] or "archive"
        with replacing(f) as file:
            _write(obj, file, root, pickle_protocol)
    elif hasattr(f, "seekable") and f.seekable():
        _write(obj, f, "archive", pickle_protocol)
    elif hasattr(f, "write"):
        whole = io.BytesIO()
        _write(obj, whole, "archive", pickle_protocol)
        f.write(whole.getbuffer())
    else:
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' "
            f"attribute, but got {type(f).__name__}"
        )


def load(
    f,
    map_location=None,
    pickle_module=None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args,
):
    """Read what `save` (ember's or PyTorch's) wrote.

    `map_location` is a device, a dictionary from saved to wanted devices or a function
    of storage and location. `weights_only=False` runs code that the file names: use
    it for files that you trust. With `mmap` storages stay in the file until used.

    >>> import ember
    >>> ember.save(ember.arange(3), "/tmp/ember_doc.pt")
    >>> ember.load("/tmp/ember_doc.pt")
    tensor([0, 1, 2])
    """
    if mmap and not _is_path(f):
        raise ValueError(
            "f must be a file path in order to use the mmap argument, but got "
            f"{type(f).__name__}"
        )
    options = {"map_location": map_location, "mapped": bool(mmap)}
    options["safe"] = None if weights_only is False else _safe_names()
    if _is_path(f):
        with open(f, "rb") as file:
            return _read(file, pickle_load_args, **options)
    from ember._archive import seekable

    return _read(seekable(f), pickle_load_args, **options)


def _is_path(f) -> bool:
    return isinstance(f, (str, os.PathLike))


def _write(obj, file, root: str, protocol: int) -> None:
    from ember import _storage_io
    from ember._archive import ArchiveWriter
    from ember._pickle import Pickler

    text = io.BytesIO()
    pickler = Pickler(text, protocol)
    pickler.dump(obj)
    archive = ArchiveWriter(file, root)
    archive.write("data.pkl", text.getbuffer())
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", b"64")
    archive.write("byteorder", sys.byteorder.encode())
    for key, storage in pickler.storages.items():
        archive.write(f"data/{key}", _storage_io.storage_view(storage))
    archive.write("version", b"3\n")
    archive.close()


def _read(file, pickle_args: dict, map_location, mapped: bool, safe: dict | None):
    from ember._archive import ArchiveReader, is_archive
    from ember._pickle import SafeUnpickler, Unpickler

    if not is_archive(file):
        if not file.read(1):
            raise EOFError("Ran out of input")
        raise RuntimeError(
            "load(): the file is not a checkpoint in the zip format (files that torch "
            "wrote before version 1.6 have to be saved again with a newer torch)"
        )
    archive = ArchiveReader(file, mapped)
    order = "little"
    if "byteorder" in archive:
        order = bytes(archive.read("byteorder")).decode()
    storages: dict = {}

    def storage(key: str, location: str, dtype):
        if key not in storages:
            storages[key] = _load_storage(
                archive, key, location, dtype, order, map_location
            )
        return storages[key]

    text = io.BytesIO(archive.read("data.pkl"))
    pickle_args.setdefault("encoding", "utf-8")
    kind = Unpickler if safe is None else SafeUnpickler
    try:
        return kind(text, storage, safe, **pickle_args).load()
    except (RuntimeError, pickle.UnpicklingError, ImportError):
        raise
    except Exception as error:
        if safe is None:
            raise  # it may come from the user's own classes
        raise pickle.UnpicklingError(
            f"load(): data.pkl is damaged ({type(error).__name__}: {error})"
        ) from error


def _load_storage(archive, key, location, dtype, order, map_location):
    from ember import _storage_io

    data = archive.read(f"data/{key}")
    if order != sys.byteorder and dtype is not None and dtype.itemsize > 1:
        import numpy as np

        width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        data = np.frombuffer(data, f"u{width}").byteswap().tobytes()
    stored = _storage_io.storage_from_buffer(data, archive.map is not None)
    target = location
    if callable(map_location):
        moved = map_location(stored, location)
        if moved is not None:
            return moved
    elif isinstance(map_location, dict):
        target = map_location.get(location, location)
    elif map_location is not None:
        target = map_location
    try:
        return _storage_io.storage_to(stored, str(target))
    except (RuntimeError, AssertionError) as error:
        raise RuntimeError(
            f"load(): the checkpoint has tensors on device '{target}', which is not "
            "available here; use map_location='cpu' to load them on the CPU "
            f"({error})"
        ) from None


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
        _safe_globals[name or f"{obj.__module__}.{obj.__qualname__}"] = entry


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

    def __exit__(self, *exc) -> None:
        _safe_globals.clear()
        _safe_globals.update(self.before)


def _safe_names() -> dict:
    return {
        name: entry[0] if isinstance(entry, tuple) else entry
        for name, entry in _safe_globals.items()
    }


def register_package(priority: int, tagger, deserializer) -> None:
    """PyTorch's hook for further devices; ember's devices need none."""


__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]
