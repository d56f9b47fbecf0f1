"""Training by several processes: the names, for programs that ask whether they are one
of several. `is_available()` is False and there is no process group, so that programs
and libraries take their path for one process; what needs a group says so.

>>> import ember
>>> ember.distributed.is_available() or ember.distributed.is_initialized()
False
"""

from __future__ import annotations

import os
from enum import Enum
from typing import Any, NoReturn

from ember import _lazy, _unavailable

REASON = "ember computes in one process: ember.distributed.is_available() is False"


def is_available() -> bool:
    """False: there is one process."""
    return False


def is_initialized() -> bool:
    """False: `init_process_group` has not been called, as it cannot."""
    return False


is_mpi_available = is_nccl_available = is_gloo_available = is_available
is_ucc_available = is_xccl_available = is_available


def is_backend_available(backend: str) -> bool:
    """False for every name."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether PyTorch's launcher started this process, by its variable."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """What the launcher put into LOCAL_RANK, or `fallback_rank`."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device "
        "context and want the code to run locally instead."
    )


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction has a meaning for complex numbers."""
    return str(reduceOp).rpartition(".")[2] not in (
        "MAX MIN PRODUCT BAND BOR BXOR".split()
    )


class DebugLevel(Enum):
    """How much a process group checks itself."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_debug_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """What was set."""
    return _debug_level


def set_debug_level(level: DebugLevel) -> None:
    """Kept; there is no group to check."""
    global _debug_level
    _debug_level = level


def set_debug_level_from_env() -> None:
    """The level that TORCH_DISTRIBUTED_DEBUG names."""
    set_debug_level(DebugLevel[os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF")])


class Backend(str):
    """The name of a way to communicate, in lower case."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map: dict[str, str] = {}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class RedOpType(Enum):
    """How numbers of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9


class ReduceOp:
    """How numbers of several processes become one."""

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM


reduce_op = ReduceOp


class group:
    """Process groups by name."""

    WORLD: Any = None


class GroupMember:
    """Whether this process belongs to a group."""

    WORLD: Any = None
    NON_GROUP_MEMBER = -100


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """Something went wrong in a backend."""


class DistNetworkError(DistError):
    """Something went wrong on the way."""


class DistStoreError(DistError):
    """Something went wrong in a store."""


class QueueEmptyError(DistStoreError):
    """There is nothing in the queue."""


GroupName = str


def _no_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: there is no process group."""
    raise ValueError(
        "Default process group has not been initialized, please make sure to call "
        "init_process_group. " + REASON
    )


# With no group, PyTorch raises this for all of them, too.
_NEED_A_GROUP = """
    all_gather all_gather_coalesced all_gather_into_tensor all_gather_object
    all_gather_single all_reduce all_reduce_coalesced all_to_all all_to_all_single
    barrier batch_isend_irecv breakpoint broadcast broadcast_object_list
    destroy_process_group gather gather_object get_backend get_backend_config
    get_global_rank get_group_rank get_pg_count get_process_group_ranks get_rank
    get_world_size irecv isend monitored_barrier new_group new_subgroups
    new_subgroups_by_enumeration record_comm recv recv_object_list reduce
    reduce_scatter reduce_scatter_single reduce_scatter_tensor scatter
    scatter_object_list send send_object_list shrink_group split_group
    """
globals().update(dict.fromkeys(_NEED_A_GROUP.split(), _no_group))

_unavailable.fill(
    globals(),
    "distributed",
    REASON,
    """AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BackendConfig
    BarrierOptions BroadcastOptions BuiltinCommHookType DeviceMesh GatherOptions
    GradBucket Logger P2POp ProcessGroup ProcessGroupGloo ProcessGroupMPI
    ProcessGroupNCCL ReduceOptions ReduceScatterOptions Reducer ScatterOptions Store
    FileStore HashStore PrefixStore TCPStore Work get_default_backend_for_device
    init_device_mesh init_process_group register_rendezvous_handler rendezvous""",
)
__all__ += [  # type: ignore[name-defined]  # noqa: F821 (begun by `fill`)
    *_NEED_A_GROUP.split(),
    "Backend",
    "DebugLevel",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "GroupMember",
    "GroupName",
    "QueueEmptyError",
    "ReduceOp",
    "get_debug_level",
    "get_node_local_rank",
    "group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "reduce_op",
    "set_debug_level",
    "set_debug_level_from_env",
    "supports_complex",
]
__getattr__ = _lazy.missing(__name__)
