"""Convolutions that learn their input channels from the first input."""

from typing import Any

from ember import Tensor
from ember._types import Sizes
from ember.nn.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from ember.nn.modules.lazy import LazyModuleMixin
from ember.nn.parameter import UninitializedParameter


class _LazyConvMixin(LazyModuleMixin):
    """Takes every argument of the convolution but `in_channels`."""

    def __init__(
        self, out_channels: int, kernel_size: Sizes, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(0, out_channels, kernel_size, *args, **kwargs)

    def _make_parameters(self, bias: bool, kind: dict) -> None:
        self.weight = UninitializedParameter(**kind)
        if bias:
            self.bias = UninitializedParameter(**kind)
        else:
            self.register_parameter("bias", None)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        dims = self._dims
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {list(input.shape)}"
            )
        self.in_channels = input.shape[-dims - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConvMixin, Conv1d):
    """A Conv1d that takes `in_channels` from its first input.

    Arguments are those of `Conv1d` without the first. Until the first input has passed,
    the weight has no shape.

    >>> layer = nn.LazyConv1d(8, 3)
    >>> layer(ember.ones(1, 5, 10)).shape, layer.weight.shape
    (torch.Size([1, 8, 8]), torch.Size([8, 5, 3]))
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvMixin, Conv2d):
    """A Conv2d that takes `in_channels` from its first input.

    >>> import ember
    >>> m = ember.nn.LazyConv2d(8, 3)
    >>> m(ember.ones(2, 4, 5, 5)).shape, m.in_channels
    (torch.Size([2, 8, 3, 3]), 4)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvMixin, Conv3d):
    """A Conv3d that takes `in_channels` from its first input.

    Arguments are those of `Conv3d` without the first.

    >>> layer = nn.LazyConv3d(8, 2)
    >>> layer(ember.ones(1, 5, 4, 4, 4)).shape, layer.in_channels
    (torch.Size([1, 8, 3, 3, 3]), 5)
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvMixin, ConvTranspose1d):
    """A ConvTranspose1d that takes `in_channels` from its first input.

    Arguments are those of `ConvTranspose1d` without the first.

    >>> layer = nn.LazyConvTranspose1d(8, 2, stride=2)
    >>> layer(ember.ones(1, 5, 10)).shape, layer.in_channels
    (torch.Size([1, 8, 20]), 5)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvMixin, ConvTranspose2d):
    """A ConvTranspose2d that takes `in_channels` from its first input.

    Arguments are those of `ConvTranspose2d` without the first.

    >>> layer = nn.LazyConvTranspose2d(8, 2, stride=2)
    >>> layer(ember.ones(1, 5, 4, 4)).shape, layer.in_channels
    (torch.Size([1, 8, 8, 8]), 5)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvMixin, ConvTranspose3d):
    """A ConvTranspose3d that takes `in_channels` from its first input.

    Arguments are those of `ConvTranspose3d` without the first.

    >>> layer = nn.LazyConvTranspose3d(8, 2, stride=2)
    >>> layer(ember.ones(1, 5, 2, 2, 2)).shape, layer.in_channels
    (torch.Size([1, 8, 4, 4, 4]), 5)
    """

    cls_to_become = ConvTranspose3d
