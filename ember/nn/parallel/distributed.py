"""`DistributedDataParallel`: the name; one process computes here."""

from ember import _unavailable
from ember.distributed import REASON
from ember.nn.modules.module import Module

DistributedDataParallel = _unavailable.kind(
    "nn.parallel.DistributedDataParallel", REASON + "; train the module itself", Module
)
DistributedDataParallelCPU = DistributedDataParallel
