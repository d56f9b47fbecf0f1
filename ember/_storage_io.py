"""The little that checkpoints need from tensors' storages, in one place.

Everything here is a thin call of the core; `_pickle` and `serialization` know storages
only through these functions.
"""

import ember
from ember import _C


def storage_of(tensor: "ember.Tensor"):
    """The storage of a tensor, which views of one another share."""
    return tensor.untyped_storage()


def storage_key(storage) -> tuple:
    """Equal for two storage objects of the same memory."""
    address = storage.data_ptr()
    return (str(storage.device), address) if address else ("empty", id(storage))


def location_of(storage) -> str:
    """The device as checkpoints name it."""
    return str(storage.device)


def storage_view(storage) -> memoryview:
    """The bytes of a storage, without a copy if it is on the CPU."""
    size = storage.nbytes()
    if not size or storage.device.type == "meta":
        return memoryview(b"")
    flat = _C._tensor_from_storage(storage, ember.uint8, 0, (size,), (1,))
    return memoryview(flat.cpu().numpy())


def storage_from_buffer(data, share: bool = False):
    """A CPU storage holding `data`; with `share`, over its memory where possible."""
    if share and hasattr(_C, "_storage_from_buffer"):
        return _C._storage_from_buffer(data)
    return _C._storage_from_bytes(data)


def storage_to(storage, device: str):
    """The storage on another device."""
    if ember.device(device) == storage.device:
        return storage
    size = storage.nbytes()
    flat = _C._tensor_from_storage(storage, ember.uint8, 0, (size,), (1,))
    return flat.to(device).untyped_storage()


def tensor_over(storage, dtype, offset: int, size: tuple, stride: tuple):
    """A tensor over a storage, after checking that it stays inside."""
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    items = storage.nbytes() // dtype.itemsize
    inside = offset >= 0 and all(n >= 0 for n in size) and all(s >= 0 for s in stride)
    if len(size) != len(stride) or not inside or (0 not in size and last >= items):
        raise RuntimeError(
            f"a tensor of size {tuple(size)}, stride {tuple(stride)} and offset "
            f"{offset} does not fit in a storage of {items} elements"
        )
    return _C._tensor_from_storage(storage, dtype, offset, tuple(size), tuple(stride))
