"""Training by several processes, on MPI: stores and rendezvous, process groups and
collectives. `ember.nn.parallel.DistributedDataParallel` is built on them.

>>> import ember, ember.distributed as dist
>>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
>>> x = ember.ones(3)
>>> dist.all_reduce(x)
>>> x
tensor([1., 1., 1.])
>>> dist.destroy_process_group()

How processes find each other is in `_world.py`, a group's collectives in `_group.py`,
the functions on them in `_collectives.py`.
"""

from __future__ import annotations

from ember import _lazy, _unavailable
from ember.distributed._backends import BackendConfig, FakeProcessGroup
from ember.distributed._buckets import (
    _broadcast_coalesced,
    _compute_bucket_assignment_by_size,
)
from ember.distributed._collectives import *
from ember.distributed._collectives import P2POp, _coalescing_manager
from ember.distributed._control import _StoreCollectives
from ember.distributed._debug import (
    DebugLevel,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from ember.distributed._errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from ember.distributed._group import ProcessGroup, ProcessGroupGloo, ProcessGroupMPI
from ember.distributed._options import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    Backend,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    RedOpType,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    _make_nccl_premul_sum,
    default_pg_timeout,
    reduce_op,
    supports_complex,
)
from ember.distributed._reducer import FIRST_BYTES as _DEFAULT_FIRST_BUCKET_BYTES
from ember.distributed._reducer import GradBucket, Reducer
from ember.distributed._stores import (
    FileStore,
    HashStore,
    PrefixStore,
    Store,
    TCPStore,
)
from ember.distributed._work import Work
from ember.distributed.device_mesh import DeviceMesh, init_device_mesh
from ember.distributed.distributed_c10d import (
    GroupMember,
    _get_default_group,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    set_timeout,
    split_group,
)
from ember.distributed.rendezvous import register_rendezvous_handler, rendezvous

GroupName = str
REASON = "ember.distributed does not have this yet"

__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]
_unavailable.fill(
    globals(),
    "distributed",
    REASON,
    """BuiltinCommHookType Logger ProcessGroupNCCL
    breakpoint record_comm shrink_group""",
)
__getattr__ = _lazy.missing(__name__)
