"""What a worker of a DataLoader knows about itself."""


class WorkerInfo:
    """`id`, `num_workers`, `seed` and `dataset`; see `get_worker_info`. `rng` is for
    libraries that keep states of random numbers there."""

    def __init__(self, id: int, num_workers: int, seed: int, dataset, rng=None) -> None:
        self.id = id
        self.num_workers = num_workers
        self.seed = seed
        self.dataset = dataset
        self.rng = rng

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"WorkerInfo({fields})"


current: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker, its `id`, the `num_workers`, its `seed` and its copy of the
    `dataset`; None in the main process.

    An IterableDataset uses it to give each worker a part of the stream.

    >>> get_worker_info() is None
    True
    """
    return current
