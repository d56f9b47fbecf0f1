"""Pipes that are read by iteration."""

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import ember
from ember.utils.data._collate import default_collate
from ember.utils.data._info import get_worker_info
from ember.utils.data.datapipes.datapipe import (
    DataChunk,
    IterDataPipe,
    functional_datapipe,
)


class IterableWrapper(IterDataPipe):
    """The start of a chain: anything that can be iterated over."""

    def __init__(self, iterable: Iterable, deepcopy: bool = True) -> None:
        self.iterable: Any = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator:
        import copy

        yield from copy.deepcopy(self.iterable) if self.deepcopy else self.iterable

    def __len__(self) -> int:
        return len(self.iterable)


class _Step(IterDataPipe):
    """A pipe over another, as long as that."""

    def __init__(self, datapipe: IterDataPipe) -> None:
        self.datapipe = datapipe

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("map")
class Mapper(_Step):
    """`fn` of each item, or of one of its fields."""

    def __init__(
        self, datapipe: Any, fn: Callable, input_col: Any = None, output_col: Any = None
    ) -> None:
        super().__init__(datapipe)
        self.fn, self.input_col, self.output_col = fn, input_col, output_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")

    def __iter__(self) -> Iterator:
        if self.input_col is None:
            yield from map(self.fn, self.datapipe)
            return
        for item in self.datapipe:
            many = isinstance(self.input_col, (list, tuple))
            values = (
                [item[c] for c in self.input_col] if many else [item[self.input_col]]
            )
            made = self.fn(*values)
            target = self.output_col
            if target is None:
                target = self.input_col[0] if many else self.input_col
            row = dict(item) if isinstance(item, dict) else list(item)
            if target == -1 and not isinstance(row, dict):
                row.append(made)
            else:
                row[target] = made
            yield tuple(row) if isinstance(item, tuple) else row


@functional_datapipe("filter")
class Filter(IterDataPipe):
    """The items for which `filter_fn` is true."""

    def __init__(
        self, datapipe: Any, filter_fn: Callable, input_col: Any = None
    ) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator:
        for item in self.datapipe:
            if self.filter_fn(item if self.input_col is None else item[self.input_col]):
                yield item


@functional_datapipe("batch")
class Batcher(_Step):
    """Lists of `batch_size` items."""

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Any = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__(datapipe)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Iterator:
        items = iter(self.datapipe)
        while batch := list(itertools.islice(items, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)

    def __len__(self) -> int:
        extra = 0 if self.drop_last else self.batch_size - 1
        return (len(self.datapipe) + extra) // self.batch_size


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe):
    """The items of batches; -1 levels means all."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator:
        for item in self.datapipe:
            yield from self._flat(item, self.unbatch_level)

    def _flat(self, item, level: int) -> Iterator:
        if level == 0 or not isinstance(item, list):
            yield item
            return
        for inner in item:
            yield from self._flat(inner, level - 1)


@functional_datapipe("collate")
class Collator(_Step):
    """`default_collate`, or another function, of each batch."""

    def __init__(self, datapipe: Any, collate_fn: Callable = default_collate) -> None:
        super().__init__(datapipe)
        self.collate_fn = collate_fn

    def __iter__(self) -> Iterator:
        return map(self.collate_fn, self.datapipe)


@functional_datapipe("shuffle")
class Shuffler(_Step):
    """Items in random order, of those in a buffer."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000) -> None:
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        super().__init__(datapipe)
        self.buffer_size = buffer_size
        self._seed: int | None = None

    def set_seed(self, seed: int) -> "Shuffler":
        """Fix the order."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator:
        seed = self._seed
        if seed is None:
            seed = int(ember.empty((), dtype=ember.int64).random_().item())
        draw = random.Random(seed)
        buffer: list = []
        for item in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(item)
                continue
            at = draw.randint(0, len(buffer) - 1)
            yield buffer[at]
            buffer[at] = item
        draw.shuffle(buffer)
        yield from buffer


@functional_datapipe("concat")
class Concater(IterDataPipe):
    """Pipes one after another."""

    def __init__(self, *datapipes: IterDataPipe) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator:
        return itertools.chain(*self.datapipes)

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(IterDataPipe):
    """Pipes side by side."""

    def __init__(self, *datapipes: IterDataPipe) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator:
        return zip(*self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


@functional_datapipe("sharding_filter")
class ShardingFilter(_Step):
    """In a worker of a DataLoader, every n-th item."""

    def __iter__(self) -> Iterator:
        info = get_worker_info()
        if info is None:
            return iter(self.datapipe)
        return itertools.islice(iter(self.datapipe), info.id, None, info.num_workers)
