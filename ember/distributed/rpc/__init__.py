"""Calls of functions in other processes: the names."""

from ember import _lazy, _unavailable
from ember.distributed import REASON as REASON

_unavailable.fill(
    globals(),
    "distributed.rpc",
    REASON,
    """AllGatherStates BackendType PyRRef RRef RemoteProfilerManager RpcAgent
    RpcBackendOptions TensorPipeAgent TensorPipeRpcBackendOptions WorkerInfo
    enable_gil_profiling get_rpc_timeout get_worker_info init_rpc method_factory
    new_method remote rpc_async rpc_sync shutdown""",
)


def is_available() -> bool:
    """False: there is one process."""
    return False


__getattr__ = _lazy.missing(__name__)
