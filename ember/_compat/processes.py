"""Constants and small classes of several processes: accelerate and lightning import
them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Protocol, runtime_checkable

default_pg_timeout = timedelta(minutes=30)
default_pg_nccl_timeout = timedelta(minutes=10)


@runtime_checkable
class Stateful(Protocol):
    """What can be saved and restored."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...
