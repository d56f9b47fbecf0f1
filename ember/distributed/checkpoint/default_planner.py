"""The planners that `save` and `load` use: every rank writes its box of a sharded
tensor; what several ranks have, one of them writes, so that all have about as much.
"""

from __future__ import annotations

import io
import math
from collections import defaultdict
from dataclasses import replace
from typing import Any

import ember
from ember import Size, Tensor
from ember.distributed.checkpoint import _boxes
from ember.distributed.checkpoint._nested import flatten_state_dict, set_element
from ember.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from ember.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)


def _is_cut(value: Any) -> bool:
    """Whether it is written as boxes; sparse tensors are objects."""
    return isinstance(value, Tensor) and value.layout is ember.strided


class DefaultSavePlanner(SavePlanner):
    """Writes a state dictionary, flattened. With `dedup_save_to_lowest_rank` the first
    rank writes all that several have."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings: dict[str, Any] = {}

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(
        self, all_plans: list[SavePlan]
    ) -> tuple[list[SavePlan], Metadata]:
        mappings: dict[str, Any] = {}
        for plan in all_plans:
            mappings.update(plan.planner_data or {})
        plans = dedup_save_plans(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(plans)
        _check(metadata)
        if self.flatten_state_dict:
            metadata = replace(metadata, planner_data=mappings)
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """What is written under an index."""
        value = self.state_dict[index.fqn]
        return _boxes.local_part(value) if _is_cut(value) else value

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """An object that is no tensor as bytes."""
        if write_item.type is WriteItemType.BYTE_IO:
            stream = io.BytesIO()
            ember.save(object, stream)
            stream.seek(0)
            return stream
        return object


class DefaultLoadPlanner(LoadPlanner):
    """Reads what a state dictionary names, into its tensors. With
    `allow_partial_load`, names that the checkpoint does not have stay as they are."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.allow_partial_load = allow_partial_load
        self.mappings: dict[str, Any] = {}

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata = state_dict, metadata
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> LoadPlan:
        assert self.metadata is not None
        return create_default_local_load_plan(
            self.state_dict, self.metadata, not self.allow_partial_load
        )

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        name = read_item.dest_index.fqn
        found = ember.load(value, map_location="cpu", weights_only=False)
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], found)
        else:
            self.state_dict[name] = found

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        target = self.lookup_tensor(read_item.dest_index)
        return _boxes.narrowed(target, read_item.dest_offsets, read_item.lengths)

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """What this rank has of a tensor."""
        return _boxes.local_part(self.state_dict[index.fqn])

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """It was written in place."""


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Fills a dictionary with all that there is, or what lies under `keys`."""

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def _is_wanted(self, name: str, path: Any) -> bool:
        if self.keys is None or name in self.keys:
            return True
        parts = [str(part) for part in path]
        starts = {".".join(parts[: i + 1]) for i in range(len(parts))}
        return not starts.isdisjoint(self.keys)

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        assert metadata is not None and not state_dict
        paths = metadata.planner_data or {}
        for name, entry in metadata.state_dict_metadata.items():
            path = paths.get(name, (name,))
            if not self._is_wanted(name, path):
                continue
            value: Any = entry
            if isinstance(entry, TensorStorageMetadata):
                value = ember.empty(entry.size, dtype=entry.properties.dtype)
            set_element(state_dict, path, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)


# --- saving ---


def create_default_local_save_plan(
    state_dict: dict[str, Any], is_coordinator: bool
) -> SavePlan:
    """All that this rank has; what others have as well is sorted out later."""
    items = []
    for name, value in state_dict.items():
        if not _is_cut(value):
            items.append(WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO))
            continue
        box = _boxes.box_of(value)
        if box is None:
            continue
        kind = WriteItemType.SHARD if _boxes.is_sharded(value) else WriteItemType.TENSOR
        data = TensorWriteData(
            box, TensorProperties.create_from_tensor(value), Size(value.shape)
        )
        index = MetadataIndex(name, box.offsets)
        items.append(WriteItem(index, kind, tensor_data=data))
    return SavePlan(items)


def dedup_save_plans(
    all_plans: list[SavePlan], save_to_lowest_rank: bool = False
) -> list[SavePlan]:
    """Plans in which every item is once, with the rank that has least to write."""
    owners: dict[MetadataIndex, list[int]] = defaultdict(list)
    sizes: dict[MetadataIndex, int] = {}
    for rank, plan in enumerate(all_plans):
        for item in plan.items:
            owners[item.index].append(rank)
            sizes[item.index] = item.tensor_storage_size() or 1
    load = [0] * len(all_plans)
    chosen: dict[MetadataIndex, int] = {}
    # What only one rank has comes first: it is not a matter of choice.
    for index in sorted(owners, key=lambda i: len(owners[i]) > 1):
        ranks = owners[index]
        rank = min(ranks) if save_to_lowest_rank else min(ranks, key=lambda r: load[r])
        chosen[index] = rank
        load[rank] += sizes[index]
    return [
        replace(plan, items=[item for item in plan.items if chosen[item.index] == rank])
        for rank, plan in enumerate(all_plans)
    ]


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The checkpoint that the plans make; items get their number among the chunks."""
    entries: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            name, data = item.index.fqn, item.tensor_data
            if data is None:
                entries[name] = BytesStorageMetadata()
            else:
                made = TensorStorageMetadata(data.properties, data.size, [])
                entry = entries.setdefault(name, made)
                if rewrite_index_hints:
                    index = replace(item.index, index=len(entry.chunks))
                    item = replace(item, index=index)
                if entry.size != data.size:
                    raise ValueError(
                        f"save(): {name} has shape {tuple(entry.size)} on one rank and "
                        f"{tuple(data.size)} on another"
                    )
                entry.chunks.append(data.chunk)
            items.append(item)
        plans.append(replace(plan, items=items))
    return plans, Metadata(entries)


def _check(metadata: Metadata) -> None:
    """Chunks have to make up their tensor: inside of it, all of it, nothing twice."""
    for name, entry in metadata.state_dict_metadata.items():
        if not isinstance(entry, TensorStorageMetadata):
            continue
        whole = ChunkStorageMetadata(Size([0] * len(entry.size)), entry.size)
        boxes = [box for box in entry.chunks if math.prod(box.sizes)]
        inside = all(_is_inside(box, whole) for box in boxes)
        total = sum(math.prod(box.sizes) for box in boxes)
        if not inside or total != math.prod(entry.size) or _any_overlap(boxes):
            raise ValueError(
                f"Failed to validate global plan: the chunks of {name}, of shape "
                f"{tuple(entry.size)}, are {entry.chunks}"
            )


def _is_inside(box: ChunkStorageMetadata, whole: ChunkStorageMetadata) -> bool:
    common = _boxes.overlap(box, whole)
    return common is not None and common.lengths == box.sizes


def _any_overlap(boxes: list[ChunkStorageMetadata]) -> bool:
    """Whether two boxes have something in common. Sorted by the first dimension, a box
    is compared only with those that begin before it ends."""
    if not boxes or not boxes[0].sizes:
        return len(boxes) > 1
    boxes = sorted(boxes, key=lambda box: box.offsets[0])
    for i, box in enumerate(boxes):
        end = box.offsets[0] + box.sizes[0]
        for other in boxes[i + 1 :]:
            if other.offsets[0] >= end:
                break
            if _boxes.overlap(box, other) is not None:
                return True
    return False


# --- loading ---


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """The parts of chunks that make up what this rank has."""
    items: list[ReadItem] = []
    for name, value in state_dict.items():
        entry = metadata.state_dict_metadata.get(name)
        if entry is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        if isinstance(entry, TensorStorageMetadata):
            items += _tensor_items(name, value, entry)
        else:
            index, nothing = MetadataIndex(name), Size([0])
            place = index, nothing
            items.append(ReadItem(LoadItemType.BYTE_IO, *place, *place, nothing))
    return LoadPlan(items)


def _tensor_items(
    name: str, value: Any, entry: TensorStorageMetadata
) -> list[ReadItem]:
    if not _is_cut(value):
        raise ValueError(
            f"Invalid checkpoint metadata for {name}: it is a tensor of shape "
            f"{tuple(entry.size)} there, and {type(value).__name__} here"
        )
    if tuple(value.shape) != tuple(entry.size):
        raise ValueError(
            f"Size mismatch between saved {entry.size} and current: {value.shape} for "
            f"{name}"
        )
    mine = _boxes.box_of(value)
    if mine is None:
        return []
    items = []
    for number, chunk in enumerate(entry.chunks):
        common = _boxes.overlap(mine, chunk)
        if common is not None:
            items.append(
                ReadItem(
                    LoadItemType.TENSOR,
                    MetadataIndex(name, mine.offsets),
                    common.in_first,
                    MetadataIndex(name, chunk.offsets, number),
                    common.in_second,
                    common.lengths,
                )
            )
    return items
