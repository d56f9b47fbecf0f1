"""What `init_rpc` is told."""

from __future__ import annotations

from enum import Enum
from typing import Any


class BackendType(Enum):
    """Kinds of agents; all are the one on sockets."""

    TENSORPIPE = 0


class RpcBackendOptions:
    """How long calls may take, and where workers meet."""

    def __init__(self, rpc_timeout: float = 60.0, init_method: str = "env://") -> None:
        self.rpc_timeout, self.init_method = rpc_timeout, init_method


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """The same, and how many calls of others a worker runs at once."""

    def __init__(
        self,
        *,
        num_worker_threads: int = 16,
        rpc_timeout: float = 60.0,
        init_method: str = "env://",
        device_maps: dict[str, dict] | None = None,
        devices: list[Any] | None = None,
        _transports: list[str] | None = None,
        _channels: list[str] | None = None,
    ) -> None:
        super().__init__(rpc_timeout, init_method)
        self.num_worker_threads = num_worker_threads
        self.device_maps, self.devices = device_maps or {}, devices or []

    def set_device_map(self, to: str, device_map: dict) -> None:
        """Kept: tensors arrive on the device that they left, if there is one."""
        self.device_maps.setdefault(to, {}).update(device_map)

    def set_devices(self, devices: list[Any]) -> None:
        """Kept."""
        self.devices = list(devices)
