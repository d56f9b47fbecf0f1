"""Power means of windows, and maxima put back where they were.

`max_pool` and `avg_pool` are ops of the core; adaptive and fractional pooling are in
`adaptive_pooling.py`.
"""

import math
from collections.abc import Sequence

import ember
from ember import Tensor
from ember._overridable import overridable
from ember._runtime import alert_not_deterministic
from ember._types import Sizes
from ember.nn.functional._sizes import expanded, text


def _lp_pool(dims, input, norm_type, kernel_size, stride, ceil_mode) -> Tensor:
    kernel = expanded("kernel_size", kernel_size, dims)
    if math.isinf(norm_type):  # the largest, or smallest, absolute value
        pool = getattr(ember.nn.functional, f"max_pool{dims}d")
        sign = math.copysign(1, norm_type)
        return sign * pool(sign * input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    pool = getattr(ember.nn.functional, f"avg_pool{dims}d")
    mean = pool(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    positive = ember.sign(mean) * ember.relu(ember.abs(mean))
    return (positive * math.prod(kernel)).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of windows of [N, C, L].

    Args:
        input: [N, C, L] or [C, L]
        norm_type: p
        kernel_size: size of the windows, a number or one for each axis
        stride: how far apart windows begin; `kernel_size` if it is None
        ceil_mode: keep a last window that reaches beyond the border

    >>> F.lp_pool1d(ember.tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of windows of [N, C, H, W].

    Args:
        input: [N, C, H, W] or [C, H, W]
        norm_type: p
        kernel_size: size of the windows, a number or one for each axis
        stride: how far apart windows begin; `kernel_size` if it is None
        ceil_mode: keep a last window that reaches beyond the border

    >>> F.lp_pool2d(ember.ones(1, 4, 4), 2, 2)
    tensor([[[2., 2.],
             [2., 2.]]])
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of windows of [N, C, D, H, W].

    Args:
        input: [N, C, D, H, W] or [C, D, H, W]
        norm_type: p
        kernel_size: size of the windows, a number or one for each axis
        stride: how far apart windows begin; `kernel_size` if it is None
        ceil_mode: keep a last window that reaches beyond the border

    >>> F.lp_pool3d(ember.ones(1, 2, 2, 2), 1, 2)
    tensor([[[[8.]]]])
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _max_unpool(
    dims, input, indices, kernel_size, stride, padding, output_size
) -> Tensor:
    if ember.are_deterministic_algorithms_enabled():
        alert_not_deterministic(f"max_unpooling{max(dims, 2)}d_forward_out")
    if isinstance(kernel_size, Sequence) and len(kernel_size) not in (1, dims):
        raise RuntimeError(
            f"There should be exactly {dims} elements in kernel_size, got {kernel_size}"
        )
    kernel = expanded("kernel_size", kernel_size, dims)
    stride = expanded("stride", stride, dims, kernel)
    padding = expanded("padding", padding, dims)
    if dims == 3 and min(stride) <= 0:
        raise RuntimeError(
            f"strides should be greater than zero, but got stride: {list(stride)}"
        )
    if indices.dtype != ember.int64:
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {indices.dtype}"
        )
    if indices.shape != input.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor "
            f"({list(input.shape)}) but got indices tensor with shape: "
            f"{list(indices.shape)}"
        )
    given = zip(input.shape[-dims:], kernel, stride, padding)
    default = [(n - 1) * s - 2 * p + k for n, k, s, p in given]
    size = default if output_size is None else list(output_size)[-dims:]
    if output_size is not None:
        if len(output_size) not in (dims, dims + 2, input.dim()):
            raise ValueError(
                f"output_size should be a sequence containing {dims} or {dims + 2} "
                f"elements, but it has a length of '{len(output_size)}'"
            )
        for n, normal, s in zip(size, default, stride):
            if not normal - s < n < normal + s:
                raise ValueError(
                    f"invalid output_size {size} (each must be within the stride "
                    f"{list(stride)} of {default})"
                )
    if min(size) < 0:
        raise ValueError(
            f"max_unpool{dims}d: output_size must have non-negative spatial "
            f"dimensions, got {size}"
        )
    rest = input.shape[:-dims]
    flat = input.new_zeros((*rest, math.prod(size)))
    count = math.prod(input.shape[-dims:])
    places = indices.reshape(*rest, count)
    volume = math.prod(size)
    if places.numel() and not 0 <= int(places.min()) <= int(places.max()) < volume:
        raise RuntimeError(
            f"max_unpool{dims}d: found an invalid max index (output volumes are of "
            f"size {text(size)})"
        )
    made = flat.scatter(-1, places, input.reshape(*rest, count)).view(*rest, *size)
    last = input.dim() == 4 and not input.is_contiguous()
    if last and input.is_contiguous(memory_format=ember.channels_last):
        return made.contiguous(memory_format=ember.channels_last)
    return made


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Maxima put back where `max_pool1d` found them, zeros elsewhere.

    Args:
        input: [N, C, L'] or [C, L']
        indices: the positions that the pooling gave
        kernel_size: that of the pooling
        stride: that of the pooling
        padding: that of the pooling
        output_size: where several sizes would do

    >>> y, positions = F.max_pool1d(
    ...     ember.tensor([[1.0, 3.0, 4.0, 2.0]]), 2, return_indices=True
    ... )
    >>> F.max_unpool1d(y, positions, 2)
    tensor([[0., 3., 4., 0.]])
    """
    sizes = (kernel_size, stride, padding, output_size)
    return _max_unpool(1, input, indices, *sizes)


@overridable(traits="float32")
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Maxima put back where `max_pool2d` found them, zeros elsewhere.

    Args:
        input: [N, C, H', W'] or [C, H', W']
        indices: the positions that the pooling gave
        kernel_size: that of the pooling
        stride: that of the pooling
        padding: that of the pooling
        output_size: where several sizes would do

    >>> y, positions = F.max_pool2d(ember.rand(1, 5, 5), 2, return_indices=True)
    >>> F.max_unpool2d(y, positions, 2, output_size=(5, 5)).shape
    torch.Size([1, 5, 5])
    """
    sizes = (kernel_size, stride, padding, output_size)
    return _max_unpool(2, input, indices, *sizes)


@overridable(traits="float32")
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Maxima put back where `max_pool3d` found them, zeros elsewhere.

    Args:
        input: [N, C, D', H', W'] or [C, D', H', W']
        indices: the positions that the pooling gave
        kernel_size: that of the pooling
        stride: that of the pooling
        padding: that of the pooling
        output_size: where several sizes would do

    >>> y, positions = F.max_pool3d(ember.rand(1, 4, 4, 4), 2, return_indices=True)
    >>> F.max_unpool3d(y, positions, 2).shape
    torch.Size([1, 4, 4, 4])
    """
    sizes = (kernel_size, stride, padding, output_size)
    return _max_unpool(3, input, indices, *sizes)
