"""`DataLoader`: batches of a dataset. Worker processes are not here yet: whatever
`num_workers` says, batches are made in the process that asks for them.
"""

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator

import ember
from ember.utils.data._collate import default_collate, default_convert
from ember.utils.data.dataset import Dataset, IterableDataset
from ember.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    draw_seed,
)


class _InfiniteConstantSampler(Sampler):
    """Stands for the order of a dataset that has its own."""

    def __iter__(self) -> Iterator:
        return itertools.repeat(None)


class _DatasetKind:
    Map = 0
    Iterable = 1


class DataLoader:
    """Iterates over a dataset in batches, shuffled or not.

    >>> import ember
    >>> data = ember.utils.data.TensorDataset(ember.arange(4))
    >>> [batch.tolist() for (batch,) in ember.utils.data.DataLoader(data, 2)]
    [[0, 1], [2, 3]]
    """

    __initialized = False

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler | Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable | None = None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self._check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.persistent_workers = persistent_workers
        streams = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if streams else _DatasetKind.Map
        if streams:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, "
                    "shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually "
                "exclusive with drop_last"
            )
        if sampler is None:
            if streams:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.__initialized = True

    @staticmethod
    def _check_workers(num_workers, timeout, prefetch_factor, persistent) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to "
                "disable multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set "
                "prefetch_factor to None."
            )
        if persistent and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if num_workers > 0:
            warnings.warn(
                f"DataLoader(): num_workers={num_workers} is not available yet; "
                "batches are made in the calling process",
                stacklevel=3,
            )

    def __setattr__(self, name: str, value) -> None:
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset")
        if self.__initialized and name in (*fixed, "persistent_workers"):
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is "
                "initialized"
            )
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> Iterator:
        return _SingleProcessDataLoaderIter(self)

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        samples = len(self.dataset)
        if self.batch_size is None:
            return samples
        extra = 0 if self.drop_last else self.batch_size - 1
        return (samples + extra) // self.batch_size


def _check_stream(shuffle, sampler, batch_sampler) -> None:
    """A dataset that is a stream has its own order."""
    if shuffle not in (False, None):
        raise ValueError(
            "DataLoader with IterableDataset: expected unspecified shuffle option, but "
            f"got shuffle={shuffle}"
        )
    if sampler is not None:
        raise ValueError(
            "DataLoader with IterableDataset: expected unspecified sampler option, but "
            f"got sampler={sampler}"
        )
    if batch_sampler is not None:
        raise ValueError(
            "DataLoader with IterableDataset: expected unspecified batch_sampler "
            f"option, but got batch_sampler={batch_sampler}"
        )


class _SingleProcessDataLoaderIter:
    """One pass over a loader."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        # Drawn for workers' seeds also without workers, so that what the program
        # draws afterwards is what it draws in PyTorch.
        self._base_seed = draw_seed(loader.generator)
        self._batches = self._run(loader)
        self._pin = loader.pin_memory and _can_pin()

    def __iter__(self) -> "_SingleProcessDataLoaderIter":
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self):
        batch = next(self._batches)
        return _pinned(batch) if self._pin else batch

    @staticmethod
    def _run(loader: DataLoader) -> Iterator:
        collate, dataset = loader.collate_fn, loader.dataset
        if loader._dataset_kind == _DatasetKind.Iterable:
            return _stream_batches(loader, iter(dataset), collate)
        if not loader._auto_collation:
            return (collate(dataset[index]) for index in loader.sampler)
        whole = getattr(dataset, "collated", None)
        if whole is not None and collate is default_collate:
            return map(whole, loader._index_sampler)
        many = getattr(dataset, "__getitems__", None)
        if many is not None:
            return (collate(many(indices)) for indices in loader._index_sampler)
        return (collate([dataset[i] for i in batch]) for batch in loader._index_sampler)


def _stream_batches(loader: DataLoader, samples: Iterator, collate) -> Iterator:
    if not loader._auto_collation or loader.batch_size is None:
        yield from map(collate, samples)
        return
    while batch := list(itertools.islice(samples, loader.batch_size)):
        if len(batch) < loader.batch_size and loader.drop_last:
            return
        yield collate(batch)


def _can_pin() -> bool:
    """Pinned memory only means something with a CUDA device."""
    return ember.cuda.is_available() if hasattr(ember, "cuda") else False


def _pinned(data):
    if isinstance(data, ember.Tensor):
        return data.pin_memory()
    if isinstance(data, dict):
        return {key: _pinned(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return type(data)(map(_pinned, data))
    return data


def get_worker_info():
    """What a worker knows about itself; None in the main process."""
    return None
