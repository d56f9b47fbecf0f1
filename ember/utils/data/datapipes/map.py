"""Pipes that are read by index."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import ember
from ember.utils.data.datapipes.datapipe import (
    DataChunk,
    MapDataPipe,
    functional_datapipe,
)


class SequenceWrapper(MapDataPipe):
    """The start of a chain: anything with an index."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        import copy

        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class Mapper(MapDataPipe):
    """`fn` of each item."""

    def __init__(self, datapipe: MapDataPipe, fn: Callable = lambda x: x) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class Batcher(MapDataPipe):
    """Lists of `batch_size` items."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        start = index * self.batch_size
        end = min(start + self.batch_size, len(self.datapipe))
        return DataChunk([self.datapipe[i] for i in range(start, end)])

    def __len__(self) -> int:
        extra = 0 if self.drop_last else self.batch_size - 1
        return (len(self.datapipe) + extra) // self.batch_size


@functional_datapipe("shuffle")
class Shuffler(MapDataPipe):
    """The items in an order drawn when the pipe is made."""

    def __init__(self, datapipe: MapDataPipe, *, indices: Any = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else list(indices)
        self.order = ember.randperm(len(self.indices)).tolist()

    def __getitem__(self, index: int) -> Any:
        return self.datapipe[self.indices[self.order[index]]]

    def __len__(self) -> int:
        return len(self.order)


@functional_datapipe("concat")
class Concater(MapDataPipe):
    """Pipes one after another."""

    def __init__(self, *datapipes: MapDataPipe) -> None:
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        ends = list(accumulate(map(len, self.datapipes)))
        which = bisect_right(ends, index)
        if index < 0 or which == len(ends):
            raise IndexError(f"Index {index} is out of range.")
        return self.datapipes[which][index - (ends[which - 1] if which else 0)]

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(MapDataPipe):
    """Pipes side by side."""

    def __init__(self, *datapipes: MapDataPipe) -> None:
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))
