"""Pooling over windows: maximum, average, power mean; and undoing the maximum.

Adaptive and fractional pooling, whose windows differ in place or size, are in
`adaptive_pooling.py`.
"""

import math

import ember
from ember import Tensor
from ember.nn.functional._sizes import expanded, text
from ember.nn.functional.padding import pad


def lowest(dtype):
    """The smallest value of a dtype; what may never be a maximum."""
    if dtype.is_floating_point:
        return float("-inf")
    return ember.iinfo(dtype).min


def max_over(input: Tensor, dims: int, positions) -> tuple[Tensor, Tensor]:
    """The maximum of every window, and its place in the flattened last `dims` axes.

    `positions` has, for each axis, the source positions of each window: lists that
    may differ in length, none of them empty.
    """
    sizes = input.shape[-dims:]
    out = [len(windows) for windows in positions]
    flat = absent = None
    for axis, windows in enumerate(positions):
        longest = max((len(w) for w in windows), default=1)
        rows = [w + [-1] * (longest - len(w)) for w in windows]
        index = ember.tensor(rows, dtype=ember.int64, device=input.device)
        shape = [1] * (2 * dims)
        shape[axis], shape[dims + axis] = len(windows), longest
        index = index.reshape(shape)
        step = math.prod(sizes[axis + 1 :])
        missing = index < 0
        flat = index * step if flat is None else flat + index * step
        absent = missing if absent is None else absent | missing
    flat = flat.masked_fill(absent, 0)
    count = math.prod(out)
    flat = flat.reshape(count, -1)
    rest = input.shape[:-dims]
    values = input.reshape(*rest, -1).index_select(-1, flat.reshape(-1))
    values = values.reshape(*rest, *flat.shape)
    if bool(absent.any()):
        absent = absent.expand(*out, *absent.shape[dims:]).reshape(flat.shape)
        values = values.masked_fill(absent, lowest(input.dtype))
    best, where = values.max(-1)
    places = flat.expand(values.shape).gather(-1, where.unsqueeze(-1)).squeeze(-1)
    return best.reshape(*rest, *out), places.reshape(*rest, *out)


def _check_pool_input(name: str, input: Tensor, dims: int) -> None:
    batched = input.dim() == dims + 2
    if not (batched or input.dim() == dims + 1) or 0 in input.shape[batched:]:
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with "
            "optional 0 dim batch size for input, but got: "
            f"{list(input.shape)}"
        )


def output_sizes(name, input, kernel, stride, padding, dilation, ceil_mode) -> list:
    """The number of windows along each of the last axes."""
    _check_pool_input(name, input, len(kernel))
    if any(k <= 0 for k in kernel):
        raise RuntimeError(
            f"{name}: kernel size should be greater than zero, but got {list(kernel)}"
        )
    if any(s <= 0 for s in stride):
        raise RuntimeError(f"{name}: stride should be greater than zero, got {stride}")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    sizes = []
    given = input.shape[-len(kernel) :]
    for n, k, s, p, d in zip(given, kernel, stride, padding, dilation):
        reach = d * (k - 1) + 1
        if p < 0 or p > reach // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
                if p >= 0
                else f"pad must be non-negative, but got pad: {p}"
            )
        size = (n + 2 * p - reach + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (size - 1) * s >= n + p:
            size -= 1  # the last window would start beyond the input
        sizes.append(size)
    if any(n < 1 for n in sizes):
        raise RuntimeError(
            f"Given input size: {text(input.shape)}. Calculated output size: "
            f"{text(sizes)}. Output size is too small"
        )
    return sizes


def _max_pool(
    dims, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
):
    name = f"max_pool{dims}d"
    kernel = expanded("kernel_size", kernel_size, dims)
    stride = expanded("stride", stride, dims, kernel)
    padding = expanded("padding", padding, dims)
    dilation = expanded("dilation", dilation, dims)
    if input.dtype == ember.bool or input.is_complex():
        raise RuntimeError(f"{name}: not implemented for {input.dtype}")
    sizes = (kernel, stride, padding, dilation)
    out = output_sizes(name, input, *sizes, ceil_mode)
    positions = []
    for n, count, k, s, p, d in zip(input.shape[-dims:], out, *sizes):
        starts = range(-p, -p + count * s, s)
        windows = [range(start, start + d * (k - 1) + 1, d) for start in starts]
        positions.append([[i for i in w if 0 <= i < n] for w in windows])
    values, places = max_over(input, dims, positions)
    return (values, places) if return_indices else values


def max_pool1d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode: bool = False,
    return_indices: bool = False,
):
    """The maximum of windows of [N, C, L].

    >>> import ember
    >>> ember.nn.functional.max_pool1d(ember.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    sizes = (kernel_size, stride, padding, dilation)
    return _max_pool(1, input, *sizes, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode: bool = False,
    return_indices: bool = False,
):
    """The maximum of windows of [N, C, H, W]; `stride` is the window's size if None."""
    sizes = (kernel_size, stride, padding, dilation)
    return _max_pool(2, input, *sizes, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode: bool = False,
    return_indices: bool = False,
):
    """The maximum of windows of [N, C, D, H, W]."""
    sizes = (kernel_size, stride, padding, dilation)
    return _max_pool(3, input, *sizes, ceil_mode, return_indices)


def with_indices(function):
    """A pooling function that always returns the places of the maxima too."""

    def pool(*args, **kwargs):
        kwargs["return_indices"] = True
        return function(*args, **kwargs)

    pool.__name__ = pool.__qualname__ = function.__name__ + "_with_indices"
    pool.__doc__ = f"`{function.__name__}` with `return_indices=True`."
    return pool


max_pool1d_with_indices = with_indices(max_pool1d)
max_pool2d_with_indices = with_indices(max_pool2d)
max_pool3d_with_indices = with_indices(max_pool3d)


def _avg_pool(
    dims, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor
) -> Tensor:
    name = f"avg_pool{dims}d"
    kernel = expanded("kernel_size", kernel_size, dims)
    stride = expanded("stride", stride, dims, kernel)
    padding = expanded("padding", padding, dims)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    ones = (1,) * dims
    out = output_sizes(name, input, kernel, stride, padding, ones, ceil_mode)
    given = tuple(input.shape[-dims:])
    around, counts = [], input.new_ones(())
    for n, count, k, s, p in zip(given, out, kernel, stride, padding):
        around.append((p, (count - 1) * s + k - n - p))
        starts = [i * s - p for i in range(count)]
        low, high = (-p, n + p) if count_include_pad else (0, n)
        lengths = [min(i + k, high) - max(i, low) for i in starts]
        # Windows that begin in the padding of a ceil_mode output may end beyond it.
        lengths = ember.tensor(lengths, dtype=input.dtype, device=input.device)
        counts = counts.unsqueeze(-1) * lengths
    windows = pad(input, [n for sides in reversed(around) for n in sides])
    first = input.dim() - dims
    for axis in range(dims):
        windows = windows.unfold(first + axis, kernel[axis], stride[axis])
    total = windows.sum(tuple(range(-dims, 0)), dtype=input.dtype)
    divisor = counts if divisor is None else divisor
    if not input.is_floating_point():
        return ember.div(total, divisor, rounding_mode="trunc")
    return total / divisor


def avg_pool1d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of windows of [N, C, L].

    >>> import ember
    >>> ember.nn.functional.avg_pool1d(ember.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]])
    """
    sizes = (kernel_size, stride, padding)
    return _avg_pool(1, input, *sizes, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of windows of [N, C, H, W]."""
    options = (ceil_mode, count_include_pad, divisor_override)
    return _avg_pool(2, input, kernel_size, stride, padding, *options)


def avg_pool3d(
    input: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of windows of [N, C, D, H, W]."""
    options = (ceil_mode, count_include_pad, divisor_override)
    return _avg_pool(3, input, kernel_size, stride, padding, *options)


def _lp_pool(dims, input, norm_type, kernel_size, stride, ceil_mode) -> Tensor:
    kernel = expanded("kernel_size", kernel_size, dims)
    pool = (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1]
    mean = pool(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    positive = ember.sign(mean) * ember.relu(ember.abs(mean))
    return (positive * math.prod(kernel)).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size,
    stride=None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of windows of [N, C, L]."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size,
    stride=None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of windows of [N, C, H, W]."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size,
    stride=None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of windows of [N, C, D, H, W]."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _max_unpool(
    dims, input, indices, kernel_size, stride, padding, output_size
) -> Tensor:
    kernel = expanded("kernel_size", kernel_size, dims)
    stride = expanded("stride", stride, dims, kernel)
    padding = expanded("padding", padding, dims)
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
    rest = input.shape[:-dims]
    flat = input.new_zeros((*rest, math.prod(size)))
    places = indices.reshape(*rest, -1)
    volume = math.prod(size)
    if places.numel() and not 0 <= int(places.min()) <= int(places.max()) < volume:
        raise RuntimeError(
            f"max_unpool{dims}d: found an invalid max index (output volumes are of "
            f"size {text(size)})"
        )
    return flat.scatter(-1, places, input.reshape(*rest, -1)).view(*rest, *size)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    output_size=None,
) -> Tensor:
    """Maxima put back where `max_pool1d` found them, zeros elsewhere."""
    sizes = (kernel_size, stride, padding, output_size)
    return _max_unpool(1, input, indices, *sizes)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    output_size=None,
) -> Tensor:
    """Maxima put back where `max_pool2d` found them, zeros elsewhere."""
    sizes = (kernel_size, stride, padding, output_size)
    return _max_unpool(2, input, indices, *sizes)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size,
    stride=None,
    padding=0,
    output_size=None,
) -> Tensor:
    """Maxima put back where `max_pool3d` found them, zeros elsewhere."""
    sizes = (kernel_size, stride, padding, output_size)
    return _max_unpool(3, input, indices, *sizes)
