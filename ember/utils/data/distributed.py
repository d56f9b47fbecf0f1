"""`DistributedSampler`: each process reads its own part of a dataset."""

import math
from collections.abc import Iterator

import ember
from ember.utils.data.dataset import Dataset
from ember.utils.data.sampler import Sampler


class DistributedSampler(Sampler):
    """Every `num_replicas`-th index, from `rank` on, of a common order.

    >>> import ember
    >>> data = range(5)
    >>> sampler = ember.utils.data.DistributedSampler(data, 2, 0, shuffle=False)
    >>> list(sampler)
    [0, 2, 4]
    """

    def __init__(
        self,
        dataset: Dataset,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            world = ember.distributed
            if not world.is_available():
                raise RuntimeError("Requires distributed package to be available")
            num_replicas = (
                world.get_world_size() if num_replicas is None else num_replicas
            )
            rank = world.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval "
                f"[0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        if drop_last and size % num_replicas != 0:
            self.num_samples = math.ceil((size - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            generator = ember.Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = ember.randperm(size, generator=generator).tolist()
        else:
            order = list(range(size))
        if not self.drop_last:
            missing = self.total_size - size
            order += (order * math.ceil(missing / max(size, 1)))[:missing]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Give every epoch an order of its own."""
        self.epoch = epoch
