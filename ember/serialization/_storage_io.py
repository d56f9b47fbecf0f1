"""The little that checkpoints need from tensors' storages, in one place.

Everything here is a thin call of the core; `serialization` and the pickling below it
know storages only through these functions.
"""

import array
import math
import sys
from collections.abc import Sequence
from typing import Any

import ember
from ember import _C

# dtype -> the class of its storage in checkpoints. Other dtypes are written untyped.
CLASS_NAMES = {
    ember.float32: "FloatStorage",
    ember.float64: "DoubleStorage",
    ember.float16: "HalfStorage",
    ember.bfloat16: "BFloat16Storage",
    ember.int64: "LongStorage",
    ember.int32: "IntStorage",
    ember.int16: "ShortStorage",
    ember.int8: "CharStorage",
    ember.uint8: "ByteStorage",
    ember.bool: "BoolStorage",
    ember.complex64: "ComplexFloatStorage",
    ember.complex128: "ComplexDoubleStorage",
}


def storage_of(tensor: "ember.Tensor"):
    """The storage of a tensor, which views of one another share."""
    return tensor.untyped_storage()


def storage_key(storage) -> tuple:
    """Equal for two storage objects of the same memory."""
    address = storage.data_ptr()
    return (str(storage.device), address) if address else ("empty", id(storage))


def storage_view(storage) -> memoryview:
    """The bytes of a storage, without a copy if it is on the CPU."""
    size = storage.nbytes()
    if not size or storage.device.type == "meta":
        return memoryview(b"")
    flat = _C._tensor_from_storage(storage, ember.uint8, 0, (size,), (1,))
    return memoryview(flat.cpu())


def storage_from_buffer(data, share: bool = False):
    """A CPU storage holding `data`; with `share`, over its memory where possible."""
    if share:
        return _C._storage_from_buffer(data)
    return _C._storage_from_bytes(data)


def storage_to(storage, device: str):
    """The storage on another device."""
    if ember.device(device) == storage.device:
        return storage
    size = storage.nbytes()
    flat = _C._tensor_from_storage(storage, ember.uint8, 0, (size,), (1,))
    return flat.to(device).untyped_storage()


def typed(storage, dtype):
    """A storage as Python objects refer to it; without a dtype it is itself."""
    if dtype is None:
        return storage
    from ember.storage import TypedStorage

    return TypedStorage(wrap_storage=storage, dtype=dtype)


def typed_class() -> Any:
    """The class TypedStorage; the empty tuple of types if nobody can have made one."""
    # Another thread may be importing it just now.
    return getattr(sys.modules.get("ember.storage"), "TypedStorage", ())


def part_of(storage, start: int, size: int):
    """Some bytes of a CPU storage, as a storage over the same memory."""
    if not 0 <= start <= start + size <= storage.nbytes():
        raise RuntimeError(
            f"{brief(size)} bytes from {brief(start)} are not in the storage"
        )
    return _C._storage_from_buffer(memoryview(storage)[start : start + size])


def fill(storage, read_into, order: str, dtype) -> None:
    """Let `read_into` fill the bytes of a storage, which are of a byte order."""
    bytes_of = memoryview(storage)
    if not len(bytes_of):
        return
    read_into(bytes_of)
    swapped = in_native_order(bytes_of, order, dtype)
    if swapped is not bytes_of:
        bytes_of[:] = swapped


def in_native_order(data, order: str, dtype):
    """Bytes of elements, swapped if they are of the other byte order."""
    if order == sys.byteorder or dtype is None or dtype.itemsize == 1:
        return data
    width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    swapped = array.array({2: "H", 4: "I", 8: "Q"}[width])
    swapped.frombytes(data)
    swapped.byteswap()
    return swapped.tobytes()


def tensor_over(storage, dtype, offset: int, size: Sequence, stride: Sequence):
    """A tensor over a storage, after checking that it stays inside."""
    # By types first: to walk through what a file calls a size may take forever.
    for given in (size, stride):
        if not isinstance(given, (tuple, list)) or len(given) > 64:
            raise RuntimeError(f"a tensor whose size or stride is {brief(given)}")
    check_numbers((offset, *size, *stride))
    items = storage.nbytes() // dtype.itemsize
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    fits = (
        len(size) == len(stride)
        and math.prod(n for n in size if n) * dtype.itemsize < 1 << 62
        and (0 in size or last < items)
    )
    if not fits:
        raise RuntimeError(
            f"a tensor of size {tuple(size)}, stride {tuple(stride)} and offset "
            f"{offset} does not fit in a storage of {items} elements"
        )
    return _C._tensor_from_storage(storage, dtype, offset, tuple(size), tuple(stride))


def check_numbers(numbers) -> None:
    """Refuse what can be no offset, size or stride."""
    if not all(type(n) is int and 0 <= n < 1 << 60 for n in numbers):
        found = ", ".join(map(brief, numbers))
        raise RuntimeError(f"a tensor whose offset, size and stride are {found}")


def brief(value) -> str:
    """A value in an error message; of containers, which may be endless, the type."""
    if value is None or type(value) in (bool, float):
        return repr(value)
    if type(value) is int:
        return repr(value) if value.bit_length() <= 256 else "a huge number"
    if type(value) in (str, bytes):
        return repr(value[:80])
    return f"a {type(value).__name__}"
