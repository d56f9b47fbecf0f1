"""Samplers: the order in which a dataset is read. Orders are PyTorch's for the same
seeds.
"""

from collections.abc import Iterator, Sequence, Sized
from itertools import chain, islice, repeat
from typing import Any, Generic, TypeVar

import ember
from ember._types import RNG

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base of samplers: an iterable over indices, or over lists of them.

    >>> class EverySecond(Sampler):
    ...     def __init__(self, n):
    ...         self.n = n
    ...     def __iter__(self):
    ...         return iter(range(0, self.n, 2))
    >>> data = TensorDataset(ember.arange(6))
    >>> [x.tolist() for (x,) in DataLoader(data, 2, sampler=EverySecond(6))]
    [[0, 2], [4]]
    """

    def __init__(self, data_source: Any = None) -> None:
        """PyTorch once wanted the dataset here; it is not used."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ...

    >>> import ember
    >>> list(ember.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All indices in random order; with replacement, independent draws.

    >>> import ember
    >>> sorted(ember.utils.data.RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: RNG | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got {replacement=}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples < 0:
            raise ValueError(
                "num_samples should be a non-negative integer value, but got "
                f"num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many indices an iteration gives."""
        if self._num_samples is None:
            return len(self.data_source)
        return self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, count = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = ember.Generator()
            generator.manual_seed(draw_seed())
        if self.replacement:
            # One chunk at a time: endless loaders ask for 10**10 indices.
            for length in chain(repeat(32, count // 32), [count % 32]):
                draws = ember.randint(size, (length,), generator=generator)
                yield from draws.tolist()
            return
        for _ in range(count // size if size else 0):
            yield from ember.randperm(size, generator=generator).tolist()
        # Drawn even if nothing of it is used, as in PyTorch.
        rest = ember.randperm(size, generator=generator).tolist()
        yield from rest[: count % size if size else 0]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    Args:
        indices: what to shuffle
        generator: where random numbers come from

    >>> sorted(SubsetRandomSampler([2, 5, 7]))
    [2, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: RNG | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        order = ember.randperm(len(self.indices), generator=self.generator)
        for i in order.tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given weights.

    Rare classes are seen as often as others with weights of one over their frequency.

    Args:
        weights: of the indices, positive; they need not sum to 1
        num_samples: how many to draw
        replacement: an index may be drawn again
        generator: where random numbers come from

    >>> list(WeightedRandomSampler([0.0, 1.0, 0.0], 4))
    [1, 1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: RNG | None = None,
    ) -> None:
        whole = isinstance(num_samples, int) and not isinstance(num_samples, bool)
        if not whole or num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, but got "
                f"{num_samples=}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got {replacement=}"
            )
        values = ember.as_tensor(weights, dtype=ember.double)
        if values.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(values.shape)}"
            )
        self.weights = values
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = ember.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler.

    >>> import ember
    >>> list(ember.utils.data.BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        whole = isinstance(batch_size, int) and not isinstance(batch_size, bool)
        if not whole or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got {batch_size=}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(
                f"drop_last should be a boolean value, but got {drop_last=}"
            )
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        extra = 0 if self.drop_last else self.batch_size - 1
        return (len(self.sampler) + extra) // self.batch_size


def draw_seed(generator: RNG | None = None) -> int:
    """A seed for another generator, drawn as PyTorch draws it."""
    seed = ember.empty((), dtype=ember.int64).random_(generator=generator)
    return int(seed)
