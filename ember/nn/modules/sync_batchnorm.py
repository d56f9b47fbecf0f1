"""Batch norm over the batches of all processes.

Every rank sends mean, variance and count of its part; the backward pass sums two
numbers a channel over the ranks. Without processes (`ember.distributed` not
initialized, or one rank) it is ordinary batch norm.
"""

from __future__ import annotations

from typing import Any

import ember
from ember import Tensor
from ember.autograd.function import Function, once_differentiable
from ember.nn import functional as F
from ember.nn.modules.batchnorm import _BatchNorm
from ember.nn.modules.module import Module


class SyncBatchNorm(_BatchNorm):
    """Batch normalization whose statistics are of the whole, distributed batch.

    >>> import ember
    >>> model = ember.nn.Sequential(ember.nn.Linear(2, 3), ember.nn.BatchNorm1d(3))
    >>> ember.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
    SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, \
track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        given = (num_features, eps, momentum, affine, track_running_stats)
        super().__init__(*given, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError(
                "SyncBatchNorm number of input channels should be non-zero"
            )

    def _group(self) -> Any:
        """The group to share statistics with; None where there is nobody else."""
        import ember.distributed as dist

        if not (self.training and dist.is_available() and dist.is_initialized()):
            return None
        group = self.process_group or dist._get_default_group()
        return group if group.size() > 1 else None

    def forward(self, input: Tensor) -> Tensor:
        group = self._group()
        if group is None:
            return super().forward(input)
        self._check_input_dim(input)
        mean, variance, count = _statistics(input.detach(), group)
        self._keep(mean, variance, count, self._count_batch())
        return _Normalize.apply(
            input, self.weight, self.bias, mean, variance, self.eps, count, group
        )

    def _keep(self, mean: Tensor, variance: Tensor, count: int, factor: float) -> None:
        """Move the running statistics towards those of this batch."""
        if not (self.track_running_stats and count):
            return
        with ember.no_grad():
            unbiased = variance * (count / (count - 1))
            for kept, new in ((self.running_mean, mean), (self.running_var, unbiased)):
                kept.lerp_(new.to(kept.dtype), factor)

    @classmethod
    def convert_sync_batchnorm(
        cls, module: Module, process_group: Any = None
    ) -> Module:
        """`module` with every batch norm in it replaced; weights are shared."""
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                with ember.no_grad():
                    made.weight, made.bias = module.weight, module.bias
            made.running_mean = module.running_mean
            made.running_var = module.running_var
            made.num_batches_tracked = module.num_batches_tracked
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


def _over(x: Tensor) -> list[int]:
    """All dimensions but that of the channels."""
    return [0, *range(2, x.dim())]


def _wide(x: Tensor) -> Tensor:
    """`x` in the dtype that statistics are computed in."""
    return x if x.dtype == ember.float64 else x.to(ember.float32)


def _by_channel(values: Tensor, x: Tensor) -> Tensor:
    return values.view(1, -1, *[1] * (x.dim() - 2))


def _statistics(x: Tensor, group: Any) -> tuple[Tensor, Tensor, int]:
    """Mean and variance by channel of the inputs of all ranks, and how many values
    there are in a channel. A rank may have none."""
    x = _wide(x)
    channels, mine = x.size(1), x.numel() // x.size(1)
    row = x.new_zeros(2 * channels + 1)
    if mine:
        variance, mean = ember.var_mean(x, _over(x), correction=0)
        ember.cat([mean, variance, x.new_full((1,), mine)], out=row)
    rows = x.new_empty(group.size(), len(row))
    group._allgather_base(rows, row).wait()
    means, variances, counts = rows.split([channels, channels, 1], 1)
    count = int(counts.double().sum())
    if count == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got one on all "
            "ranks together"
        )
    shares = counts / max(count, 1)
    mean = (means * shares).sum(0)
    variance = ((variances + (means - mean) ** 2) * shares).sum(0)
    return mean, variance, count


class _Normalize(Function):
    """Batch norm by given statistics, which depend on the inputs of all ranks."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        variance: Tensor,
        eps: float,
        count: int,
        group: Any,
    ) -> Tensor:
        ctx.save_for_backward(x, weight, mean, variance)
        ctx.eps, ctx.count, ctx.group = eps, count, group
        return F.batch_norm(x, mean, variance, weight, bias, False, 0.0, eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        x, weight, mean, variance = ctx.saved_tensors
        deviation = _wide(x) - _by_channel(mean, x)
        wide = _wide(g)
        sums = ember.stack([wide.sum(_over(x)), (wide * deviation).sum(_over(x))])
        scale = (variance + ctx.eps).rsqrt()
        needs_x, needs_weight, needs_bias, *_ = ctx.needs_input_grad
        of_weight = (sums[1] * scale).to(weight.dtype) if needs_weight else None
        of_bias = sums[0].to(weight.dtype) if needs_bias else None
        of_x = None
        if needs_x:
            everywhere = sums / max(
                ctx.count, 1
            )  # `sums` are the parameters' gradients
            ctx.group.allreduce([everywhere]).wait()
            through_mean, through_variance = everywhere
            slope = through_variance * scale**2
            of_x = wide - _by_channel(through_mean, x)
            of_x = of_x.addcmul(deviation, _by_channel(slope, x), value=-1)
            factor = scale if weight is None else scale * weight
            of_x = of_x.mul_(_by_channel(factor, x)).to(x.dtype)
        return of_x, of_weight, of_bias, None, None, None, None, None
