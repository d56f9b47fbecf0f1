"""Tensor parallelism: the weights of layers lie on several processes.

>>> import ember, ember.distributed as dist
>>> from ember.distributed.tensor.parallel import *
>>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
>>> mesh = dist.init_device_mesh("cpu", (1,))
>>> net = ember.nn.Sequential(ember.nn.Linear(2, 4), ember.nn.Linear(4, 2))
>>> plan = {"0": ColwiseParallel(), "1": RowwiseParallel()}
>>> parallelize_module(net, mesh, plan)(ember.ones(3, 2)).shape
torch.Size([3, 2])
>>> dist.destroy_process_group()
"""

from __future__ import annotations

from ember import _lazy
from ember.distributed.tensor.parallel._loss import loss_parallel as loss_parallel
from ember.distributed.tensor.parallel.api import (
    parallelize_module as parallelize_module,
)
from ember.distributed.tensor.parallel.style import (
    ColwiseParallel as ColwiseParallel,
    ParallelStyle as ParallelStyle,
    PrepareModuleInput as PrepareModuleInput,
    PrepareModuleInputOutput as PrepareModuleInputOutput,
    PrepareModuleOutput as PrepareModuleOutput,
    RowwiseParallel as RowwiseParallel,
    SequenceParallel as SequenceParallel,
)

__all__ = """ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput
    PrepareModuleOutput RowwiseParallel SequenceParallel loss_parallel
    parallelize_module""".split()
__getattr__ = _lazy.missing(__name__)
