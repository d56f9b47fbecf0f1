"""`save` and `async_save`: plans, data, and at last what makes a checkpoint valid."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any

import ember.distributed as dist
from ember import Tensor
from ember.distributed.checkpoint import _boxes
from ember.distributed.checkpoint._ranks import Ranks, ranks_of
from ember.distributed.checkpoint.default_planner import DefaultSavePlanner
from ember.distributed.checkpoint.filesystem import FileSystemWriter
from ember.distributed.checkpoint.metadata import Metadata
from ember.distributed.checkpoint.planner import SavePlanner
from ember.distributed.checkpoint.stateful import Stateful
from ember.distributed.checkpoint.storage import StorageWriter


class AsyncCheckpointerType(Enum):
    """Who saves in the background; only a thread is supported."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """When the copy is made, and when it is saved."""

    staging_completion: Future
    upload_completion: Future


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write a state dictionary to the folder `checkpoint_id`, or by `storage_writer`.

    All ranks of `process_group` call this. What is `Stateful` is asked for its state. A
    checkpoint that is in the folder is replaced when the new one is complete.
    """
    writer = _writer(storage_writer, checkpoint_id)
    ranks = ranks_of(process_group, no_dist, "save")
    return _save(states_of(state_dict), writer, ranks, planner or DefaultSavePlanner())


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future:
    """`save` of a copy, by a thread: training may go on at once. The future has the
    metadata, or the error.

    Its communication has a group of its own, so that it does not meet that of training.
    """
    if async_checkpointer_type is not AsyncCheckpointerType.THREAD:
        raise NotImplementedError(
            "async_save(): only AsyncCheckpointerType.THREAD is supported"
        )
    writer = _writer(storage_writer, checkpoint_id)
    ranks = ranks_of(process_group, no_dist, "save")
    if ranks.size > 1:
        ranks = Ranks(_own_group(ranks.group))
    kept = states_of(state_dict)
    kept = copied(kept) if async_stager is None else async_stager.stage(kept)
    if isinstance(kept, Future):
        kept = kept.result()
    return _background().submit(
        _save, kept, writer, ranks, planner or DefaultSavePlanner()
    )


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """`save`, by its old name; nothing is asked for its state."""
    storage_writer.reset()
    ranks = ranks_of(process_group, no_dist, "save")
    ranks = Ranks(ranks.group, coordinator_rank)
    return _save(state_dict, storage_writer, ranks, planner or DefaultSavePlanner())


def _save(
    state_dict: dict[str, Any],
    writer: StorageWriter,
    ranks: Ranks,
    planner: SavePlanner,
) -> Metadata:
    made: dict[str, Metadata] = {}

    def local_plan() -> Any:
        planner.set_up_planner(state_dict, writer.storage_meta(), ranks.is_coordinator)
        writer.set_up_storage_writer(ranks.is_coordinator)
        return writer.prepare_local_plan(planner.create_local_plan())

    plans = ranks.everywhere("plan", local_plan)

    def global_plan() -> Any:
        shared, made["metadata"] = planner.create_global_plan(plans)
        return writer.prepare_global_plan(shared)

    plans = ranks.at_first("plan", global_plan)

    def write() -> Any:
        plan = planner.finish_plan(plans[ranks.rank])
        return writer.write_data(plan, planner).wait()

    results = ranks.everywhere("write", write)

    def finish() -> Metadata:
        writer.finish(made["metadata"], results)
        return made["metadata"]

    return ranks.at_first("finish", finish)


def _writer(
    given: StorageWriter | None, checkpoint_id: str | os.PathLike | None
) -> StorageWriter:
    if given is not None:
        given.reset(checkpoint_id)
        return given
    if not checkpoint_id:
        raise RuntimeError(
            "`checkpoint_id` must be specified if storage_reader/storage_writer is "
            "None."
        )
    if not FileSystemWriter.validate_checkpoint_id(checkpoint_id):
        raise RuntimeError(
            f"Cannot detect which StorageReader or StorageWriter to use for "
            f"{checkpoint_id}: it is no folder. Please specify the storage_writer."
        )
    return FileSystemWriter(checkpoint_id)


def states_of(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The dictionary with states instead of what has them."""
    return {
        key: value.state_dict() if isinstance(value, Stateful) else value
        for key, value in state_dict.items()
    }


def copied(value: Any) -> Any:
    """A copy of nested containers whose tensors lie in host memory."""
    if isinstance(value, Tensor):
        return _boxes.copy_for_later(value)
    if isinstance(value, Mapping):
        return {key: copied(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(copied(part) for part in value)
    return copy.deepcopy(value)


_lock = threading.Lock()
_threads: list[ThreadPoolExecutor] = []


def _background() -> ThreadPoolExecutor:
    """One thread, so that saves follow each other; the process ends after them."""
    with _lock:
        if not _threads:
            _threads.append(ThreadPoolExecutor(1, "checkpoint"))
        return _threads[0]


def _own_group(group: Any) -> Any:
    """Another group of the same ranks, made once."""
    if not hasattr(group, "_of_checkpoints"):
        ranks = dist.get_process_group_ranks(group)
        group._of_checkpoints = dist.new_group(ranks, use_local_synchronization=True)
    return group._of_checkpoints
