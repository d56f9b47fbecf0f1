"""Training of models of which each rank has a part: `fully_shard` (FSDP2).

The class that came before it, `FullyShardedDataParallel`, is known by name only.
"""

from __future__ import annotations

from ember import _lazy, _unavailable
from ember.distributed.fsdp._fully_shard import (
    FSDPModule as FSDPModule,
    UnshardHandle as UnshardHandle,
    fully_shard as fully_shard,
    register_fsdp_forward_method as register_fsdp_forward_method,
    share_comm_ctx as share_comm_ctx,
)
from ember.distributed.fsdp.api import *
from ember.nn import Module as Module, Parameter as Parameter

_REASON = "fully_shard does this"
FullyShardedDataParallel = _unavailable.kind(
    "distributed.fsdp.FullyShardedDataParallel", _REASON, Module
)
FlatParameter = _unavailable.kind("distributed.fsdp.FlatParameter", _REASON, Parameter)
__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]
_unavailable.fill(
    globals(),
    "distributed.fsdp",
    "ember.distributed does not have this yet",
    "DataParallelMeshDims",
)
__getattr__ = _lazy.missing(__name__)
