"""Normalization that keeps no statistics; see `batchnorm.py` for the others."""

from collections.abc import Iterable

import ember
from ember import Tensor
from ember._types import DeviceLike, Dtype, Sizes
from ember.nn import functional as F, init
from ember.nn.modules.module import Layer
from ember.nn.parameter import Parameter


class LayerNorm(Layer):
    """Mean 0 and variance 1 over the last axes, then a learned scale and shift.

    >>> import ember
    >>> ember.nn.LayerNorm(4)(ember.arange(4.0)).mean().abs() < 1e-6
    tensor(True)
    """

    def __init__(
        self,
        normalized_shape: Sizes,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(normalized_shape, Iterable):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", True), ("bias", bias)):
            if elementwise_affine and wanted:
                values = ember.empty(self.normalized_shape, device=device, dtype=dtype)
                self.register_parameter(name, Parameter(values))
            else:
                self.register_parameter(name, None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1, shift 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps
        )

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Layer):
    """Mean 0 and variance 1 over groups of channels (arXiv:1803.08494).

    >>> import ember
    >>> ember.nn.GroupNorm(3, 6)(ember.randn(2, 6, 4)).shape
    torch.Size([2, 6, 4])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_groups <= 0:
            raise ValueError(f"num_groups must be positive, got {num_groups}")
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups "
                f"({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            values = None
            if wanted:
                empty = ember.empty(num_channels, device=device, dtype=dtype)
                values = Parameter(empty)
            self.register_parameter(name, values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1, shift 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, "
            f"affine={self.affine}, bias={self.bias is not None}"
        )


class RMSNorm(Layer):
    """Root mean square 1 over the last axes, then a learned scale.

    >>> import ember
    >>> ember.nn.RMSNorm(2)(ember.tensor([3.0, 3.0]))
    tensor([1., 1.], grad_fn=<RmsNormBackward0>)
    """

    def __init__(
        self,
        normalized_shape: Sizes,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(normalized_shape, Iterable):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        values = None
        if elementwise_affine:
            empty = ember.empty(self.normalized_shape, device=device, dtype=dtype)
            values = Parameter(empty)
        self.register_parameter("weight", values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}"
        )


class LocalResponseNorm(Layer):
    """Division by a power of the mean square of neighbouring channels.

        x / (k + alpha * mean(x²))^beta

    The mean is taken over `size` neighbouring channels.

    Args:
        size: number of channels
        alpha: factor of the mean
        beta: exponent
        k: summand

    Shape:
        [N, C, ...]; the output likewise

    >>> nn.LocalResponseNorm(3)(ember.ones(1, 4, 2)).shape
    torch.Size([1, 4, 2])
    """

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """`LocalResponseNorm` under the name that Lua Torch gave it.

    >>> nn.CrossMapLRN2d(3)(ember.ones(1, 4, 2, 2)).shape
    torch.Size([1, 4, 2, 2])
    """

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1
    ) -> None:
        super().__init__(size, alpha, beta, k)
