"""The default process group, groups made of its ranks, and who is in them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ember.distributed import _world as _mpi_world
from ember.distributed._group import ProcessGroup, ProcessGroupGloo, ProcessGroupMPI
from ember.distributed._options import Backend, default_pg_timeout
from ember.distributed._stores import PrefixStore, Store
from ember.distributed.rendezvous import rendezvous

_NONE = (
    "Default process group has not been initialized, please make sure to call "
    "init_process_group."
)


class _World:
    """What this process knows of its groups."""

    def __init__(self) -> None:
        self.default_pg: ProcessGroup | None = None
        self.backend = ""
        self.groups: list[ProcessGroup] = []
        self.made = 0
        self.starts = 0

    pg_map = property(lambda self: {g: (self.backend, g._store) for g in self.groups})
    pg_names = property(lambda self: {g: g.group_name for g in self.groups})
    pg_group_ranks = property(
        lambda self: {g: {r: i for i, r in enumerate(g._ranks)} for g in self.groups}
    )


_world = _World()


class _WORLD(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The default group."""
        return _world.default_pg

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        _world.default_pg = group


class group(metaclass=_WORLD):
    """Process groups by name: `group.WORLD`."""


class GroupMember(metaclass=_WORLD):
    """Whether this process belongs to a group."""

    NON_GROUP_MEMBER = -100


def is_available() -> bool:
    """Whether there is an MPI library, without which a group has one process."""
    return _mpi_world.is_mpi_installed()


def is_initialized() -> bool:
    """Whether `init_process_group` has been called."""
    return _world.default_pg is not None


is_gloo_available = is_mpi_available = is_available


def is_nccl_available() -> bool:
    """False: there is no CUDA."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether `init_process_group` takes this name."""
    own = backend.upper() in Backend._plugins
    return own or (backend.lower() in ("gloo", "mpi") and is_available())


def is_torchelastic_launched() -> bool:
    """Whether a launcher started this process."""
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


def _backend_name(backend: Any) -> str:
    """One name for "cpu:gloo,cuda:nccl" and the like: what the CPU uses."""
    name = str(backend or "gloo").lower()
    if ":" in name:
        name = dict(pair.split(":") for pair in name.split(",")).get("cpu", "gloo")
    if name in ("nccl", "xccl", "ucc"):
        raise RuntimeError(f"Distributed package doesn't have {name.upper()} built in")
    if name.upper() not in Backend._plugins and name not in (
        "gloo",
        "mpi",
        "fake",
        "undefined",
    ):
        raise ValueError(f"Unknown backend type {name}; gloo and mpi are there")
    return "gloo" if name == "undefined" else name


def _make(
    name: str,
    store: Store,
    rank: int,
    size: int,
    timeout: timedelta,
    options: Any = None,
    ranks: Sequence[int] = (),
) -> ProcessGroup:
    if name.upper() in Backend._plugins or name == "fake":
        from ember.distributed import _backends

        if name.upper() in Backend._plugins:
            made = _backends.make(name, store, rank, size, timeout, options, ranks)
        else:
            made = _backends.FakeProcessGroup(rank, size)
            made._store = store
    else:
        kind = ProcessGroupMPI if name == "mpi" else ProcessGroupGloo
        made = kind(store, rank, size, timeout)
    made._backend_name = name
    return made


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Meet the other processes; every one of them calls this.

    >>> import ember.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    if _world.default_pg is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    timeout = default_pg_timeout if timeout is None else timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    name = _backend_name(backend)
    if store is not None:
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    else:
        found = rendezvous(init_method or "env://", rank, world_size, timeout=timeout)
        store, rank, world_size = next(found)
        store.set_timeout(timeout)
    _world.starts += 1
    own = PrefixStore(f"default_pg/{_world.starts}", store)
    every = list(range(world_size))
    made = _make(name, own, rank, world_size, timeout, pg_options, every)
    _world.default_pg = made
    _world.backend = name
    _world.default_pg.group_desc = "default_pg"
    _world.groups = [_world.default_pg]


def destroy_process_group(group: Any = None) -> None:
    """Forget a group; the default one, and all with it, if none is named."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    if _world.default_pg is None or (group is not None and group not in _world.groups):
        raise AssertionError("Invalid process group specified")
    if group is None or group is _world.default_pg:
        _world.default_pg, _world.groups = None, []
    else:
        _world.groups.remove(group)


def _get_default_group() -> ProcessGroup:
    if _world.default_pg is None:
        raise ValueError(_NONE)
    return _world.default_pg


def _group_or_default(group: Any) -> ProcessGroup:
    return _get_default_group() if group is None else group


def _rank_not_in_group(group: Any) -> bool:
    return group is GroupMember.NON_GROUP_MEMBER


def get_rank(group: Any = None) -> int:
    """The number of this process; -1 outside of the group."""
    if _rank_not_in_group(group):
        return -1
    return _group_or_default(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many processes there are; -1 outside of the group."""
    if _rank_not_in_group(group):
        return -1
    return _group_or_default(group).size()


def get_backend(group: Any = None) -> str:
    """The name that `init_process_group` was given."""
    if _rank_not_in_group(group):
        raise ValueError("Invalid process group specified")
    chosen = _group_or_default(group)
    return getattr(chosen, "_backend_name", None) or chosen.name()


def get_backend_config(group: Any = None) -> str:
    """The backend of each device."""
    return f"cpu:{get_backend(group)}"


def get_default_backend_for_device(device: Any) -> str:
    """The backend of a device."""
    return "gloo"


def get_pg_count() -> int:
    """How many groups there are."""
    return len(_world.groups)


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks of a group, as the default group numbers them."""
    return list(_group_or_default(group)._ranks)


def get_global_rank(group: Any, group_rank: int) -> int:
    """What the default group calls a rank of `group`."""
    ranks = _group_or_default(group)._ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """What `group` calls a rank of the default group."""
    ranks = _group_or_default(group)._ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def _get_pg_default_device(group: Any = None) -> Any:
    import ember

    return ember.device("cpu")


def _get_default_store() -> Store:
    return _get_default_group()._store


def set_timeout(timeout: timedelta, group: Any = None) -> None:
    """How long collectives of a group may take from now on."""
    if not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    if _rank_not_in_group(group):
        raise ValueError("Invalid process group specified")
    _group_or_default(group).set_timeout(timeout)


def _set_pg_timeout(timeout: timedelta, group: Any = None) -> None:
    import warnings

    warnings.warn(
        "_set_pg_timeout is deprecated; use set_timeout", FutureWarning, stacklevel=2
    )
    set_timeout(timeout, group)


def _get_process_group_store(group: ProcessGroup) -> Store:
    return group._store


def _get_process_group_name(group: ProcessGroup) -> str:
    return group.group_name


def _resolve_process_group(name: str) -> ProcessGroup:
    for each in _world.groups:
        if each.group_name == name:
            return each
    raise ValueError(f"there is no process group {name!r}")


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: Any = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some ranks. All ranks call this, in the same order."""
    world = _get_default_group()
    all_ranks = list(range(world.size()))
    chosen = all_ranks if ranks is None else list(ranks)
    chosen = sorted(chosen) if sort_ranks else chosen
    if len(set(chosen)) != len(chosen):
        raise ValueError("new_group(): a rank is named twice")
    for r in chosen:
        if not 0 <= r < world.size():
            raise ValueError(
                "The new group's rank should be within the world_size set by "
                "init_process_group"
            )
    if use_local_synchronization:  # only members call: the name comes from the ranks
        digest = hashlib.sha1(repr(chosen).encode()).hexdigest()
        count = sum(1 for g in _world.groups if g._ranks == chosen)
        name = f"local/{digest}/{count}"
    else:
        _world.made += 1
        name = str(_world.made)
    if world.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    store = PrefixStore(f"group/{name}", world._store)
    made = _make(
        _backend_name(backend or _world.backend),
        store,
        chosen.index(world.rank()),
        len(chosen),
        timeout or world._timeout,
        pg_options,
        chosen,
    )
    made._ranks, made.group_desc = chosen, group_desc or "undefined"
    made.group_name = name
    _world.groups.append(made)
    return made


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: Any = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of the given ranks; this process's own, and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set[int] = set()
    for ranks in ranks_per_subgroup_list:
        for r in ranks:
            if r in seen:
                raise ValueError(f"Rank {r} has appeared in both subgroups")
            seen.add(r)
    groups = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    own = [g for g in groups if not _rank_not_in_group(g)]
    return (own[0] if own else None), groups


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: Any = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighbouring ranks."""
    size = get_world_size()
    if group_size is None or group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the "
            f"world size ({size})"
        )
    if size % group_size:
        raise ValueError(
            f"The world size ({size}) must be divisible by 'group_size={group_size}'"
        )
    lists = [list(range(at, at + group_size)) for at in range(0, size, group_size)]
    return new_subgroups_by_enumeration(lists, timeout, backend)


def split_group(
    parent_pg: Any = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> Any:
    """The part of a group in which this process is; ranks are those of the parent."""
    parent = _group_or_default(parent_pg)
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    own = None
    for ranks in split_ranks:
        made = (
            new_group(
                [parent._ranks[r] for r in ranks],
                timeout,
                use_local_synchronization=True,
            )
            if parent.rank() in ranks
            else None
        )
        own = made if made is not None else own
    return own


from ember.distributed._collectives import *  # noqa: E402, F403

_pg_map: dict[Any, Any] = {}


def __getattr__(name: str) -> Any:
    """Names that PyTorch's module has and the package defines elsewhere."""
    import ember.distributed as package

    if not name.startswith("__") and name in vars(package):
        return vars(package)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
