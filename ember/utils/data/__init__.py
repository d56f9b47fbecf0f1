"""Datasets, samplers and the DataLoader."""

from typing import TYPE_CHECKING, Any

from ember import _lazy
from ember.utils.data._collate import (
    default_collate as default_collate,
    default_convert as default_convert,
)
from ember.utils.data._fetch import _DatasetKind
from ember.utils.data._info import get_worker_info as get_worker_info
from ember.utils.data.dataloader import DataLoader as DataLoader
from ember.utils.data.dataset import (
    ChainDataset as ChainDataset,
    ConcatDataset as ConcatDataset,
    Dataset as Dataset,
    IterableDataset as IterableDataset,
    StackDataset as StackDataset,
    Subset as Subset,
    TensorDataset as TensorDataset,
    random_split as random_split,
)
from ember.utils.data.distributed import DistributedSampler as DistributedSampler
from ember.utils.data.sampler import (
    BatchSampler as BatchSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
    SubsetRandomSampler as SubsetRandomSampler,
    WeightedRandomSampler as WeightedRandomSampler,
)

_PIPES = (
    "DFIterDataPipe",
    "DataChunk",
    "IterDataPipe",
    "MapDataPipe",
    "argument_validation",
    "functional_datapipe",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "runtime_validation",
    "runtime_validation_disabled",
)


if not TYPE_CHECKING:  # a checker reports what is not here

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _PIPES or name == "datapipes":
            pipes = import_module("ember.utils.data.datapipes")
            return pipes if name == "datapipes" else getattr(pipes, name)
        return _lazy.missing(__name__)(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PIPES, "datapipes"})
