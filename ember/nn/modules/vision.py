"""Layers that rearrange or resample: shuffles, windows as columns, upsampling."""

from typing import Any

from ember import Tensor
from ember._types import Numbers, Sizes
from ember.nn import functional as F
from ember.nn.modules.module import Layer


class PixelShuffle(Layer):
    """[..., C r², H, W] -> [..., C, H r, W r] (arXiv:1609.05158).

    Channels become pixels: the cheap way to make an image larger after a convolution.

    Args:
        upscale_factor: r

    >>> nn.PixelShuffle(2)(ember.arange(4.0).view(4, 1, 1))
    tensor([[[0., 1.],
             [2., 3.]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Layer):
    """[..., C, H r, W r] -> [..., C r², H, W].

    Pixels become channels, the opposite of `PixelShuffle`.

    Args:
        downscale_factor: r

    >>> nn.PixelUnshuffle(2)(ember.arange(4.0).view(1, 2, 2)).flatten()
    tensor([0., 1., 2., 3.])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Layer):
    """Channels of all groups interleaved.

    After convolutions with groups, this lets information pass from one group to
    another.

    Args:
        groups: number of groups that the channels are divided into

    Shape:
        [N, C, ...], where `groups` divides C; the output likewise

    >>> nn.ChannelShuffle(2)(ember.arange(4.0).view(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Unfold(Layer):
    """Windows of [N, C, H, W] as columns.

    >>> import ember
    >>> ember.nn.Unfold(2)(ember.ones(1, 3, 4, 4)).shape
    torch.Size([1, 12, 9])
    """

    def __init__(
        self,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        sizes = (self.kernel_size, self.dilation, self.padding, self.stride)
        return F.unfold(input, *sizes)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Fold(Unfold):
    """Columns added up to [N, C, H, W].

    The opposite of `Unfold`: windows are put where they were taken, and where several
    overlap they are added.

    Args:
        output_size: height and width of the output
        kernel_size: height and width of the windows
        dilation: distance between the elements of a window
        padding: implicit border of the output, which is cut off
        stride: how far apart windows begin

    Shape:
        [N, C · kernel elements, windows] to [N, C, H, W]

    >>> x = ember.ones(1, 1, 3, 3)
    >>> columns = nn.Unfold(2)(x)
    >>> columns.shape
    torch.Size([1, 4, 4])
    >>> nn.Fold((3, 3), 2)(columns)  # how many windows see each element
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """

    def __init__(
        self,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        sizes = (self.kernel_size, self.dilation, self.padding, self.stride)
        return F.fold(input, self.output_size, *sizes)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"


class Upsample(Layer):
    """[N, C, ...] resampled to `size`, or by `scale_factor`.

    >>> import ember
    >>> ember.nn.Upsample(scale_factor=2)(ember.ones(1, 1, 2, 3)).shape
    torch.Size([1, 1, 4, 6])
    """

    def __init__(
        self,
        size: Sizes | None = None,
        scale_factor: Numbers | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """[N, C, H, W] resampled by the nearest pixels.

    Args:
        size: height and width of the output
        scale_factor: or how many times the input's

    >>> nn.UpsamplingNearest2d(scale_factor=2)(ember.tensor([[[[0.0, 3.0]]]]))
    tensor([[[[0., 0., 3., 3.],
              [0., 0., 3., 3.]]]])
    """

    def __init__(
        self, size: Sizes | None = None, scale_factor: Numbers | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """[N, C, H, W] resampled linearly, corners aligned.

    Args:
        size: height and width of the output
        scale_factor: or how many times the input's

    >>> nn.UpsamplingBilinear2d(scale_factor=2)(ember.tensor([[[[0.0, 3.0]]]]))
    tensor([[[[0., 1., 2., 3.],
              [0., 1., 2., 3.]]]])
    """

    def __init__(
        self, size: Sizes | None = None, scale_factor: Numbers | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
