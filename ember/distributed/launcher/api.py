"""Several processes from Python: what `ember.distributed.run` does, as functions."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ember.distributed.elastic._workers import Std

DEFAULT_PORT = 29400


@dataclass
class LaunchConfig:
    """How many workers run where, and what happens when one fails."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    run_id: str = ""
    role: str = "default"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_dir: str | None = None
    redirects: Std | dict[int, Std] = Std.NONE
    tee: Std | dict[int, Std] = Std.NONE
    local_ranks_filter: set[int] | None = None
    node_rank: int | None = None
    local_addr: str | None = None
    virtual_local_rank: bool = False
    signals_to_handle: Sequence[str] = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")

    def __post_init__(self) -> None:
        if not 1 <= self.min_nodes <= self.max_nodes:
            raise ValueError(
                f"LaunchConfig(): {self.min_nodes} to {self.max_nodes} hosts"
            )
        if self.nproc_per_node < 1:
            raise ValueError(
                f"LaunchConfig(): nproc_per_node must be positive, got "
                f"{self.nproc_per_node}"
            )
        if self.max_restarts < 0:
            raise ValueError(
                f"LaunchConfig(): max_restarts must not be negative, got "
                f"{self.max_restarts}"
            )
        if self.rdzv_backend not in ("c10d", "static"):
            raise ValueError(
                f"LaunchConfig(): rdzv_backend {self.rdzv_backend!r}; c10d and static "
                "are there"
            )
        self.run_id = self.run_id or uuid.uuid4().hex[:12]
        rank = self.rdzv_configs.get("rank")
        if self.rdzv_backend == "static" and self.node_rank is None:
            self.node_rank = int(rank) if rank is not None else 0

    @property
    def join_timeout(self) -> float:
        """Seconds to wait for enough hosts."""
        configured = self.rdzv_configs.get("join_timeout") or self.rdzv_configs.get(
            "timeout"
        )
        return float(
            configured or (self.rdzv_timeout if self.rdzv_timeout > 0 else 600)
        )

    @property
    def last_call_timeout(self) -> float:
        """Seconds to wait for more hosts once there are enough."""
        return float(self.rdzv_configs.get("last_call_timeout", 5))

    def endpoint(self) -> tuple[str, int]:
        """Where the store is: host and port; port 0 is any."""
        if not self.rdzv_endpoint:
            if self.max_nodes > 1:
                raise ValueError(
                    "several hosts need --rdzv-endpoint HOST[:PORT] or --master-addr"
                )
            return "127.0.0.1", 0
        host, _, port = self.rdzv_endpoint.rpartition(":")
        if not host:
            host, port = port, ""
        default = 0 if self.max_nodes == 1 else DEFAULT_PORT
        return host.strip("[]"), int(port) if port else default


class elastic_launch:
    """Calls a function, or runs a command, in several processes.

    Every process has the environment of a worker (RANK, WORLD_SIZE, ...). The result
    has what each worker of this host returned, by rank.

    >>> config = LaunchConfig(1, 1, nproc_per_node=2)  # doctest: +SKIP
    >>> elastic_launch(config, train)("arguments")  # doctest: +SKIP
    """

    def __init__(
        self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None
    ) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(
    config: LaunchConfig,
    entrypoint: Callable[..., Any] | str | None,
    args: list[Any],
) -> dict[int, Any]:
    """Run the agent of this host until all is done."""
    from ember.distributed.elastic._agent import Agent

    if entrypoint is None:
        raise ValueError("launch_agent(): there is nothing to run")
    if callable(entrypoint):
        return Agent(config, entrypoint, tuple(args)).run()
    return Agent(config, [entrypoint, *map(str, args)], ()).run()
