"""Tensors that lie on several processes: each has a part, or a copy, or a term.

>>> import ember, ember.distributed as dist
>>> from ember.distributed.tensor import Shard, distribute_tensor
>>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
>>> mesh = dist.init_device_mesh("cpu", (1,))
>>> x = distribute_tensor(ember.ones(4, 2), mesh, [Shard(0)])
>>> (x @ x.T).placements
(Shard(dim=0),)
>>> dist.destroy_process_group()
"""

from __future__ import annotations

from ember import _lazy
from ember.distributed.device_mesh import (
    DeviceMesh as DeviceMesh,
    init_device_mesh as init_device_mesh,
)
from ember.distributed.tensor._api import (
    DTensor as DTensor,
    distribute_tensor as distribute_tensor,
)
from ember.distributed.tensor._create import (
    distribute_module as distribute_module,
    empty as empty,
    full as full,
    ones as ones,
    rand as rand,
    randn as randn,
    zeros as zeros,
)
from ember.distributed.tensor.placement_types import (
    Partial as Partial,
    Placement as Placement,
    Replicate as Replicate,
    Shard as Shard,
)

__all__ = """DTensor DeviceMesh Partial Placement Replicate Shard distribute_module
    distribute_tensor empty full init_device_mesh ones rand randn zeros""".split()
__getattr__ = _lazy.missing(__name__)
