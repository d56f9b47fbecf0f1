"""Data parallelism in one process. ember has one device of a kind, so a batch goes to
one replica: the module itself.
"""

from ember.nn.parallel.data_parallel import (
    DataParallel,
    data_parallel,
    gather,
    parallel_apply,
    replicate,
    scatter,
)


def __getattr__(name: str):
    if name in ("DistributedDataParallel", "DistributedDataParallelCPU"):
        from importlib import import_module

        module = import_module("ember.nn.parallel.distributed")
        return module.DistributedDataParallel
    raise AttributeError(f"module 'ember.nn.parallel' has no attribute '{name}'")


__all__ = [
    "DataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]
