"""`load`: into the tensors of a state dictionary, whatever number of ranks saved it."""

from __future__ import annotations

import os
from typing import Any

from ember.distributed.checkpoint._ranks import Ranks, ranks_of
from ember.distributed.checkpoint.default_planner import DefaultLoadPlanner
from ember.distributed.checkpoint.filesystem import FileSystemReader
from ember.distributed.checkpoint.planner import LoadPlanner
from ember.distributed.checkpoint.state_dict_saver import states_of
from ember.distributed.checkpoint.stateful import Stateful
from ember.distributed.checkpoint.storage import StorageReader


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Read what `state_dict` names from the folder `checkpoint_id`, or by
    `storage_reader`: tensors in place, other objects are replaced, and what is
    `Stateful` gets its state.

    All ranks of `process_group` call this; each reads what it needs.
    """
    reader = _reader(storage_reader, checkpoint_id)
    ranks = ranks_of(process_group, no_dist, "load")
    wanted = states_of(state_dict)
    _load(wanted, reader, ranks, planner or DefaultLoadPlanner())
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(wanted[key])
        else:
            state_dict[key] = wanted[key]


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """`load`, by its old name; nothing is given its state."""
    storage_reader.reset()
    _load_state_dict(
        state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner
    )


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    ranks = Ranks(ranks_of(process_group, no_dist, "load").group, coordinator_rank)
    _load(state_dict, storage_reader, ranks, planner or DefaultLoadPlanner())


def _load(
    state_dict: dict[str, Any],
    reader: StorageReader,
    ranks: Ranks,
    planner: LoadPlanner,
) -> None:
    def local_plan() -> Any:
        metadata = reader.read_metadata()
        planner.set_up_planner(state_dict, metadata, ranks.is_coordinator)
        reader.set_up_storage_reader(metadata, ranks.is_coordinator)
        return reader.prepare_local_plan(planner.create_local_plan())

    plans = ranks.everywhere("plan", local_plan)

    def global_plan() -> Any:
        return reader.prepare_global_plan(planner.create_global_plan(plans))

    plans = ranks.at_first("plan", global_plan)

    def read() -> None:
        plan = planner.finish_plan(plans[ranks.rank])
        reader.read_data(plan, planner).wait()

    ranks.everywhere("read", read)


def _reader(
    given: StorageReader | None, checkpoint_id: str | os.PathLike | None
) -> StorageReader:
    if given is not None:
        given.reset(checkpoint_id)
        return given
    if not checkpoint_id:
        raise RuntimeError(
            "`checkpoint_id` must be specified if storage_reader/storage_writer is "
            "None."
        )
    if not FileSystemReader.validate_checkpoint_id(checkpoint_id):
        raise RuntimeError(
            "Cannot detect which StorageReader or StorageWriter to use for "
            f"{checkpoint_id}: it is no folder. Please specify the storage_reader."
        )
    return FileSystemReader(checkpoint_id)
