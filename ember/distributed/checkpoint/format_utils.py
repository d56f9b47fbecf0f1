"""From checkpoints of `save` to files of `ember.save`, and back."""

from __future__ import annotations

import os
from typing import Any

import ember
from ember.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from ember.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from ember.distributed.checkpoint.state_dict_loader import _load_state_dict
from ember.distributed.checkpoint.state_dict_saver import save_state_dict

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike, torch_save_path: str | os.PathLike
) -> None:
    """All of a checkpoint as one file."""
    found: dict[str, Any] = {}
    _load_state_dict(
        found,
        storage_reader=FileSystemReader(dcp_checkpoint_dir),
        planner=_EmptyStateDictLoadPlanner(),
        no_dist=True,
    )
    ember.save(found, torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike, dcp_checkpoint_dir: str | os.PathLike
) -> None:
    """The dictionary in a file as a checkpoint."""
    found = ember.load(torch_save_path, map_location="cpu", weights_only=False)
    writer = FileSystemWriter(dcp_checkpoint_dir)
    save_state_dict(found, storage_writer=writer, no_dist=True)
