"""Optimizers whose state lies on several processes: the names."""

from ember import _lazy, _unavailable
from ember.distributed import REASON
from ember.optim import Optimizer

for _name in (
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
):
    globals()[_name] = _unavailable.kind(
        f"distributed.optim.{_name}", REASON, Optimizer
    )
as_functional_optim = _unavailable.function(
    "distributed.optim.as_functional_optim", REASON
)
__getattr__ = _lazy.missing(__name__)
