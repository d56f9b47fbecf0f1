"""`DataLoader`: batches of a dataset, made here or, ahead of time, by workers
(`_workers`).
"""

import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic

import ember
from ember import _lazy
from ember._types import RNG
from ember.utils.data._collate import default_collate, default_convert
from ember.utils.data._fetch import _DatasetKind, make_fetcher
from ember.utils.data.dataset import Dataset, IterableDataset, T_co
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


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches, shuffled or not.

    With `num_workers`, that many processes make batches ahead of time, up to
    `prefetch_factor` each, and hand them over in shared memory.

    >>> import ember
    >>> data = ember.utils.data.TensorDataset(ember.arange(4))
    >>> [batch.tolist() for (batch,) in ember.utils.data.DataLoader(data, 2)]
    [[0, 1], [2, 3]]
    """

    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co] | Sequence[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[T_co]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: RNG | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self._check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.check_worker_number_rationality()
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._iterator: _MultiProcessingDataLoaderIter | None = None
        self._IterableDataset_len_called: int | None = None
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
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        _check_number(self.num_workers)

    def __setattr__(self, name: str, value: Any) -> None:
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

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started: a context of `multiprocessing`, or None."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and self.num_workers <= 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading "
                f"(num_workers > 0), but got num_workers={self.num_workers}"
            )
        if context is not None:
            import ember.multiprocessing as mp

            known = mp.get_all_start_methods()
            if isinstance(context, str):
                if context not in known:
                    raise ValueError(
                        "multiprocessing_context option should specify a valid start "
                        f"method in {known!r}, but got {context!r}"
                    )
                context = mp.get_context(context)
            elif not hasattr(context, "Process"):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object "
                    f"or a string specifying the start method, but got {context!r}"
                )
        self._context = context

    def _get_iterator(self) -> "_BaseDataLoaderIter":
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None or not self._iterator._workers:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is not None:
            extra = 0 if self.drop_last else self.batch_size - 1
            length = (length + extra) // self.batch_size
        self._IterableDataset_len_called = length
        return length


def _check_number(num_workers: int) -> None:
    """Warn about more workers than there are processors."""
    try:
        most = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        most = os.cpu_count() or 1
    if num_workers > most:
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes in total. Our "
            f"suggested max number of worker in current system is {most}, which is "
            "smaller than what this DataLoader is going to create. Please be aware "
            "that excessive worker creation might get DataLoader running slow or even "
            "freeze, lower the worker number to avoid potential slowness/freeze if "
            "necessary.",
            stacklevel=4,
        )


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


class _BaseDataLoaderIter:
    """One pass over a loader. Does not refer to it: it may belong to the loader."""

    def __init__(self, loader: DataLoader) -> None:
        self._index_sampler = loader._index_sampler
        self._kind = loader._dataset_kind
        self._pin = loader.pin_memory and _can_pin()
        if loader.pin_memory and not self._pin:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used.",
                stacklevel=4,
            )
        self._start(loader)
        # Drawn for workers' seeds also without workers, so that what the program
        # draws afterwards is what it draws in PyTorch.
        self._base_seed = draw_seed(loader.generator)

    def _start(self, loader: DataLoader) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._promised = loader._IterableDataset_len_called

    def __iter__(self) -> "_BaseDataLoaderIter":
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        batch = self._next_data()
        self._num_yielded += 1
        if self._promised is not None and self._num_yielded > self._promised:
            warnings.warn(
                f"Length of IterableDataset was reported to be {self._promised} (when "
                f"accessing len(dataloader)), but {self._num_yielded} samples have "
                "been fetched. For multiprocessing data-loading, this could be caused "
                "by workers that each read the whole stream: the dataset has to give "
                "them parts, by get_worker_info().",
                stacklevel=2,
            )
            self._promised = None
        return _pinned(batch) if self._pin else batch

    def _next_data(self):
        raise NotImplementedError


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Makes batches when they are asked for."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self._fetch = make_fetcher(
            self._kind,
            loader.dataset,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
        )

    def _next_data(self):
        return self._fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Has workers make batches ahead of time."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        from ember.utils.data._workers import Crew

        self._persistent = loader.persistent_workers
        self._crew = Crew(loader, self._base_seed)
        self._crew.begin(self._sampler_iter)

    def _reset(self, loader: DataLoader) -> None:
        self._start(loader)
        self._crew.begin(self._sampler_iter)

    @property
    def _workers(self) -> list:
        return self._crew.processes

    def _next_data(self):
        from ember.utils.data._worker import FAILED

        try:
            kind, result = self._crew.next()
        except StopIteration:
            if not self._persistent:
                self._crew.close()
            raise
        if kind == FAILED:
            result.reraise()
        return result

    def _shutdown_workers(self) -> None:
        self._crew.close()


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


__getattr__ = _lazy.missing(__name__)
