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
from ember.distributed._backends import (
    BackendConfig as BackendConfig,
    FakeProcessGroup as FakeProcessGroup,
)
from ember.distributed._buckets import (
    _broadcast_coalesced,
    _compute_bucket_assignment_by_size,
)
from ember.distributed._collectives import *
from ember.distributed._collectives import P2POp as P2POp, _coalescing_manager
from ember.distributed._control import _StoreCollectives
from ember.distributed._debug import (
    DebugLevel as DebugLevel,
    get_debug_level as get_debug_level,
    set_debug_level as set_debug_level,
    set_debug_level_from_env as set_debug_level_from_env,
)
from ember.distributed._errors import (
    DistBackendError as DistBackendError,
    DistError as DistError,
    DistNetworkError as DistNetworkError,
    DistStoreError as DistStoreError,
    QueueEmptyError as QueueEmptyError,
)
from ember.distributed._group import (
    ProcessGroup as ProcessGroup,
    ProcessGroupGloo as ProcessGroupGloo,
    ProcessGroupMPI as ProcessGroupMPI,
)
from ember.distributed._options import (
    AllgatherOptions as AllgatherOptions,
    AllreduceCoalescedOptions as AllreduceCoalescedOptions,
    AllreduceOptions as AllreduceOptions,
    AllToAllOptions as AllToAllOptions,
    Backend as Backend,
    BarrierOptions as BarrierOptions,
    BroadcastOptions as BroadcastOptions,
    GatherOptions as GatherOptions,
    RedOpType as RedOpType,
    ReduceOp as ReduceOp,
    ReduceOptions as ReduceOptions,
    ReduceScatterOptions as ReduceScatterOptions,
    ScatterOptions as ScatterOptions,
    _make_nccl_premul_sum,
    default_pg_timeout as default_pg_timeout,
    reduce_op as reduce_op,
    supports_complex as supports_complex,
)
from ember.distributed._reducer import (
    FIRST_BYTES as _DEFAULT_FIRST_BUCKET_BYTES,
    GradBucket as GradBucket,
    Reducer as Reducer,
)
from ember.distributed._stores import (
    FileStore as FileStore,
    HashStore as HashStore,
    PrefixStore as PrefixStore,
    Store as Store,
    TCPStore as TCPStore,
)
from ember.distributed._work import Work as Work
from ember.distributed.device_mesh import (
    DeviceMesh as DeviceMesh,
    init_device_mesh as init_device_mesh,
)
from ember.distributed.distributed_c10d import (
    GroupMember as GroupMember,
    _get_default_group,
    destroy_process_group as destroy_process_group,
    get_backend as get_backend,
    get_backend_config as get_backend_config,
    get_default_backend_for_device as get_default_backend_for_device,
    get_global_rank as get_global_rank,
    get_group_rank as get_group_rank,
    get_node_local_rank as get_node_local_rank,
    get_pg_count as get_pg_count,
    get_process_group_ranks as get_process_group_ranks,
    get_rank as get_rank,
    get_world_size as get_world_size,
    group as group,
    init_process_group as init_process_group,
    is_available as is_available,
    is_backend_available as is_backend_available,
    is_gloo_available as is_gloo_available,
    is_initialized as is_initialized,
    is_mpi_available as is_mpi_available,
    is_nccl_available as is_nccl_available,
    is_torchelastic_launched as is_torchelastic_launched,
    is_ucc_available as is_ucc_available,
    is_xccl_available as is_xccl_available,
    new_group as new_group,
    new_subgroups as new_subgroups,
    new_subgroups_by_enumeration as new_subgroups_by_enumeration,
    set_timeout as set_timeout,
    split_group as split_group,
)
from ember.distributed.rendezvous import (
    register_rendezvous_handler as register_rendezvous_handler,
    rendezvous as rendezvous,
)

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
