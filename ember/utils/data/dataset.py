"""Datasets: by index (`Dataset`) or as a stream (`IterableDataset`)."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence, Sized
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import ember
from ember import Tensor
from ember._types import RNG
from ember.utils.data import _collate

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Base of datasets that are read by index.

    >>> import ember
    >>> class Squares(ember.utils.data.Dataset):
    ...     def __getitem__(self, i):
    ...         return i * i
    ...     def __len__(self):
    ...         return 10
    >>> Squares()[3]
    9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    if TYPE_CHECKING:  # those that are sampled by index have one; the base has none

        def __len__(self) -> int: ...

    def __add__(self, other: "Dataset") -> "ConcatDataset | ChainDataset":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Base of datasets that are read as a stream, by `__iter__`.

    >>> class Squares(IterableDataset):
    ...     def __iter__(self):
    ...         return (i * i for i in range(5))
    >>> [batch.tolist() for batch in DataLoader(Squares(), batch_size=2)]
    [[0, 1], [4, 9], [16]]
    """

    def __iter__(self) -> Any:
        raise NotImplementedError(
            "Subclasses of IterableDataset should implement __iter__."
        )

    def __add__(self, other: Dataset) -> "ChainDataset":
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples are the rows of tensors of equal length.

    >>> import ember
    >>> ember.utils.data.TensorDataset(ember.arange(3), ember.ones(3))[1]
    (tensor(1), tensor(1.))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.size(0) != tensors[0].size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)

    def collated(self, indices: list[int]) -> list[Tensor]:
        """The batch of these samples, as collating them one by one would give it."""
        rows = ember.tensor(indices, dtype=ember.int64)
        return [_collate.take_rows(t, rows) for t in self.tensors]


class StackDataset(Dataset[Any]):
    """Samples of several datasets side by side, as tuples or as dictionaries.

    >>> import ember
    >>> data = ember.utils.data.StackDataset(x=[1, 2], y=[3, 4])
    >>> data[0]
    {'x': 1, 'y': 3}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via "
                "``kwargs``) like input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        parts = args or tuple(kwargs.values())
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __getitems__(self, indices: list) -> list:
        """Several samples, by one call of each dataset that can give several."""
        datasets: Any = self.datasets
        is_dict = isinstance(datasets, dict)
        parts = datasets.values() if is_dict else datasets
        columns = []
        for part in parts:
            if callable(getattr(part, "__getitems__", None)):
                items = part.__getitems__(indices)
                if len(items) != len(indices):
                    raise ValueError(
                        "Nested dataset's output size mismatch. Expected "
                        f"{len(indices)}, got {len(items)}"
                    )
            else:
                items = [part[i] for i in indices]
            columns.append(items)
        if is_dict:
            return [dict(zip(datasets, row)) for row in zip(*columns)]
        return list(zip(*columns))

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after another.

    >>> import ember
    >>> data = ember.utils.data.ConcatDataset([[1, 2], [3]])
    >>> len(data), data[2]
    (3, 3)
    """

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Sized]) -> list[int]:
        """Running sums of the lengths."""
        return list(accumulate(map(len, sequence)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError(
                    "absolute value of index should not exceed dataset length"
                )
            index += len(self)
        which = bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - start]


class ChainDataset(IterableDataset[Any]):
    """Streams one after another.

    >>> class Count(IterableDataset):
    ...     def __init__(self, n):
    ...         self.n = n
    ...     def __iter__(self):
    ...         return iter(range(self.n))
    >>> list(ChainDataset([Count(2), Count(3)]))
    [0, 1, 0, 1, 2]
    """

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Any:
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from part

    def __len__(self) -> int:
        return sum(len(part) for part in self.datasets)


class Subset(Dataset[T_co]):
    """Some samples of a dataset.

    >>> import ember
    >>> ember.utils.data.Subset("abc", [2, 0])[0]
    'c'
    """

    def __init__(
        self, dataset: Dataset[T_co] | Sequence[T_co], indices: Sequence[int]
    ) -> None:
        own = type(self)
        if (
            own.__getitem__ is not Subset.__getitem__
            and own.__getitems__ is Subset.__getitems__
        ):
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__ but not __getitems__, by which "
                "a DataLoader fetches samples: define both"
            )
        self.dataset = dataset
        self.indices = indices
        if hasattr(dataset, "collated"):
            self.collated = self._collated

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            rows: Any = [self.indices[i] for i in index]
            return self.dataset[rows]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list:
        chosen = [self.indices[i] for i in indices]
        fetch = getattr(self.dataset, "__getitems__", None)
        return fetch(chosen) if fetch else [self.dataset[i] for i in chosen]

    def _collated(self, indices: list[int]):
        dataset: Any = self.dataset
        return dataset.collated([self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T] | Sequence[T],
    lengths: Sequence[int | float],
    generator: RNG | None = None,
) -> list[Subset[T]]:
    """Split at random into parts of these lengths, or of these fractions.

    >>> import ember
    >>> a, b = ember.utils.data.random_split(range(10), [0.7, 0.3])
    >>> len(a), len(b)
    (7, 3)
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _whole_lengths(lengths, total)
    if sum(lengths) != total:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset!"
        )
    order = ember.randperm(total, generator=generator).tolist()
    ends = list(accumulate(lengths))
    return [Subset(dataset, order[end - n : end]) for end, n in zip(ends, lengths)]


def _whole_lengths(fractions: Sequence[float], total: int) -> list[int]:
    """Lengths for fractions; what rounding leaves over goes to the first ones."""
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            import warnings

            warnings.warn(
                f"Length of split at index {i} is 0. This might result in an empty "
                "dataset.",
                stacklevel=3,
            )
    return lengths
