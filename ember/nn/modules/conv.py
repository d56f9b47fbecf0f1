"""Convolutions and transposed convolutions."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import ember
from ember import Tensor, _lazy
from ember._types import DeviceLike, Dtype, Sizes
from ember.nn import functional as F, init
from ember.nn.functional._sizes import expanded
from ember.nn.modules.module import Layer
from ember.nn.parameter import Parameter

_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Layer):
    """Base: sizes, weight and bias. Subclasses set `_dims` and `_apply_to`."""

    _dims: int
    _transposes = False

    def _setup(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        output_padding,
        groups,
        bias,
        padding_mode,
        device,
        dtype,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, groups, padding_mode)
        dims = self._dims
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _sizes(kernel_size, dims)
        self.stride = _sizes(stride, dims)
        if isinstance(padding, str):
            if padding not in ("valid", "same"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of "
                    "{'valid', 'same'}"
                )
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError(
                    "padding='same' is not supported for strided convolutions"
                )
            self.padding: Any = padding
        else:
            self.padding = _sizes(padding, dims)
        self.dilation = _sizes(dilation, dims)
        self.transposed = self._transposes
        self.output_padding = _sizes(output_padding, dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._around()
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        self._make_parameters(bias, kind)

    def _make_parameters(self, bias: bool, kind: dict) -> None:
        self.weight = Parameter(ember.empty(self._weight_shape(), **kind))
        if bias:
            self.bias = Parameter(ember.empty(self.out_channels, **kind))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self._transposes:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def _around(self) -> list[int]:
        """The padding in the order of F.pad, for modes other than zeros."""
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            sides = [(t // 2, t - t // 2) for t in total]
        elif self.padding == "valid":
            sides = [(0, 0)] * self._dims
        else:
            sides = [(p, p) for p in self.padding]
        return [n for pair in reversed(sides) for n in pair]

    def reset_parameters(self) -> None:
        """Draw new values, uniform in ±1 / sqrt(fan_in)."""
        if self.weight.is_contiguous():
            init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        else:  # the same numbers in every memory format
            drawn = ember.empty_like(
                self.weight, memory_format=ember.contiguous_format, requires_grad=False
            )
            with ember.no_grad():
                self.weight.copy_(init.kaiming_uniform_(drawn, a=math.sqrt(5)))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}"
        text += f", kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self._dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._dims:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self._dims:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        sizes = (kernel_size, stride, padding, dilation, 0)
        options = (groups, bias, padding_mode, device, dtype)
        self._setup(in_channels, out_channels, *sizes, *options)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias) -> Tensor:
        function = getattr(F, f"conv{self._dims}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            around = self._reversed_padding_repeated_twice
            input = F.pad(input, around, mode=self.padding_mode)
            padding = 0
        rest = (self.stride, padding, self.dilation, self.groups)
        return function(input, weight, bias, *rest)


class Conv1d(_Conv):
    """Convolution of [N, C, L].

    >>> import ember
    >>> ember.nn.Conv1d(3, 8, 3, padding=1)(ember.ones(2, 3, 10)).shape
    torch.Size([2, 8, 10])
    """

    _dims = 1


class Conv2d(_Conv):
    """Convolution of [N, C, H, W].

    >>> import ember
    >>> ember.nn.Conv2d(3, 8, 3, stride=2)(ember.ones(2, 3, 9, 9)).shape
    torch.Size([2, 8, 4, 4])
    """

    _dims = 2


class Conv3d(_Conv):
    """Convolution of [N, C, D, H, W].

    Args:
        in_channels: channels of the input
        out_channels: channels of the output, the number of kernels
        kernel_size: size of the kernels, a number or one for each axis
        stride: how far the kernel moves
        padding: elements added on each side, or `"valid"` or `"same"`
        dilation: distance between the elements of a kernel
        groups: parts that the channels are divided into, which do not see each other
        bias: learn a summand for each output channel
        padding_mode: `"zeros"`, `"reflect"`, `"replicate"` or `"circular"`

    Shape:
        [N, C_in, D, H, W] or without N to [N, C_out, D', H', W'], where each size is
        (size + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1

    >>> nn.Conv3d(1, 8, 3, stride=2, padding=1)(ember.ones(2, 1, 8, 8, 8)).shape
    torch.Size([2, 8, 4, 4, 4])
    """

    _dims = 3


class _ConvTranspose(_ConvNd):
    _transposes = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                'Only "zeros" padding mode is supported for '
                f"{type(self).__name__}, got {padding_mode!r}"
            )
        sizes = (kernel_size, stride, padding, dilation, output_padding)
        options = (groups, bias, padding_mode, device, dtype)
        self._setup(in_channels, out_channels, *sizes, *options)

    def forward(
        self, input: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        function = getattr(F, f"conv_transpose{self._dims}d")
        extra = self.output_padding
        if output_size is not None:
            extra = self._output_padding(input, output_size)
        sizes = (self.stride, self.padding, extra, self.groups, self.dilation)
        return function(input, self.weight, self.bias, *sizes)

    def _output_padding(self, input: Tensor, output_size) -> tuple[int, ...]:
        """What makes the output as large as asked for."""
        dims = self._dims
        wanted = list(output_size)
        if len(wanted) == input.dim():
            wanted = wanted[-dims:]
        if len(wanted) != dims:
            raise ValueError(
                f"{type(self).__name__}: output_size must have {dims} or "
                f"{input.dim()} elements (got {len(wanted)})"
            )
        smallest = []
        for i, n in enumerate(input.shape[-dims:]):
            reach = self.dilation[i] * (self.kernel_size[i] - 1) + 1
            smallest.append((n - 1) * self.stride[i] - 2 * self.padding[i] + reach)
        for size, low, step in zip(wanted, smallest, self.stride):
            if not low <= size < low + step:
                largest = [n + s - 1 for n, s in zip(smallest, self.stride)]
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes range from "
                    f"{smallest} to {largest} (for an input of "
                    f"{list(input.shape[-dims:])})"
                )
        return tuple(size - low for size, low in zip(wanted, smallest))


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of [N, C, L].

    The gradient of a `Conv1d` of the same arguments as a layer: what makes sequences
    longer.

    Args:
        in_channels: channels of the input
        out_channels: channels of the output
        kernel_size: size of the kernels
        stride: how far apart the inputs come to lie in the output
        padding: elements cut off on each side
        output_padding: elements added at the end
        groups: parts that the channels are divided into
        bias: learn a summand for each output channel
        dilation: distance between the elements of a kernel

    Shape:
        [N, C_in, L] to [N, C_out, L'], where L' = (L - 1) stride - 2 padding
        + dilation (kernel_size - 1) + output_padding + 1

    >>> nn.ConvTranspose1d(4, 2, 4, stride=2, padding=1)(ember.ones(1, 4, 5)).shape
    torch.Size([1, 2, 10])
    """

    _dims = 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of [N, C, H, W].

    >>> import ember
    >>> ember.nn.ConvTranspose2d(3, 8, 2, stride=2)(ember.ones(2, 3, 4, 4)).shape
    torch.Size([2, 8, 8, 8])
    """

    _dims = 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of [N, C, D, H, W].

    The gradient of a `Conv3d` of the same arguments as a layer: what makes volumes
    larger. Arguments and sizes are those of `ConvTranspose1d`, on each axis.

    Shape:
        [N, C_in, D, H, W] to [N, C_out, D', H', W']

    >>> nn.ConvTranspose3d(4, 2, 2, stride=2)(ember.ones(1, 4, 3, 3, 3)).shape
    torch.Size([1, 2, 6, 6, 6])
    """

    _dims = 3


def _sizes(value, dims: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, Iterable) else expanded("", value, dims)


def _check(in_channels: int, out_channels: int, groups: int, padding_mode: str) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if padding_mode not in _MODES:
        raise ValueError(
            f"padding_mode must be one of {set(_MODES)}, but got "
            f"padding_mode='{padding_mode}'"
        )


__getattr__ = _lazy.missing(__name__)
