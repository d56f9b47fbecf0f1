"""Optimizers of several processes: state in parts, parameters that are averaged."""

from ember import _lazy, _unavailable
from ember.distributed import REASON as REASON
from ember.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from ember.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer
from ember.optim import Optimizer as Optimizer

DistributedOptimizer = _unavailable.kind(
    "distributed.optim.DistributedOptimizer", REASON, Optimizer
)
as_functional_optim = _unavailable.function(
    "distributed.optim.as_functional_optim", REASON
)
__all__ = [
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
    "as_functional_optim",
]
__getattr__ = _lazy.missing(__name__)
