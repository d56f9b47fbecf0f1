"""PowerSGD: gradients travel as products of two thin matrices (Vogels et al., 2019).

A gradient M of n x m is sent as P of n x r and Q of m x r, found by one step of power
iteration on the average over the ranks. What is lost is added to the next gradient.

The reductions of a bucket follow each other within the hook: begun from several buckets
at a time, ranks could meet them in another order.
"""

from __future__ import annotations

import math
from typing import Any

import ember
import ember.distributed as dist
from ember import Tensor
from ember.distributed._reducer import GradBucket
from ember.distributed.algorithms.ddp_comm_hooks import default_hooks
from ember.futures import Future


class PowerSGDState:
    """What PowerSGD keeps between steps, and its settings.

    - `matrix_approximation_rank`: r; more is closer to the gradient and sends more.
    - `start_powerSGD_iter`: steps before it that send gradients in full.
    - `min_compression_rate`: a gradient that would not shrink by this factor is sent in
      full.
    - `use_error_feedback`, `warm_start`: keep what was lost, and the last Q.
    """

    def __init__(
        self,
        process_group: Any = None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if matrix_approximation_rank < 1:
            raise ValueError(
                "PowerSGDState(): matrix_approximation_rank must be at least 1, got "
                f"{matrix_approximation_rank}"
            )
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or "
                "`warm_start` is enabled, because PowerSGD can only be applied after "
                "the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = ember.Generator().manual_seed(random_seed)
        self.error_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[tuple[int, int], Tensor] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def compression_stats(self) -> tuple[float, int, int]:
        """The factor by which less was sent; numbers that there were, and were sent."""
        before, after = (
            self.total_numel_before_compression,
            self.total_numel_after_compression,
        )
        return (before / after if after else 0, before, after)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """A step is over with its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def _counts(self, matrix: Tensor) -> bool:
        """Whether a gradient is worth compressing."""
        n, m = matrix.shape
        rank = min(n, m, self.matrix_approximation_rank)
        return (n + m) * rank * self.min_compression_rate < n * m

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = dist._get_default_group()
        self.__dict__.update(state)


def _orthogonalize(matrix: Tensor, epsilon: float) -> None:
    """Make the columns orthonormal, in place; with an epsilon, nearly so."""
    if epsilon == 0:
        matrix.copy_(ember.linalg.qr(matrix).Q)
        return
    for i in range(matrix.shape[1]):
        column, rest = matrix[:, i : i + 1], matrix[:, i + 1 :]
        column.div_(column.norm() + epsilon)
        rest.sub_(column @ (column.T @ rest))


def _compress(
    state: PowerSGDState, group: Any, key: int, matrices: list[Tensor]
) -> None:
    """Average matrices over the ranks, in place and approximately."""
    qs = []
    for i, matrix in enumerate(matrices):
        rank = min(*matrix.shape, state.matrix_approximation_rank)
        q = state.q_memory_dict.get((key, i))
        if q is None or not state.warm_start:
            q = ember.randn(
                matrix.shape[1], rank, generator=state.rng, dtype=matrix.dtype
            ).to(matrix.device)
        _orthogonalize(q, state.orthogonalization_epsilon)
        qs.append(q)
    ps = [matrix @ q for matrix, q in zip(matrices, qs)]
    _average(group, ps)
    for p in ps:
        _orthogonalize(p, state.orthogonalization_epsilon)
    qs = [matrix.T @ p for matrix, p in zip(matrices, ps)]
    _average(group, qs)
    for i, (matrix, p, q) in enumerate(zip(matrices, ps, qs)):
        ember.mm(p, q.T, out=matrix)
        if state.warm_start:
            state.q_memory_dict[key, i] = q


def _average(group: Any, tensors: list[Tensor]) -> None:
    works = [group.allreduce([t], dist.ReduceOp.AVG) for t in tensors if t.numel()]
    for work in works:
        work.wait()


def _begin(state: PowerSGDState, bucket: GradBucket) -> Future | None:
    """A bucket of the first steps is averaged in full; another one gets back what the
    step before lost."""
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(state.process_group, bucket)
    if state.use_error_feedback and bucket.index() in state.error_dict:
        bucket.buffer().add_(state.error_dict[bucket.index()])
    return None


def _end(state: PowerSGDState, bucket: GradBucket, given: Tensor) -> Future:
    """Keep what was lost of `given`."""
    if state.use_error_feedback:
        state.error_dict[bucket.index()] = given.sub_(bucket.buffer())
    state.maybe_increase_iter(bucket)
    future: Future = Future()
    future.set_result(bucket.buffer())
    return future


def _count(state: PowerSGDState, whole: list[Tensor], compressed: list[Tensor]) -> None:
    rank = state.matrix_approximation_rank
    full = sum(m.numel() for m in whole)
    thin = sum(sum(m.shape) * min(*m.shape, rank) for m in compressed)
    state.total_numel_before_compression += full + sum(m.numel() for m in compressed)
    state.total_numel_after_compression += full + thin


@ember.no_grad()
def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """PowerSGD of each gradient; small ones, and vectors, travel in full."""
    if (early := _begin(state, bucket)) is not None:
        return early
    compressed: list[Tensor] = []
    whole: list[Tensor] = []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0] if gradient.dim() else 1, -1)
        (compressed if state._counts(matrix) else whole).append(matrix)
    _count(state, whole, compressed)
    group = default_hooks._group(state.process_group)
    _average(group, whole)
    given = bucket.buffer().clone()
    _compress(state, group, bucket.index(), compressed)
    return _end(state, bucket, given)


@ember.no_grad()
def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """PowerSGD of the whole bucket as one square matrix: faster, and less accurate."""
    if (early := _begin(state, bucket)) is not None:
        return early
    buffer = bucket.buffer()
    given, side = buffer.clone(), math.ceil(math.sqrt(buffer.numel()))
    square = ember.zeros(side * side, dtype=buffer.dtype, device=buffer.device)
    square[: buffer.numel()] = buffer
    matrix = square.view(side, side)
    _count(state, [], [matrix])
    group = default_hooks._group(state.process_group)
    _compress(state, group, bucket.index(), [matrix])
    buffer.copy_(square[: buffer.numel()])
    return _end(state, bucket, given)
