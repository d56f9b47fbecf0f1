"""Data parallelism in one process. ember has one device of a kind, so a batch goes to
one replica: the module itself.
"""

from ember import _lazy
from ember.nn.parallel.data_parallel import (
    DataParallel,
    data_parallel,
    gather,
    parallel_apply,
    replicate,
    scatter,
)

__all__ = [
    "DataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


__getattr__ = _lazy.missing(__name__)
