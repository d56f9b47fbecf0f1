"""Gradients averaged over all ranks at first, then within small groups or not at all:
for `PostLocalSGDOptimizer`, which averages parameters."""

from __future__ import annotations

from typing import Any

import ember.distributed as dist
from ember.distributed._reducer import GradBucket
from ember.distributed.algorithms.ddp_comm_hooks import default_hooks
from ember.futures import Future


class PostLocalSGDState:
    """Settings of `post_localSGD_hook`.

    - `process_group`: whose gradients are averaged until `start_localSGD_iter`.
    - `subgroup`: and from then on; None is all ranks of this host.
    - `post_local_gradient_allreduce=False`: then no gradients are averaged any more.
    """

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """A step is over with its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def __getstate__(self) -> dict[str, Any]:
        groups = ("process_group", "subgroup")
        return {k: v for k, v in self.__dict__.items() if k not in groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.process_group, self.subgroup = dist._get_default_group(), None


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future:
    """The average over all ranks, later over the subgroup."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return default_hooks.noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = dist.new_subgroups()
    return default_hooks.allreduce_hook(state.subgroup, bucket)
