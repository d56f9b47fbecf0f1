"""Collation, with functions for types of one's own.

>>> import ember
>>> from ember.utils.data._utils.collate import default_collate_fn_map
>>> default_collate_fn_map[complex] = lambda batch, **options: ember.tensor(batch)
>>> ember.utils.data.default_collate([1 + 2j, 3j])
tensor([1.+2.j, 0.+3.j])
>>> del default_collate_fn_map[complex]
"""

import contextlib

from ember import _lazy
from ember.utils.data._collate import (
    collate,
    collate_float_fn,
    collate_int_fn,
    collate_numpy_fn,
    collate_str_fn,
    collate_tensor_fn,
    default_collate,
    default_collate_fn_map,
    default_convert,
)

__all__ = [
    "collate",
    "collate_float_fn",
    "collate_int_fn",
    "collate_numpy_array_fn",
    "collate_numpy_scalar_fn",
    "collate_str_fn",
    "collate_tensor_fn",
    "default_collate",
    "default_collate_fn_map",
    "default_convert",
]

collate_numpy_array_fn = collate_numpy_scalar_fn = collate_numpy_fn
with contextlib.suppress(ModuleNotFoundError):
    import numpy as np

    for _type in (np.ndarray, (np.bool_, np.number, np.object_)):
        default_collate_fn_map.setdefault(_type, collate_numpy_fn)


__getattr__ = _lazy.missing(__name__)
