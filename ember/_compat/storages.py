"""Private tables of PyTorch's storages: torchao and checkpoint tools read them."""

from __future__ import annotations

from ember import storage


def _dtype_to_storage_type_map() -> dict:
    """dtype -> the name of the class of its storages."""
    kinds = {n: getattr(storage, n) for n in dir(storage) if n.endswith("Storage")}
    return {k.dtype: n for n, k in kinds.items() if getattr(k, "dtype", None)}


def _storage_type_to_dtype_map() -> dict:
    """The name of a class of storages -> its dtype."""
    return {name: dtype for dtype, name in _dtype_to_storage_type_map().items()}
