"""Classes of a DataLoader's iterators, for `isinstance`: lightning and monai name
them."""

from __future__ import annotations

import re


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
