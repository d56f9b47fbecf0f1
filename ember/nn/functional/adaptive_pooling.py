"""Pooling to a given size: windows that cover the input evenly or at random."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import ember
from ember import _C, Tensor
from ember._overridable import overridable
from ember._types import Numbers, OptionalSizes, Sizes
from ember.nn.functional._sizes import expanded

_average = _C._ops["_adaptive_avg_pool"]
_maximum = _C._ops["_adaptive_max_pool"]


def _target(input: Tensor, output_size, dims: int, name: str) -> list[int]:
    """The output size; None means the input's."""
    if input.dim() <= dims and dims > 1:
        raise ValueError(
            f"Input dimension should be at least {dims + 1}, got {input.dim()}"
        )
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got "
            f"{list(input.shape)}"
        )
    if not isinstance(output_size, Iterable):
        output_size = (output_size,) * dims
    if len(output_size) == 1:
        output_size = tuple(output_size) * dims
    if len(output_size) != dims:
        raise RuntimeError(
            f"{name}(): internal error: output_size.size() must be {dims}, got "
            f"{len(output_size)}"
        )
    given = input.shape[-dims:]
    return [n if o is None else o for o, n in zip(output_size, given)]


def _adaptive_avg(dims: int, input: Tensor, output_size) -> Tensor:
    size = _target(input, output_size, dims, f"adaptive_avg_pool{dims}d")
    return _average(input, size)


def adaptive_avg_pool1d(input: Tensor, output_size: OptionalSizes) -> Tensor:
    """The mean of `output_size` windows of [N, C, L].

    >>> import ember
    >>> ember.nn.functional.adaptive_avg_pool1d(ember.tensor([[1.0, 2.0, 6.0]]), 2)
    tensor([[1.5000, 4.0000]])
    """
    return _adaptive_avg(1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: OptionalSizes) -> Tensor:
    """The mean of windows of [N, C, H, W], as many as `output_size` says.

    Args:
        input: [N, C, H, W] or [C, H, W]
        output_size: height and width of the output, one number for both, None to keep
            one

    >>> F.adaptive_avg_pool2d(ember.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    return _adaptive_avg(2, input, output_size)


@overridable(traits="float32")
def adaptive_avg_pool3d(input: Tensor, output_size: OptionalSizes) -> Tensor:
    """The mean of windows of [N, C, D, H, W], as many as `output_size` says.

    Args:
        input: [N, C, D, H, W] or [C, D, H, W]
        output_size: depth, height and width of the output, None to keep one

    >>> F.adaptive_avg_pool3d(ember.ones(1, 2, 4, 6, 8), (2, None, 1)).shape
    torch.Size([1, 2, 2, 6, 1])
    """
    return _adaptive_avg(3, input, output_size)


def _adaptive_max(dims: int, input: Tensor, output_size, return_indices: bool):
    size = _target(input, output_size, dims, f"adaptive_max_pool{dims}d")
    values, places = _maximum(input, size)
    return (values, places) if return_indices else values


def adaptive_max_pool1d(
    input: Tensor, output_size: OptionalSizes, return_indices: bool = False
) -> Any:
    """The maximum of `output_size` windows of [N, C, L].

    Args:
        input: [N, C, L] or [C, L]
        output_size: number of windows
        return_indices: also give the positions of the maxima, for unpooling

    >>> F.adaptive_max_pool1d(ember.tensor([[1.0, 3.0, 9.0, 7.0]]), 2)
    tensor([[3., 9.]])
    """
    return _adaptive_max(1, input, output_size, return_indices)


def adaptive_max_pool2d(
    input: Tensor, output_size: OptionalSizes, return_indices: bool = False
) -> Any:
    """The maximum of windows of [N, C, H, W], as many as `output_size` says.

    Args:
        input: [N, C, H, W] or [C, H, W]
        output_size: height and width of the output, None to keep one
        return_indices: also give the positions of the maxima, for unpooling

    >>> F.adaptive_max_pool2d(ember.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    return _adaptive_max(2, input, output_size, return_indices)


@overridable(traits="float32")
def adaptive_max_pool3d(
    input: Tensor, output_size: OptionalSizes, return_indices: bool = False
) -> Any:
    """The maximum of windows of [N, C, D, H, W], as many as `output_size` says.

    Args:
        input: [N, C, D, H, W] or [C, D, H, W]
        output_size: depth, height and width of the output, None to keep one
        return_indices: also give the positions of the maxima, for unpooling

    >>> F.adaptive_max_pool3d(ember.ones(1, 2, 4, 6, 8), 2).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    return _adaptive_max(3, input, output_size, return_indices)


def _one_or_all(op: str, name: str, value, dims: int) -> tuple[int, ...]:
    if isinstance(value, Sequence) and len(value) != dims:
        raise RuntimeError(
            f"{op}: {name} must either be a single int or a tuple of {dims} ints, got "
            f"{value!r}"
        )
    return expanded(name, value, dims)


def _fractional(
    dims, input, kernel_size, output_size, output_ratio, return_indices, samples
):
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(
            f"{name} requires specifying either an output_size or an output_ratio"
        )
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D or {dims + 2}D tensor, but got "
            f"{list(input.shape)}"
        )
    kernel = _one_or_all(name, "kernel_size", kernel_size, dims)
    given = input.shape[-dims:]
    if 0 in input.shape[-dims - 1 :]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, "
            f"but got {list(input.shape)}"
        )
    if output_size is None:
        ratio = output_ratio
        ratio = (ratio,) * dims if isinstance(ratio, (int, float)) else ratio
        if len(ratio) != dims:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of "
                "Ints."
            )
        output_size = [int(n * r) for n, r in zip(given, ratio)]
    size = _one_or_all(name, "output_size", output_size, dims)
    x = input if input.dim() == dims + 2 else input.unsqueeze(0)
    axes = ("time", "height", "width")[-dims:]
    for axis, n, o, k in zip(axes, given, size, kernel):
        if o + k - 1 > n:
            raise RuntimeError(
                f"{name}(): pool size {list(kernel)} is too large relative to input "
                f"{axis} of {list(given)} and output size {list(size)}"
            )
    if samples is None:
        shape = (*x.shape[:2], dims)
        samples = ember.rand(shape, dtype=input.dtype, device=input.device)
    elif samples.shape[0] < x.shape[0] or samples.shape[1:] != (x.shape[1], dims):
        raise RuntimeError(
            f"{name}: Expect _random_samples of shape {[*x.shape[:2], dims]}, got "
            f"{list(samples.shape)}"
        )
    samples = samples[: x.shape[0]]
    # In two dimensions, PyTorch takes the first number for the last axis.
    order = (1, 0) if dims == 2 else range(dims)
    flat = None
    for axis, which in enumerate(order):
        starts = _random_starts(
            samples[..., which], given[axis], size[axis], kernel[axis]
        )
        offsets = ember.arange(kernel[axis], device=input.device)
        index = starts.unsqueeze(-1) + offsets  # [N, C, out, kernel]
        shape = [*x.shape[:2], *[1] * (2 * dims)]
        shape[2 + axis], shape[2 + dims + axis] = size[axis], kernel[axis]
        index = index.reshape(shape) * math.prod(given[axis + 1 :])
        flat = index if flat is None else flat + index
    flat = flat.reshape(*x.shape[:2], math.prod(size), math.prod(kernel))
    windows = x.flatten(2).gather(2, flat.flatten(2))
    values, where = windows.view(flat.shape).max(-1)
    places = flat.gather(-1, where.unsqueeze(-1)).squeeze(-1)
    shape = (*input.shape[:-dims], *size)
    values, places = values.reshape(shape), places.reshape(shape)
    return (values, places) if return_indices else values


def _random_starts(sample: Tensor, size: int, count: int, kernel: int) -> Tensor:
    """[N, C, count]: where the windows begin; the last always ends the axis."""
    last = ember.full((*sample.shape, 1), size - kernel, dtype=ember.int64)
    if count <= 1:
        return last[..., :count].to(sample.device)
    alpha = (size - kernel) / (count - 1)
    steps = ember.arange(count - 1, dtype=sample.dtype, device=sample.device)
    moved = ((sample.unsqueeze(-1) + steps) * alpha).to(ember.int64)
    starts = moved - (sample.unsqueeze(-1) * alpha).to(ember.int64)
    return ember.cat([starts, last.to(sample.device)], -1)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Numbers | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maximum of windows at random places of [N, C, H, W] (arXiv:1412.6071).

    Args:
        input: [N, C, H, W] or [C, H, W]
        kernel_size: size of the windows
        output_size: height and width of the output
        output_ratio: or these as shares of the input's
        return_indices: also give the positions of the maxima, for unpooling

    >>> F.fractional_max_pool2d(ember.rand(1, 3, 10, 10), 2, output_ratio=0.7).shape
    torch.Size([1, 3, 7, 7])
    """
    sizes = (kernel_size, output_size, output_ratio)
    return _fractional(2, input, *sizes, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Numbers | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maximum of windows at random places of [N, C, D, H, W].

    Args:
        input: [N, C, D, H, W] or [C, D, H, W]
        kernel_size: size of the windows
        output_size: depth, height and width of the output
        output_ratio: or these as shares of the input's
        return_indices: also give the positions of the maxima, for unpooling

    >>> F.fractional_max_pool3d(ember.rand(1, 8, 8, 8), 2, output_size=5).shape
    torch.Size([1, 5, 5, 5])
    """
    sizes = (kernel_size, output_size, output_ratio)
    return _fractional(3, input, *sizes, return_indices, _random_samples)


def _with_indices(function):
    """A pooling function that always returns the places of the maxima too."""

    def pool(*args, **kwargs):
        kwargs["return_indices"] = True
        return function(*args, **kwargs)

    pool.__name__ = pool.__qualname__ = function.__name__ + "_with_indices"
    sizes = ", 4" * int(function.__name__[-2])
    windows = "2, output_size=3" if "fractional" in pool.__name__ else "2"
    pool.__doc__ = f"""`{function.__name__}` with `return_indices=True`.

    >>> y, places = F.{pool.__name__}(ember.rand(1{sizes}), {windows})
    >>> y.shape == places.shape
    True
    """
    return pool


adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d)
fractional_max_pool2d_with_indices = _with_indices(fractional_max_pool2d)
fractional_max_pool3d_with_indices = _with_indices(fractional_max_pool3d)
