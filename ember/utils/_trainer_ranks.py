"""What a Trainer does as one of several processes: its share of the data, the model in
`DistributedDataParallel`, sums over all ranks. With one process all of it does nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

from ember import nn


class Ranks:
    """The processes of a training; `wanted` None: as the launcher's variables say."""

    def __init__(self, wanted: bool | None) -> None:
        self.rank, self.size = 0, 1
        launched = int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ
        if wanted is False or (wanted is None and not launched):
            return
        import ember.distributed as dist

        if not dist.is_initialized():
            dist.init_process_group()
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    @property
    def first(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def wrapped(self, model: nn.Module) -> nn.Module:
        """The model whose gradients are averaged; one that sees to it itself stays."""
        own = hasattr(model, "set_requires_gradient_sync") or hasattr(model, "no_sync")
        if (
            self.size == 1
            or own
            or not any(p.requires_grad for p in model.parameters())
        ):
            return model
        from ember.nn.parallel import DistributedDataParallel

        return DistributedDataParallel(model)

    def share(self, loader: Iterable, epoch: int, even: bool) -> Iterable:
        """This process's batches. A `DataLoader` that has no sampler for it gets one:
        `even` repeats some examples, so that all processes have as many batches."""
        from ember.utils.data import DataLoader, DistributedSampler, sampler

        if self.size == 1 or not isinstance(loader, DataLoader):
            return loader
        if isinstance(loader.sampler, DistributedSampler):
            if even:
                loader.sampler.set_epoch(epoch)
            return loader
        plain = type(loader.sampler) in (
            sampler.SequentialSampler,
            sampler.RandomSampler,
        )
        if not plain or loader.batch_size is None:
            raise ValueError(
                "Trainer: give a loader with a sampler or batches of its own a "
                "DistributedSampler"
            )
        chosen: Any = range(self.rank, len(loader.dataset), self.size)
        if even:
            mixed = isinstance(loader.sampler, sampler.RandomSampler)
            data: Any = loader.dataset
            chosen = DistributedSampler(data, self.size, self.rank, shuffle=mixed)
            chosen.set_epoch(epoch)
        return DataLoader(
            loader.dataset,
            batch_size=loader.batch_size,
            sampler=chosen,
            num_workers=loader.num_workers,
            collate_fn=loader.collate_fn,
            pin_memory=loader.pin_memory,
            drop_last=loader.drop_last and even,
            timeout=loader.timeout,
            worker_init_fn=loader.worker_init_fn,
        )

    def total(self, sums: dict[str, float]) -> dict[str, float]:
        """Sums over all processes."""
        if self.size == 1:
            return sums
        import ember.distributed as dist

        rows: list[Any] = [None] * self.size
        dist.all_gather_object(rows, sums)
        names = {name: None for row in rows for name in row}
        return {name: sum(row.get(name, 0.0) for row in rows) for name in names}

    def barrier(self) -> None:
        """Wait for the others."""
        if self.size > 1:
            import ember.distributed as dist

            dist.barrier()

    def any(self, value: bool) -> bool:
        """Whether it is so on some process."""
        if self.size == 1:
            return value
        return self.total({"any": float(value)})["any"] > 0


def bare(model: nn.Module) -> nn.Module:
    """The model inside of a wrapper: its names are those of one process."""
    from ember.nn.parallel import DistributedDataParallel

    return model.module if isinstance(model, DistributedDataParallel) else model


def sync(model: nn.Module, last: bool) -> Any:
    """Gradients that several batches add up are averaged with the last one."""
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(last)
    elif hasattr(model, "no_sync") and not last:
        return model.no_sync()
    return contextlib.nullcontext()
