"""Classes of a DataLoader's iterators, for `isinstance`: lightning and monai name
them."""

from __future__ import annotations


class _BaseDataLoaderIter:
    """What a DataLoader's iterator is."""


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """The iterator of a DataLoader without workers."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """The iterator of a DataLoader with workers."""
