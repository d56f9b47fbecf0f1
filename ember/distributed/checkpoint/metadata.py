"""What `.metadata` says of a checkpoint: which tensors there are, in which boxes
(*chunks*) they were cut, and where each of them lies. Field names are PyTorch's: the
file is a pickle of these classes under its names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import ember
from ember import Size, Tensor


@dataclass
class ChunkStorageMetadata:
    """A box of a tensor: where it begins and how large it is."""

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(Enum):
    """Memory formats in files."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


def _formats() -> list[Any]:
    return [ember.contiguous_format, ember.channels_last, ember.preserve_format]


@dataclass
class TensorProperties:
    """What a tensor is besides its shape."""

    dtype: ember.dtype = field(default_factory=ember.get_default_dtype)
    layout: Any = field(default_factory=lambda: ember.strided)
    requires_grad: bool = False
    memory_format: Any = field(default_factory=lambda: ember.contiguous_format)
    pin_memory: bool = False

    def __getstate__(self) -> tuple:
        code = _MEM_FORMAT_ENCODING(_formats().index(self.memory_format))
        return self.dtype, self.layout, self.requires_grad, code, self.pin_memory

    def __setstate__(self, state: tuple) -> None:
        self.dtype, self.layout, self.requires_grad, code, self.pin_memory = state
        self.memory_format = _formats()[code.value]

    @staticmethod
    def create_from_tensor(tensor: Tensor) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(tensor.dtype, requires_grad=tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor and its chunks."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Any other object."""


@dataclass
class StorageMeta:
    """Which checkpoint it is."""

    checkpoint_id: str | os.PathLike | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """A checkpoint: by name what there is, and by index where it lies."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """A chunk, or an object. `index` is its number among the chunks, if known: a hint
    that does not count in comparisons."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.offset is not None:
            object.__setattr__(self, "offset", Size(self.offset))
