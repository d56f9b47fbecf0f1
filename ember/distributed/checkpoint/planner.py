"""Plans: what a rank writes or reads, and the interfaces of those who make them."""

from __future__ import annotations

import io
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ember import Size, Tensor
from ember.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)


class WriteItemType(Enum):
    """A whole tensor, a part of one, or another object."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """A box of a tensor, or another object."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How long an object is."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A chunk of a tensor, and the tensor."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """One thing to write."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """Bytes of the chunk; None for other objects."""
        data = self.tensor_data
        if data is None:
            return None
        return math.prod(data.chunk.sizes) * data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """One thing to read: the box at `storage_offsets` of a chunk goes to `dest_offsets`
    of what this rank has."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """All that a rank writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """All that a rank reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(ABC):
    """Decides what is written. In the order of calls:

    on each rank `set_up_planner` and `create_local_plan`, on the coordinator
    `create_global_plan`, on each rank `finish_plan`, and `resolve_data` for each item.
    """

    @abstractmethod
    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Save this."""

    @abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this rank has."""

    @abstractmethod
    def create_global_plan(
        self, all_plans: list[SavePlan]
    ) -> tuple[list[SavePlan], Metadata]:
        """What each rank is to write, and the checkpoint that it will be."""

    @abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """What this rank will write."""

    @abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The data of an item."""


class LoadPlanner:
    """Decides what is read; called in the order of `SavePlanner`."""

    @abstractmethod
    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Load into this."""

    @abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this rank needs."""

    @abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each rank is to read."""

    @abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """What this rank will read."""

    @abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take an object."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Where an object is to be written to."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """Where a box is to be written to."""

    @abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """It has been."""
