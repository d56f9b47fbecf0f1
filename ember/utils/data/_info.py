"""What a worker of a DataLoader knows about itself."""

from dataclasses import dataclass
from typing import Any


@dataclass
class WorkerInfo:
    """What a worker knows about itself; see `get_worker_info`."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


current: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker, its `id`, the `num_workers`, its `seed` and its copy of the
    `dataset`; None in the main process.

    An IterableDataset uses it to give each worker a part of the stream.
    """
    return current
