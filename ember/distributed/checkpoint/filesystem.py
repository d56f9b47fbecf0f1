"""Checkpoints as folders: `.metadata` and files `__<rank>_<number>.distcp`.

A data file is a row of archives as `ember.save` writes them, one for each item. Each
save uses new numbers, and its checkpoint becomes valid when `.metadata` is replaced,
which happens last and at once: whoever is killed before leaves the former checkpoint as
it was. Then the former data files are removed.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import ember
from ember import Tensor
from ember.distributed.checkpoint import _boxes, metadata
from ember.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from ember.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from ember.distributed.checkpoint.storage import (
    StorageReader,
    StorageWriter,
    WriteResult,
)
from ember.futures import Future

_METADATA = ".metadata"
_DATA_FILE = re.compile(r"__\d+_(\d+)\.distcp")
CURRENT_DCP_VERSION = "1.0.0"


class SerializationFormat(Enum):
    """How items are written; only `TORCH_SAVE` is supported."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


@dataclass
class _StorageInfo:
    """Where an item lies. Fields are those of PyTorch's files."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None


@dataclass
class _StoragePrefix:
    """How names of a rank's files begin, and the first number."""

    prefix: str
    first: int = 0


class FileSystemWriter(StorageWriter):
    """Writes checkpoints to a folder.

    With `single_file_per_rank=False` every item gets a file of its own. `thread_count`
    threads write as many files at a time. `overwrite=False` refuses a folder with a
    checkpoint. Files are always on the disk before they count, whatever `sync_files`.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        if _extensions or serialization_format is not SerializationFormat.TORCH_SAVE:
            raise NotImplementedError(
                "FileSystemWriter(): only files as torch.save writes them are "
                "supported; leave out _extensions and serialization_format"
            )
        self.path = Path(path)
        self.single_file_per_rank = single_file_per_rank
        self.sync_files, self.thread_count = sync_files, thread_count
        self.overwrite = overwrite
        self.save_id = str(uuid.uuid4())

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        return "://" not in str(checkpoint_id)

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(
        self, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self.is_coordinator = is_coordinator

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / _METADATA).exists():
            raise RuntimeError("Checkpoint already exists and self.overwrite=False.")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        used = [int(match[1]) for _, match in self._data_files()]
        first = 1 + max(used, default=-1)
        return [
            replace(plan, storage_data=_StoragePrefix(f"__{rank}_", first))
            for rank, plan in enumerate(plans)
        ]

    def _data_files(self) -> list[tuple[Path, re.Match]]:
        return [
            (path, match)
            for path in self.path.iterdir()
            if (match := _DATA_FILE.fullmatch(path.name))
        ]

    def write_data(
        self, plan: SavePlan, planner: SavePlanner
    ) -> Future[list[WriteResult]]:
        prefix: _StoragePrefix = plan.storage_data
        if self.single_file_per_rank:
            shares = _split_by_size(self.thread_count, plan.items)
        else:
            shares = [[item] for item in plan.items]
        names = [
            f"{prefix.prefix}{prefix.first + number}.distcp"
            for number in range(len(shares))
        ]
        with ThreadPoolExecutor(self.thread_count) as threads:
            written = threads.map(
                lambda name, items: self._write_file(name, items, planner),
                names,
                shares,
            )
            results = [result for each in written for result in each]
        future: Future = Future()
        future.set_result(results)
        return future

    def _write_file(
        self, name: str, items: list[WriteItem], planner: SavePlanner
    ) -> list[WriteResult]:
        from ember._files import replacing

        results = []
        with replacing(self.path / name) as file:
            for item in items:
                data = _as_bytes(planner.resolve_data(item))
                where = _StorageInfo(name, file.tell(), len(data))
                file.write(data)
                results.append(WriteResult(item.index, len(data), where))
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        from ember._files import replacing
        from ember.serialization._pickle import Pickler

        metadata.storage_data = {
            result.index: result.storage_data for each in results for result in each
        }
        metadata.storage_meta = self.storage_meta()
        metadata.version = CURRENT_DCP_VERSION
        with replacing(self.path / _METADATA) as file:
            Pickler(file, 4).dump(metadata)
        kept = {info.relative_path for info in metadata.storage_data.values()}
        for path, _ in self._data_files():
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(checkpoint_id=str(self.path), save_id=self.save_id)

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        """A copy that training does not change."""
        from ember.distributed.checkpoint.state_dict_saver import copied

        return copied(state_dict)


class FileSystemReader(StorageReader):
    """Reads checkpoints from a folder, ember's and PyTorch's."""

    def __init__(
        self, path: str | os.PathLike, _extension_registry: Any = None
    ) -> None:
        self.path = Path(path)
        self.load_id = str(uuid.uuid4())
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        return "://" not in str(checkpoint_id)

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        self.storage_data = {}
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.load_id = str(uuid.uuid4())

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What `.metadata` says; of code, it runs nothing."""
        with open(self.path / _METADATA, "rb") as file:
            found = _MetadataUnpickler(file).load()
        if not isinstance(found, Metadata):
            raise pickle.UnpicklingError(
                f"{self.path / _METADATA} is no checkpoint: it holds a "
                f"{type(found).__name__}"
            )
        if found.storage_meta is None:
            found.storage_meta = StorageMeta()
        found.storage_meta.load_id = self.load_id
        return found

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self.storage_data = metadata.storage_data
        assert self.storage_data is not None

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        by_file: dict[str, list[ReadItem]] = defaultdict(list)
        for item in plan.items:
            by_file[self._place(item).relative_path].append(item)
        for name, items in by_file.items():
            with open(self._inside(name), "rb") as file:
                self._read_items(file, items, planner)
        future: Future = Future()
        future.set_result(None)
        return future

    def _place(self, item: ReadItem) -> _StorageInfo:
        place = self.storage_data[item.storage_index]
        if getattr(place, "transform_descriptors", None):
            raise NotImplementedError(
                f"FileSystemReader: {item.storage_index.fqn} is stored by extensions "
                f"{place.transform_descriptors}, which are not supported"
            )
        return place

    def _inside(self, name: str) -> Path:
        """A file of the folder: a damaged checkpoint could name any other."""
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ValueError(f"FileSystemReader: {name!r} is not in {self.path}")
        return self.path / name

    def _read_items(
        self, file: Any, items: list[ReadItem], planner: LoadPlanner
    ) -> None:
        """In the order of the file; a chunk that several items need is read once."""
        last: tuple[int, Tensor] | None = None
        for item in sorted(items, key=lambda item: self._place(item).offset):
            place = self._place(item)
            if last is not None and last[0] == place.offset:
                chunk = last[1]
            else:
                file.seek(place.offset)
                data = file.read(place.length)
                if len(data) != place.length:
                    raise RuntimeError(
                        f"{file.name} is truncated: {item.storage_index.fqn} should be "
                        f"{place.length} bytes at {place.offset}"
                    )
                if item.type is LoadItemType.BYTE_IO:
                    planner.load_bytes(item, io.BytesIO(data))
                    continue
                chunk = ember.load(
                    io.BytesIO(data), map_location="cpu", weights_only=True
                )
                last = place.offset, chunk
            part = _boxes.narrowed(chunk, item.storage_offsets, item.lengths)
            target = planner.resolve_tensor(item).detach()
            if target.shape != part.shape:
                raise ValueError(
                    f"FileSystemReader: {item.storage_index.fqn}: {part.shape} was "
                    f"read, where {target.shape} is needed"
                )
            target.copy_(part)
            planner.commit_tensor(item, target)


def _as_bytes(data: Tensor | io.BytesIO) -> Any:
    if isinstance(data, io.BytesIO):
        return data.getbuffer()
    t = data.detach().cpu().as_subclass(Tensor)
    if t.untyped_storage().nbytes() != t.numel() * t.element_size():
        t = t.clone()  # a file has what is needed, not what surrounds it
    stream = io.BytesIO()
    ember.save(t, stream)
    return stream.getbuffer()


def _split_by_size(bins: int, items: list[WriteItem]) -> list[list[WriteItem]]:
    """Items in so many parts of about the same size, none of them empty."""
    shares: list[list[WriteItem]] = [[] for _ in range(max(bins, 1))]
    sizes = [0] * len(shares)
    # Small objects first, as PyTorch has them, then tensors from the largest.
    objects = [item for item in items if item.type is WriteItemType.BYTE_IO]
    tensors = [item for item in items if item.type is not WriteItemType.BYTE_IO]
    for number, item in enumerate(objects):
        shares[number % len(shares)].append(item)
    if len(shares) > 1:
        tensors.sort(key=lambda item: item.tensor_storage_size() or 0, reverse=True)
    for item in tensors:
        least = sizes.index(min(sizes))
        shares[least].append(item)
        sizes[least] += item.tensor_storage_size() or 0
    return [share for share in shares if share]


def _known(names: Iterable[type]) -> dict[tuple[str, str], Any]:
    return {
        ("torch" + kind.__module__.removeprefix("ember"), kind.__name__): kind
        for kind in names
    }


def _member(kind: type, name: str) -> Enum:
    """The member of an enumeration, which Python 3.11.0 to 3.11.3 pickle as a call of
    `getattr`. Anything else that a file could ask for by that name is refused."""
    if isinstance(kind, type) and issubclass(kind, Enum) and name in kind.__members__:
        return kind.__members__[name]
    raise pickle.UnpicklingError(
        f"{_METADATA} asks for {name!r} of {kind!r}, which checkpoints do not need"
    )


class _MetadataUnpickler(pickle.Unpickler):
    """Knows the classes of a `.metadata`, and refuses all others."""

    names: dict[tuple[str, str], Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        if not self.names:
            self._fill()
        try:
            return self.names[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"{_METADATA} names {module}.{name}, which checkpoints do not need"
            ) from None

    @classmethod
    def _fill(cls) -> None:
        import pathlib

        from ember.serialization._names import known_names

        kinds = [
            kind
            for kind in vars(metadata).values()
            if isinstance(kind, type) and kind.__module__ == metadata.__name__
        ]
        cls.names.update(known_names())
        cls.names.update(_known([*kinds, _StorageInfo, _StoragePrefix]))
        cls.names["builtins", "getattr"] = _member
        for name in ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath"):
            cls.names["pathlib", name] = pathlib.PurePath
            cls.names["pathlib._local", name] = pathlib.PurePath
