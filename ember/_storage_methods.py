"""Methods of UntypedStorage that few programs need: files, buffers, conversions.

`_tensor` puts them on the type; this module is imported when one is called.
"""

import mmap
import os
import stat
import sys
import weakref
from typing import Any

import ember
from ember import _C
from ember._C import UntypedStorage
from ember.serialization import _storage_io

# Conversions by their names, for both kinds of storages.
DTYPES = {
    "bfloat16": _C.bfloat16,
    "bool": _C.bool,
    "byte": _C.uint8,
    "char": _C.int8,
    "complex_double": _C.complex128,
    "complex_float": _C.complex64,
    "double": _C.float64,
    "float": _C.float32,
    "float8_e4m3fn": _C.float8_e4m3fn,
    "float8_e4m3fnuz": _C.float8_e4m3fnuz,
    "float8_e5m2": _C.float8_e5m2,
    "float8_e5m2fnuz": _C.float8_e5m2fnuz,
    "half": _C.float16,
    "int": _C.int32,
    "long": _C.int64,
    "short": _C.int16,
}

# --- files ----------------------------------------------------------------------------


class Mapping(mmap.mmap):
    """Memory that is a file's, and the name of the file."""

    filename: str


# By address. A storage keeps its mapping alive, so an entry is never of another one.
_mappings: "weakref.WeakValueDictionary[int, Mapping]" = weakref.WeakValueDictionary()


def map_file(path: str | os.PathLike, shared: bool, nbytes: int) -> UntypedStorage:
    """The first bytes of a file as a storage; if `shared`, writes reach the file."""
    path = os.fspath(path)
    if not 0 <= nbytes < 1 << 62:
        raise RuntimeError(f"unable to mmap {nbytes} bytes from file <{path!s}>")
    if nbytes == 0:
        return UntypedStorage(0)
    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{path!s}> in {mode} mode: {error.strerror}"
        ) from None
    try:
        _provide(descriptor, path, shared, nbytes)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        mapping = Mapping(descriptor, nbytes, access=access)
    except (OSError, OverflowError) as error:
        raise RuntimeError(
            f"unable to mmap {nbytes} bytes from file <{path!s}>: {error}"
        ) from None
    finally:
        os.close(descriptor)
    storage = _C._storage_from_buffer(mapping)
    if shared:
        mapping.filename = path
        _mappings[storage.data_ptr()] = mapping
    return storage


def _provide(descriptor: int, path, shared: bool, nbytes: int) -> None:
    """See that so many bytes are in the file: touching others would end the process."""
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        raise RuntimeError(f"unable to mmap <{path!s}>, which is not an ordinary file")
    if about.st_size >= nbytes:
        return
    if not shared:
        raise RuntimeError(
            f"file <{path!s}> size <{about.st_size}> is smaller than the required "
            f"mapping size <{nbytes}> bytes"
        )
    try:
        os.ftruncate(descriptor, nbytes)
    except OSError as error:
        raise RuntimeError(
            f"unable to resize file <{path!s}> to {nbytes} bytes: {error.strerror}"
        ) from None


def from_file(filename, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
    """`nbytes` bytes of a file as a storage; with `shared`, writes reach the file.

    >>> import ember, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "bytes")
    >>> storage = ember.UntypedStorage.from_file(path, shared=True, nbytes=3)
    >>> _ = storage.fill_(7)
    >>> open(path, "rb").read()
    b'\\x07\\x07\\x07'
    """
    return map_file(filename, shared, nbytes)


def filename(self: UntypedStorage) -> str | None:
    """The file that writes go to, or None."""
    mapping = _mappings.get(self.data_ptr())
    return None if mapping is None else mapping.filename


# --- buffers --------------------------------------------------------------------------


def from_buffer(
    buffer,
    byte_order: str | None = None,
    count: int = -1,
    offset: int = 0,
    *,
    dtype: "ember.dtype | None" = None,
) -> UntypedStorage:
    """A copy of a buffer's elements, turned to this machine's byte order.

    >>> import ember
    >>> data = bytes([0, 1, 0, 2])
    >>> storage = ember.UntypedStorage.from_buffer(data, "big", dtype=ember.int16)
    >>> storage.tolist()
    [1, 0, 2, 0]
    """
    if dtype is None:
        raise RuntimeError("argument 'dtype' cannot be None")
    if byte_order is None:
        if dtype not in (_C.uint8, _C.int8):
            raise RuntimeError(
                "function missing required argument 'byte_order' (pos 2)"
            )
        byte_order = "native"
    if byte_order not in ("big", "little", "native"):
        raise ValueError(
            f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
        )
    data = memoryview(buffer).cast("B")
    if not 0 <= offset <= len(data):
        raise ValueError(
            "offset must be non-negative and no greater than buffer length "
            f"({len(data)}), but got {offset}"
        )
    data = data[offset:]
    if count < 0:
        if len(data) % dtype.itemsize:
            raise ValueError(
                f"buffer size ({len(data)}) must be a multiple of element size "
                f"({dtype.itemsize})"
            )
    elif count * dtype.itemsize > len(data):
        raise ValueError(
            f"buffer has only {len(data)} bytes after offset {offset}, but {count} "
            f"elements of {dtype} take {count * dtype.itemsize}"
        )
    else:
        data = data[: count * dtype.itemsize]
    order = sys.byteorder if byte_order == "native" else byte_order
    storage = _C._storage_from_bytes(_storage_io.in_native_order(data, order, dtype))
    if dtype == _C.bool and len(storage):
        tensor_of(storage, _C.uint8).ne_(0)
    return storage


def byteswap(self: UntypedStorage, dtype) -> None:
    """Reverse the bytes of each element of `dtype`, in place.

    >>> import ember
    >>> storage = ember.UntypedStorage([1, 2, 3, 4])
    >>> storage.byteswap(ember.int16)
    >>> storage.tolist()
    [2, 1, 4, 3]
    """
    if self.nbytes() % dtype.itemsize:
        raise RuntimeError(f"the length of data is not a multiple of {dtype.itemsize}")
    other = "little" if sys.byteorder == "big" else "big"
    data = _storage_io.in_native_order(_storage_io.storage_view(self), other, dtype)
    self.copy_(_C._storage_from_bytes(data))


# --- conversions ----------------------------------------------------------------------


def tensor_of(storage, dtype) -> "ember.Tensor":
    """All elements of a storage as a tensor over it."""
    size = (storage.nbytes() // dtype.itemsize,)
    return _C._tensor_from_storage(storage, dtype, 0, size, (1,))


def converted(storage, dtype, to):
    """The elements of a storage in another dtype, as a typed storage."""
    elements = tensor_of(storage, dtype).to(to)
    if elements.untyped_storage() is storage:
        elements = elements.clone()
    return _storage_io.typed(elements.untyped_storage(), to)


def _conversion(name: str):
    def convert(self: UntypedStorage):
        return converted(self, _C.uint8, DTYPES[name])

    return convert


globals().update({f"to_{name}": _conversion(name) for name in DTYPES})


def to(self: UntypedStorage, *, device, non_blocking: bool = False) -> UntypedStorage:
    """The storage on a device; itself if it is there.

    >>> import ember
    >>> storage = ember.UntypedStorage(2)
    >>> storage.to(device="cpu") is storage
    True
    """
    return _storage_io.storage_to(self, str(_C.device(device)))


def type_of(self: UntypedStorage, dtype=None, non_blocking: bool = False):
    """The name of the type; or, given one, the storage as that type."""
    if dtype is None:
        return "torch.storage.UntypedStorage"
    wanted = named(dtype)
    if wanted is UntypedStorage:
        return self
    return converted(self, _C.uint8, wanted.dtype)


def named(kind) -> Any:
    """The class of storages by itself or by its name."""
    if isinstance(kind, type):
        return kind
    found = getattr(ember, str(kind).rpartition(".")[2], None)
    if not isinstance(found, type) or not str(kind).endswith("Storage"):
        raise RuntimeError(f"type(): {kind!r} is no type of storages")
    return found


# --- the rest -------------------------------------------------------------------------


def new(self: UntypedStorage) -> UntypedStorage:
    """An empty storage on the same device."""
    return UntypedStorage(0, device=self.device)


def get_device(self: UntypedStorage) -> int | None:
    """The number of the device; None on the CPU."""
    return self.device.index


def is_pinned(self: UntypedStorage, device="cuda") -> bool:
    """Whether a device can read the memory by itself: no."""
    return False


def pin_memory(self: UntypedStorage, device="cuda") -> UntypedStorage:
    """The storage itself: memory is not pinned, as for tensors."""
    return self


def cuda(self: UntypedStorage, device=None, non_blocking: bool = False):
    """Not available: ember's accelerators are OpenCL devices."""
    raise AssertionError(
        "ember is not compiled with CUDA enabled: storages move with their tensors"
    )


def swap_data(self: UntypedStorage, other: UntypedStorage) -> None:
    """Exchange the bytes of two storages, of one size or one of them empty.

    >>> import ember
    >>> a, b = ember.zeros(1), ember.ones(1)
    >>> a.untyped_storage()._swap_data_ptr_(b.untyped_storage())
    >>> a, b
    (tensor([1.]), tensor([0.]))
    """
    mine, theirs = self.nbytes(), other.nbytes()
    if self.device != other.device or (mine != theirs and mine and theirs):
        raise RuntimeError(
            "_swap_data_ptr_(): expected storages of the same nbytes on one device, or "
            f"an empty one, got {mine} bytes on {self.device} and {theirs} bytes on "
            f"{other.device}"
        )
    kept = self.clone()
    if mine != theirs:
        self.resize_(theirs)
    if theirs:
        self.copy_(other)
    if mine != theirs:
        other.resize_(mine)
    if mine:
        other.copy_(kept)
