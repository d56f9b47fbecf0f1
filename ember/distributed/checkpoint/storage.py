"""Where checkpoints lie: the interfaces of writers and readers."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from ember.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from ember.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    SavePlan,
    SavePlanner,
)
from ember.futures import Future


@dataclass(frozen=True)
class WriteResult:
    """An item that was written, and where."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(ABC):
    """Writes plans. In the order of calls: `reset`; on each rank
    `set_up_storage_writer` and `prepare_local_plan`, on the coordinator
    `prepare_global_plan`, on each rank `write_data`, on the coordinator `finish`."""

    @abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """A new checkpoint begins."""

    @abstractmethod
    def set_up_storage_writer(
        self, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Whether this rank is the coordinator."""

    @abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """The plan of this rank, with what the writer has to say to it."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """The same for the plans of all."""

    @abstractmethod
    def write_data(
        self, plan: SavePlan, planner: SavePlanner
    ) -> Future[list[WriteResult]]:
        """Write the items of a plan, whose data the planner has."""

    @abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """All was written: the checkpoint becomes valid."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether this kind of writer can write there."""
        return False

    def storage_meta(self) -> StorageMeta | None:
        """Which checkpoint it is."""
        return None


class StorageReader(ABC):
    """Reads plans; called in the order of `StorageWriter`."""

    @abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Another checkpoint is to be read."""

    @abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What there is."""

    @abstractmethod
    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """What there is, and whether this rank is the coordinator."""

    @abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan of this rank, with what the reader has to say to it."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The same for the plans of all."""

    @abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read the items of a plan and give them to the planner."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether this kind of reader can read there."""
        return False
