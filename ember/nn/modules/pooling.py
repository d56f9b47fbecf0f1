"""Pooling layers; the number of axes decides which function they call."""

from collections.abc import Iterable, Sequence
from typing import Any

from ember import Tensor, _lazy
from ember._types import Numbers, OptionalSizes, Sizes
from ember.nn import functional as F
from ember.nn.functional._sizes import expanded
from ember.nn.modules.module import Layer


class _MaxPool(Layer):
    _dims: int

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"max_pool{self._dims}d")
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The maximum of windows of [N, C, L].

    Args:
        kernel_size: size of the windows, a number or one for each axis
        stride: how far apart windows begin; `kernel_size` if it is None
        padding: how many implicit border elements on each side
        dilation: distance between the elements of a window
        return_indices: also give the positions of the maxima, for unpooling
        ceil_mode: keep a last window that reaches beyond the border

    Shape:
        [N, C, L] or [C, L] to [N, C, L'], where
        L' = (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1

    >>> nn.MaxPool1d(2)(ember.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    _dims = 1


class MaxPool2d(_MaxPool):
    """The maximum of windows of [N, C, H, W].

    >>> import ember
    >>> ember.nn.MaxPool2d(2)(ember.arange(4.0).view(1, 2, 2))
    tensor([[[3.]]])
    """

    _dims = 2


class MaxPool3d(_MaxPool):
    """The maximum of windows of [N, C, D, H, W].

    Args:
        kernel_size: size of the windows, a number or one for each axis
        stride: how far apart windows begin; `kernel_size` if it is None
        padding: how many implicit border elements on each side
        dilation: distance between the elements of a window
        return_indices: also give the positions of the maxima, for unpooling
        ceil_mode: keep a last window that reaches beyond the border

    >>> nn.MaxPool3d(2)(ember.ones(1, 3, 4, 6, 8)).shape
    torch.Size([1, 3, 2, 3, 4])
    """

    _dims = 3


class _AvgPool(Layer):
    _dims: int

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"avg_pool{self._dims}d")
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}"
        )


class AvgPool1d(_AvgPool):
    """The mean of windows of [N, C, L].

    Args:
        kernel_size: size of the windows, a number or one for each axis
        stride: how far apart windows begin; `kernel_size` if it is None
        padding: how many implicit border elements on each side
        ceil_mode: keep a last window that reaches beyond the border
        count_include_pad: whether border elements count in the mean

    Shape:
        [N, C, L] or [C, L] to [N, C, L'] with L' = (L + 2 padding - kernel_size) //
        stride + 1

    >>> nn.AvgPool1d(2)(ember.tensor([[1.0, 3.0, 5.0, 7.0]]))
    tensor([[2., 6.]])
    """

    _dims = 1

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        del self.divisor_override
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, expanded(name, getattr(self, name), 1))

    def forward(self, input: Tensor) -> Tensor:
        sizes = (self.kernel_size, self.stride, self.padding)
        options = (self.ceil_mode, self.count_include_pad)
        return F.avg_pool1d(input, *sizes, *options)


class AvgPool2d(_AvgPool):
    """The mean of windows of [N, C, H, W].

    >>> import ember
    >>> ember.nn.AvgPool2d(2)(ember.arange(4.0).view(1, 2, 2))
    tensor([[[1.5000]]])
    """

    _dims = 2


class AvgPool3d(_AvgPool):
    """The mean of windows of [N, C, D, H, W].

    Args:
        kernel_size: size of the windows, a number or one for each axis
        stride: how far apart windows begin; `kernel_size` if it is None
        padding: how many implicit border elements on each side
        ceil_mode: keep a last window that reaches beyond the border
        count_include_pad: whether border elements count in the mean
        divisor_override: divide by this instead of the number of elements

    >>> nn.AvgPool3d(2)(ember.ones(1, 3, 4, 6, 8)).shape
    torch.Size([1, 3, 2, 3, 4])
    """

    _dims = 3


class _LPPool(Layer):
    _dims: int

    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"lp_pool{self._dims}d")
        given = (float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)
        return pool(input, *given)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The p-norm of windows of [N, C, L].

        (sum of x^p over the window)^(1/p)

    Args:
        norm_type: p; 1 gives sums, large values come near the maximum
        kernel_size: size of the windows, a number or one for each axis
        stride: how far apart windows begin; `kernel_size` if it is None
        ceil_mode: keep a last window that reaches beyond the border

    >>> nn.LPPool1d(2, 2)(ember.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    _dims = 1


class LPPool2d(_LPPool):
    """The p-norm of windows of [N, C, H, W].

    Args:
        norm_type: p; 1 gives sums, large values come near the maximum
        kernel_size: size of the windows, a number or one for each axis
        stride: how far apart windows begin; `kernel_size` if it is None
        ceil_mode: keep a last window that reaches beyond the border

    >>> nn.LPPool2d(2, 2)(ember.ones(1, 2, 2))
    tensor([[[2.]]])
    """

    _dims = 2


class LPPool3d(_LPPool):
    """The p-norm of windows of [N, C, D, H, W].

    Args:
        norm_type: p; 1 gives sums, large values come near the maximum
        kernel_size: size of the windows, a number or one for each axis
        stride: how far apart windows begin; `kernel_size` if it is None
        ceil_mode: keep a last window that reaches beyond the border

    >>> nn.LPPool3d(1, 2)(ember.ones(1, 2, 2, 2))
    tensor([[[[8.]]]])
    """

    _dims = 3


class _MaxUnpool(Layer):
    _dims: int

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0
    ) -> None:
        super().__init__()
        dims = self._dims
        self.kernel_size = expanded("kernel_size", kernel_size, dims)
        self.stride = expanded("stride", stride, dims, self.kernel_size)
        self.padding = expanded("padding", padding, dims)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        unpool = getattr(F, f"max_unpool{self._dims}d")
        sizes = (self.kernel_size, self.stride, self.padding, output_size)
        return unpool(input, indices, *sizes)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}"
        )


class MaxUnpool1d(_MaxUnpool):
    """Maxima put back where MaxPool1d found them.

    Everything else becomes 0. `output_size` in the call tells sizes apart that pooling
    made equal.

    Args:
        kernel_size: that of the pooling
        stride: that of the pooling
        padding: that of the pooling

    Shape:
        values and positions [N, C, L'] to [N, C, L]

    >>> x = ember.tensor([[1.0, 3.0, 4.0, 2.0]])
    >>> values, positions = nn.MaxPool1d(2, return_indices=True)(x)
    >>> nn.MaxUnpool1d(2)(values, positions)
    tensor([[0., 3., 4., 0.]])
    """

    _dims = 1


class MaxUnpool2d(_MaxUnpool):
    """Maxima put back where MaxPool2d found them.

    Everything else becomes 0. `output_size` in the call tells sizes apart that pooling
    made equal.

    Args:
        kernel_size: that of the pooling
        stride: that of the pooling
        padding: that of the pooling

    >>> x = ember.arange(16.0).view(1, 4, 4)
    >>> values, positions = nn.MaxPool2d(2, return_indices=True)(x)
    >>> nn.MaxUnpool2d(2)(values, positions)[0, 1]
    tensor([0., 5., 0., 7.])
    """

    _dims = 2


class MaxUnpool3d(_MaxUnpool):
    """Maxima put back where MaxPool3d found them.

    Everything else becomes 0. `output_size` in the call tells sizes apart that pooling
    made equal.

    Args:
        kernel_size: that of the pooling
        stride: that of the pooling
        padding: that of the pooling

    >>> values, positions = nn.MaxPool3d(2, return_indices=True)(ember.rand(1, 4, 4, 4))
    >>> nn.MaxUnpool3d(2)(values, positions).count_nonzero()
    tensor(8)
    """

    _dims = 3


class _AdaptiveAvgPool(Layer):
    _dims: int

    def __init__(self, output_size: OptionalSizes) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"adaptive_avg_pool{self._dims}d")(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The mean of `output_size` windows of [N, C, L].

    The windows are as even as the input's length allows, so any length gives
    `output_size`.

    Args:
        output_size: number of windows

    Shape:
        [N, C, L] or [C, L] to [N, C, output_size] or [C, output_size]

    >>> nn.AdaptiveAvgPool1d(2)(ember.tensor([[1.0, 3.0, 5.0, 7.0]]))
    tensor([[2., 6.]])
    """

    _dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The mean of windows of [N, C, H, W], as many as `output_size` says.

    >>> import ember
    >>> ember.nn.AdaptiveAvgPool2d((1, 1))(ember.ones(2, 3, 5, 7)).shape
    torch.Size([2, 3, 1, 1])
    """

    _dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The mean of windows of [N, C, D, H, W], as many as `output_size` says.

    Args:
        output_size: windows along depth, height and width; one number for all, None to
            keep the size of an axis

    Shape:
        [N, C, D, H, W] to [N, C, *output_size]

    >>> nn.AdaptiveAvgPool3d((1, None, 2))(ember.ones(1, 4, 6, 5, 8)).shape
    torch.Size([1, 4, 1, 5, 2])
    """

    _dims = 3


class _AdaptiveMaxPool(Layer):
    _dims: int

    def __init__(
        self, output_size: OptionalSizes, return_indices: bool = False
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"adaptive_max_pool{self._dims}d")
        return pool(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The maximum of `output_size` windows of [N, C, L].

    Args:
        output_size: number of windows
        return_indices: also give the positions of the maxima, for unpooling

    Shape:
        [N, C, L] or [C, L] to [N, C, output_size] or [C, output_size]

    >>> x = ember.tensor([[1.0, 3.0, 9.0, 7.0]])
    >>> nn.AdaptiveMaxPool1d(2, return_indices=True)(x)
    (tensor([[3., 9.]]), tensor([[1, 2]]))
    """

    _dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The maximum of windows of [N, C, H, W], as many as `output_size` says.

    Args:
        output_size: windows along height and width; one number for both, None to keep
            the size of an axis
        return_indices: also give the positions of the maxima, for unpooling

    Shape:
        [N, C, H, W] to [N, C, *output_size]

    >>> nn.AdaptiveMaxPool2d((2, None))(ember.ones(1, 3, 7, 5)).shape
    torch.Size([1, 3, 2, 5])
    """

    _dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The maximum of windows of [N, C, D, H, W], as many as `output_size` says.

    Args:
        output_size: windows along depth, height and width
        return_indices: also give the positions of the maxima, for unpooling

    Shape:
        [N, C, D, H, W] to [N, C, *output_size]

    >>> nn.AdaptiveMaxPool3d(2)(ember.ones(1, 3, 4, 7, 5)).shape
    torch.Size([1, 3, 2, 2, 2])
    """

    _dims = 3


class _FractionalMaxPool(Layer):
    _dims: int

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Numbers | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        dims, name = self._dims, type(self).__name__
        many = isinstance(kernel_size, Iterable)
        if (min(kernel_size) if many else kernel_size) <= 0:
            raise ValueError(
                f"kernel_size must be greater than 0, but got {kernel_size}"
            )
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError(
                "only one of output_size and output_ratio may be specified"
            )
        self.kernel_size = expanded("kernel_size", kernel_size, dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = output_size
        if output_size is not None:
            self.output_size = expanded("output_size", output_size, dims)
        if isinstance(output_ratio, (int, float)):
            output_ratio = (output_ratio,) * dims
        self.output_ratio = output_ratio
        if output_ratio is not None and not all(0 < r < 1 for r in output_ratio):
            raise ValueError(
                f"output_ratio must be between 0 and 1 (got {output_ratio})"
            )

    def forward(self, input: Tensor) -> Any:
        return getattr(F, f"fractional_max_pool{self._dims}d")(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maximum of windows at random places of [N, C, H, W].

    The output is smaller by any factor, 1.3 for example, where `MaxPool2d` can only
    divide by whole numbers.

    Args:
        kernel_size: size of the windows
        output_size: height and width of the output
        output_ratio: or these as shares of the input's, between 0 and 1
        return_indices: also give the positions of the maxima, for unpooling

    >>> nn.FractionalMaxPool2d(2, output_ratio=0.7)(ember.rand(1, 3, 10, 10)).shape
    torch.Size([1, 3, 7, 7])
    """

    _dims = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maximum of windows at random places of [N, C, D, H, W].

    Args:
        kernel_size: size of the windows
        output_size: depth, height and width of the output
        output_ratio: or these as shares of the input's, between 0 and 1
        return_indices: also give the positions of the maxima, for unpooling

    >>> nn.FractionalMaxPool3d(2, output_size=5)(ember.rand(1, 3, 8, 8, 8)).shape
    torch.Size([1, 3, 5, 5, 5])
    """

    _dims = 3


__getattr__ = _lazy.missing(__name__)
