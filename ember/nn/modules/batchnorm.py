"""Batch and instance normalization: layers that keep running statistics."""

from typing import Any

import ember
from ember import Tensor, _lazy
from ember._types import DeviceLike, Dtype
from ember.nn import functional as F, init
from ember.nn.modules.lazy import LazyModuleMixin
from ember.nn.modules.module import Layer
from ember.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter


class _NormBase(Layer):
    """Base: scale and shift, running mean and variance, all of them optional."""

    _version = 2
    _dims: tuple[int, ...]  # of the inputs that are accepted

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            values = self._new_parameter(kind) if wanted else None
            self.register_parameter(name, values)
        for name in ("running_mean", "running_var"):
            values = self._new_buffer(kind) if track_running_stats else None
            self.register_buffer(name, values)
        count = None
        if track_running_stats:
            count = ember.tensor(0, dtype=ember.int64, device=device)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def _new_parameter(self, kind: dict):
        return Parameter(ember.empty(self.num_features, **kind))

    def _new_buffer(self, kind: dict):
        return ember.empty(self.num_features, **kind)

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batch seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Scale 1, shift 0, statistics as they were at first."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._dims:
            names = " or ".join(f"{n}D" for n in self._dims)
            raise ValueError(f"expected {names} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest) -> None:
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        # Version 1 had no count of batches.
        old = version is None or version < 2
        if old and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            known = count is not None and count.device.type != "meta"
            state_dict[key] = count if known else ember.tensor(0)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self._count_batch()
        mean, variance = self.running_mean, self.running_var
        by_batch = self.training or (mean is None and variance is None)
        if self.training and not self.track_running_stats:
            mean = variance = None
        return F.batch_norm(
            input, mean, variance, self.weight, self.bias, by_batch, factor, self.eps
        )

    def _count_batch(self) -> float:
        """The weight of this batch in the running statistics."""
        factor = 0.0 if self.momentum is None else self.momentum
        counts = self.training and self.track_running_stats
        if counts and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches so far
                factor = 1.0 / float(self.num_batches_tracked)
        return factor


class BatchNorm1d(_BatchNorm):
    """Batch normalization of [N, C] or [N, C, L] (arXiv:1502.03167).

    >>> import ember
    >>> y = ember.nn.BatchNorm1d(2)(ember.tensor([[1.0, 2.0], [3.0, 6.0]]))
    >>> y.mean(0).abs().max() < 1e-6
    tensor(True)
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of [N, C, H, W].

        y = (x - mean) / sqrt(var + eps) * weight + bias

    Mean and variance are those of each channel over batch, height and width; in
    evaluation, their running averages.

    Args:
        num_features: number of channels, C
        eps: added to the variance, so that nothing is divided by 0
        momentum: share of a new batch in the running averages; None: plain averages
        affine: learn a factor and a summand for each channel
        track_running_stats: keep averages for evaluation

    >>> norm = nn.BatchNorm2d(3)
    >>> y = norm(5 + 2 * ember.randn(8, 3, 4, 4))
    >>> y.mean().abs().item() < 1e-6, round(y.var().item(), 1)
    (True, 1.0)
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of [N, C, D, H, W].

    Mean and variance are those of each channel over batch, depth, height and width; in
    evaluation, their running averages.

    Args:
        num_features: number of channels, C
        eps: added to the variance, so that nothing is divided by 0
        momentum: share of a new batch in the running averages; None: plain averages
        affine: learn a factor and a summand for each channel
        track_running_stats: keep averages for evaluation

    >>> nn.BatchNorm3d(3)(ember.randn(2, 3, 4, 5, 6)).shape
    torch.Size([2, 3, 4, 5, 6])
    """

    _dims = (5,)


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        given = (num_features, eps, momentum, affine, track_running_stats)
        super().__init__(*given, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.dim() == min(self._dims)
        channels = input.shape[0 if alone else 1]
        if channels != self.num_features:
            text = (
                f"expected input's size at dim={0 if alone else 1} to match "
                f"num_features ({self.num_features}), but got: {channels}."
            )
            if self.affine:
                raise ValueError(text)
            import warnings

            warnings.warn(
                f"{text} You can silence this warning by not passing in num_features, "
                "which is not used because affine=False",
                stacklevel=2,
            )
        x = input.unsqueeze(0) if alone else input
        result = F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if alone else result

    def _get_no_batch_dim(self) -> int:
        """Dimensions of an input without a batch."""
        return self._dims[0]


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of [N, C, L] or [C, L].

    Each channel of each sample gets mean 0 and variance 1 over its length.

    Args:
        num_features: number of channels, C
        eps: added to the variance, so that nothing is divided by 0
        momentum: share of a new batch in the running averages
        affine: learn a factor and a summand for each channel
        track_running_stats: keep averages for evaluation

    >>> y = nn.InstanceNorm1d(2)(ember.arange(8.0).view(1, 2, 4))
    >>> y[0, 0]
    tensor([-1.3416, -0.4472,  0.4472,  1.3416])
    """

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of [N, C, H, W] or [C, H, W].

    Each channel of each sample gets mean 0 and variance 1 over its pixels: contrast is
    taken away.

    Args:
        num_features: number of channels, C
        eps: added to the variance, so that nothing is divided by 0
        momentum: share of a new batch in the running averages
        affine: learn a factor and a summand for each channel
        track_running_stats: keep averages for evaluation

    >>> y = nn.InstanceNorm2d(3)(ember.rand(2, 3, 8, 8))
    >>> y.mean((2, 3)).abs().max().item() < 1e-5
    True
    """

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of [N, C, D, H, W] or [C, D, H, W].

    Each channel of each sample gets mean 0 and variance 1 over its volume.

    Args:
        num_features: number of channels, C
        eps: added to the variance, so that nothing is divided by 0
        momentum: share of a new batch in the running averages
        affine: learn a factor and a summand for each channel
        track_running_stats: keep averages for evaluation

    >>> nn.InstanceNorm3d(3)(ember.rand(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    _dims = (4, 5)


class _LazyNormMixin(LazyModuleMixin):
    """Takes every argument of the layer but `num_features`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)

    def _new_parameter(self, kind: dict):
        return UninitializedParameter(**kind)

    def _new_buffer(self, kind: dict):
        return UninitializedBuffer(**kind)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        alone = isinstance(self, _InstanceNorm) and input.dim() == min(self._dims)
        self.num_features = input.shape[0 if alone else 1]
        waiting = (self.weight, self.bias, self.running_mean, self.running_var)
        for values in waiting:
            if values is not None:
                values.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormMixin, BatchNorm1d):
    """A BatchNorm1d that takes `num_features` from its first input.

    >>> model = nn.Sequential(nn.Linear(2, 5), nn.LazyBatchNorm1d())
    >>> model(ember.ones(4, 2)).shape, model[1].num_features
    (torch.Size([4, 5]), 5)
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormMixin, BatchNorm2d):
    """A BatchNorm2d that takes `num_features` from its first input.

    >>> norm = nn.LazyBatchNorm2d()
    >>> norm(ember.ones(2, 7, 4, 4)).shape, norm.num_features
    (torch.Size([2, 7, 4, 4]), 7)
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormMixin, BatchNorm3d):
    """A BatchNorm3d that takes `num_features` from its first input.

    >>> norm = nn.LazyBatchNorm3d()
    >>> norm(ember.ones(2, 7, 4, 4, 4)).shape, norm.num_features
    (torch.Size([2, 7, 4, 4, 4]), 7)
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNormMixin, InstanceNorm1d):
    """An InstanceNorm1d that takes `num_features` from its first input.

    >>> norm = nn.LazyInstanceNorm1d(affine=True)
    >>> norm(ember.ones(2, 7, 4)).shape, norm.num_features
    (torch.Size([2, 7, 4]), 7)
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormMixin, InstanceNorm2d):
    """An InstanceNorm2d that takes `num_features` from its first input.

    >>> norm = nn.LazyInstanceNorm2d(affine=True)
    >>> norm(ember.ones(2, 7, 4, 4)).shape, norm.num_features
    (torch.Size([2, 7, 4, 4]), 7)
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormMixin, InstanceNorm3d):
    """An InstanceNorm3d that takes `num_features` from its first input.

    >>> norm = nn.LazyInstanceNorm3d(affine=True)
    >>> norm(ember.ones(2, 7, 4, 4, 4)).shape, norm.num_features
    (torch.Size([2, 7, 4, 4, 4]), 7)
    """

    cls_to_become = InstanceNorm3d


__getattr__ = _lazy.missing(__name__)
