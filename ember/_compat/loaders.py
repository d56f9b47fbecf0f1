"""Classes of a DataLoader's iterators, for `isinstance`: lightning and monai name
them."""

from __future__ import annotations

import re
from typing import Any

from ember import Tensor
from ember.utils._pytree import tree_map


class _BaseDataLoaderIter:
    """What a DataLoader's iterator is."""


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """The iterator of a DataLoader without workers."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """The iterator of a DataLoader with workers."""


np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or "
    "lists; found {}"
)
_worker_info = None


def generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four numbers to seed another generator with, in a worker."""
    from numpy.random import SeedSequence

    low, high = base_seed & 0xFFFFFFFF, base_seed >> 32
    return SeedSequence([worker_id, low, high, 0]).generate_state(4).tolist()


def pin_memory(data: Any, device: Any = None) -> Any:
    """Tensors in any nesting, in memory that an accelerator reads directly."""
    return tree_map(lambda x: x.pin_memory() if isinstance(x, Tensor) else x, data)
