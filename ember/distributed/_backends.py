"""Ways to communicate by name: those of this package, and those of programs.

>>> import ember.distributed as dist
>>> class Alone(dist.ProcessGroup):
...     def allreduce(self, tensors, opts=None):
...         return dist.Work(result=tensors)
>>> def make(store, rank, size, timeout):
...     return Alone(rank, size)
>>> dist.Backend.register_backend("alone", make)
>>> dist.init_process_group("alone", store=dist.HashStore(), rank=0, world_size=1)
>>> dist.get_backend()
'alone'
>>> dist.destroy_process_group()
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, NamedTuple

import ember
from ember import Tensor
from ember.distributed._group import ProcessGroup
from ember.distributed._options import Backend
from ember.distributed._stores import Store
from ember.distributed._work import Work


class _BackendPlugin(NamedTuple):
    creator_fn: Callable[..., Any]
    extended_api: bool


def register_backend(
    name: str,
    func: Callable[..., Any],
    extended_api: bool = False,
    devices: str | list[str] | None = None,
) -> None:
    """Let `init_process_group(name)` make its group by `func(store, rank, size,
    timeout)`, or, with `extended_api`, `func(options, pg_options)`."""
    if name != Backend.UCC and hasattr(Backend, name.upper()):
        known = Backend._plugins.get(name.upper())
        if known is None:
            raise RuntimeError(f"{name.upper()} c10d backend already exist")
    lower = name.lower()
    setattr(Backend, name.upper(), lower)
    if lower not in Backend.backend_list:
        Backend.backend_list.append(lower)
    chosen = [devices] if isinstance(devices, str) else devices or ["cpu"]
    for device in chosen:
        Backend.default_device_backend_map.setdefault(device, lower)
    Backend.backend_capability[lower] = list(chosen)
    Backend._plugins[name.upper()] = _BackendPlugin(func, extended_api)


def make(
    name: str,
    store: Store,
    rank: int,
    size: int,
    timeout: timedelta,
    options: Any = None,
    ranks: Sequence[int] = (),
) -> Any:
    """The group that a program's own backend makes."""
    plugin = Backend._plugins[name.upper()]
    if plugin.extended_api:
        what = SimpleNamespace(
            store=store,
            group_rank=rank,
            group_size=size,
            timeout=timeout,
            group_id=name,
            global_ranks_in_group=list(ranks),
        )
        made = plugin.creator_fn(what, options)
    else:
        made = plugin.creator_fn(store, rank, size, timeout)
    if not isinstance(made, ProcessGroup):
        raise TypeError(
            f"backend {name} must make a ProcessGroup, not {type(made).__name__}"
        )
    made._store, made._timeout = store, timeout
    made._rank, made._size = rank, size
    return made


class FakeProcessGroup(ProcessGroup):
    """A group of any size in one process: collectives end at once and leave what the
    others would send out. It serves to build and look at the part of one rank."""

    @classmethod
    def _create_internal(cls, rank: int, size: int, options: Any = None) -> Any:
        return cls(rank, size)

    def name(self) -> str:
        return "fake"

    def _start(
        self,
        what: str,
        name: str,
        into: Sequence[Tensor],
        given: Sequence[Tensor],
        result: Any,
        **how: Any,
    ) -> Work:
        moved = ("AllGather", "Gather", "ReduceScatter", "AllToAll", "Scatter")
        if what in moved and given:
            with ember.no_grad():
                for out, value in zip(into, itertools.cycle(given)):
                    if out.numel() == value.numel() and out is not value:
                        out.detach().copy_(value.detach().reshape(out.shape))
        return Work(result=result)


class BackendConfig:
    """The backend of each kind of device."""

    def __init__(self, backend: Any) -> None:
        name = str(backend).lower()
        if name in ("undefined", ""):
            self.device_backend_map = dict(Backend.default_device_backend_map)
        elif ":" in name:
            self.device_backend_map = {}
            for pair in name.split(","):
                parts = pair.split(":")
                if len(parts) != 2:
                    raise ValueError(
                        f"The custom backend string argument is invalid: {backend}. "
                        "Custom backend string must be in format: "
                        '"{device_type1}:{backend1},{device_type2}:{backend2}". '
                        "e.g. 'cpu:gloo,cuda:nccl'"
                    )
                device, way = parts
                if device in self.device_backend_map:
                    raise ValueError(
                        f"Duplicate device type {device} in backend string: {backend}. "
                    )
                self.device_backend_map[device] = Backend(way)
        else:
            devices = Backend.backend_capability.get(name, ["cpu"])
            self.device_backend_map = {d: Backend(name) for d in devices}

    def get_device_backend_map(self) -> dict[str, str]:
        """Backends by device."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{d}:{b}" for d, b in self.device_backend_map.items())
