"""Channels and pixels rearranged, and sampling on a grid."""

import itertools
from collections.abc import Sequence

import ember
from ember import Tensor
from ember._overridable import overridable
from ember._user_line import warn


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[..., C r², H, W] -> [..., C, H r, W r].

    >>> import ember
    >>> ember.nn.functional.pixel_shuffle(ember.ones(1, 8, 3, 3), 2).shape
    torch.Size([1, 2, 6, 6])
    """
    r = upscale_factor
    _check_pixels("pixel_shuffle", input, r)
    *rest, channels, high, wide = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by "
            f"the square of upscale_factor, but input.size(-3)={channels} is not "
            f"divisible by {r * r}"
        )
    parts = input.reshape(*rest, channels // (r * r), r, r, high, wide)
    n = len(rest)
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    shape = (*rest, channels // (r * r), high * r, wide * r)
    return _in_format_of(input, parts.permute(order).reshape(shape))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[..., C, H r, W r] -> [..., C r², H, W].

    Args:
        input: [..., C, H r, W r]
        downscale_factor: r

    >>> F.pixel_unshuffle(ember.arange(4.0).view(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    r = downscale_factor
    _check_pixels("pixel_unshuffle", input, r)
    *rest, channels, high, wide = input.shape
    if high % r or wide % r:
        raise RuntimeError(
            "pixel_unshuffle expects height and width to be divisible by "
            f"downscale_factor, but got {high} x {wide} and {r}"
        )
    parts = input.reshape(*rest, channels, high // r, r, wide // r, r)
    n = len(rest)
    order = (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    shape = (*rest, channels * r * r, high // r, wide // r)
    return _in_format_of(input, parts.permute(order).reshape(shape))


def _in_format_of(input: Tensor, result: Tensor) -> Tensor:
    """The result with channels last where the input has them there."""
    last = ember.channels_last
    if input.dim() != 4 or input.is_contiguous():
        return result
    if not input.is_contiguous(memory_format=last):
        return result
    return result.contiguous(memory_format=last)


def _check_pixels(name: str, input: Tensor, factor: int) -> None:
    if input.dim() < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with "
            f"{input.dim()} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive factor, but got {factor}")
    if factor * factor > ember.iinfo(ember.int64).max:
        raise ValueError(f"{name}: factor {factor} is too large, its square overflows")


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels (axis 1) of all groups interleaved (arXiv:1707.01083).

    Args:
        input: [N, C, ...], where `groups` divides C
        groups: how many

    >>> F.channel_shuffle(ember.arange(4.0).view(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.dim() <= 2:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of "
            f"groups:{groups}"
        )
    batch, channels = input.shape[:2]
    if channels % groups:
        raise RuntimeError(
            "Number of channels must be divisible by groups. Got "
            f"{channels} channels and {groups} groups."
        )
    parts = input.reshape(batch, groups, channels // groups, *input.shape[2:])
    return _in_format_of(input, parts.transpose(1, 2).reshape(input.shape))


native_channel_shuffle = channel_shuffle


def affine_grid(
    theta: Tensor, size: Sequence[int], align_corners: bool | None = None
) -> Tensor:
    """The points of an image [N, C, H, W] or [N, C, D, H, W] after a linear map.

    What `grid_sample` takes: together they turn, scale and move images.

    Args:
        theta: [N, 2, 3] or [N, 3, 4], a matrix and a shift
        size: shape of the output image
        align_corners: whether -1 and 1 are the middles of the outermost pixels

    >>> flip = ember.tensor([[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> x = ember.arange(4.0).view(1, 1, 2, 2)
    >>> grid = F.affine_grid(flip, x.shape, align_corners=False)
    >>> F.grid_sample(x, grid, align_corners=False)[0, 0]
    tensor([[1., 0.],
            [3., 2.]])
    """
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine "
            f"transforms, respectively. Got size {size}."
        )
    if not theta.is_floating_point():
        raise ValueError(
            f"Expected theta to have floating point type, but got {theta.dtype}"
        )
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} "
            f"for size {size}. Got {theta.shape}."
        )
    if min(size) < 1:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners and min(size[2:]) == 1:
        warn(
            "affine_grid() with align_corners=True puts the one point of a dimension "
            "of size 1 at 0, its middle; before PyTorch 1.3 it was at -1. See the "
            "documentation of affine_grid for details.",
        )
    if theta.shape[0] != size[0]:
        raise RuntimeError(
            f"affine_grid(): expected a matrix for each of {size[0]} images, got "
            f"{theta.shape[0]}"
        )
    kind = {"dtype": theta.dtype, "device": theta.device}
    points = [ember.ones((), **kind)]
    for n in size[2:]:
        line = ember.linspace(-1, 1, n, **kind) if n > 1 else ember.zeros(1, **kind)
        points.append(line if align_corners else line * ((n - 1) / n))
    grids = ember.meshgrid(*points[1:], indexing="ij")
    # Coordinates are (x, y, z): the last axis first.
    base = ember.stack([*reversed(grids), ember.ones_like(grids[0])], -1)
    moved = base.reshape(1, -1, dims + 1) @ theta.transpose(1, 2)
    return moved.reshape(theta.shape[0], *size[2:], dims)


@overridable(traits="float32")
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Values of [N, C, (D,) H, W] at points [N, ..., 2 or 3] in (x, y, z), -1 to 1.

    Args:
        input: [N, C, H, W] or [N, C, D, H, W]
        grid: [N, H', W', 2] or [N, D', H', W', 3]: where each output pixel is taken
            from
        mode: `"bilinear"`, `"nearest"` or `"bicubic"`
        padding_mode: what lies outside: `"zeros"`, `"border"` or `"reflection"`
        align_corners: whether -1 and 1 are the middles of the outermost pixels

    >>> x = ember.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
    >>> middle = ember.zeros(1, 1, 1, 2)
    >>> F.grid_sample(x, middle, align_corners=True)
    tensor([[[[1.5000]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or "
            f"'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', "
            f"'border', or 'reflection', but got: '{padding_mode}'"
        )
    dims = input.dim() - 2
    _check_grid(input, grid, dims, mode)
    sizes = input.shape[2:]
    align = bool(align_corners)
    places = []
    for axis, n in enumerate(sizes):
        x = grid[..., dims - 1 - axis]
        x = (x + 1) / 2 * (n - 1) if align else ((x + 1) * n - 1) / 2
        bounded = x if mode == "bicubic" else _bounded(x, n, padding_mode, align)
        places.append(bounded)
    taps = [_grid_taps(x, mode) for x in places]
    flat = input.flatten(2)
    batch, channels = input.shape[:2]
    total = None
    for corner in itertools.product(*taps):
        index, weight, inside = 0, None, None
        for n, (at, share) in zip(sizes, corner):
            if mode == "bicubic":
                at = _bounded(at, n, padding_mode, align)
            ok = (at >= 0) & (at <= n - 1)
            inside = ok if inside is None else inside & ok
            weight = share if weight is None or share is None else weight * share
            index = index * n + at.detach().clamp(min=0, max=n - 1).long()
        index = ember.where(inside, index, 0).flatten(1).unsqueeze(1)
        value = flat.gather(2, index.expand(-1, channels, -1))
        value = value.reshape(batch, channels, *grid.shape[1:-1])
        # Not a product: the weights of points that are not finite are NaN.
        factor = (
            inside.to(input.dtype)
            if weight is None
            else ember.where(inside, weight, 0.0)
        )
        value = value * factor.unsqueeze(1)
        total = value if total is None else total + value
    if mode != "nearest" and dims == 2 and padding_mode == "zeros":
        lost = sum((x - x).detach() for x in places)  # NaN where a point is not finite
        total = total + lost.unsqueeze(1)
    if mode == "nearest" and grid.requires_grad:
        # The gradient of the grid is zero, but there is one.
        never = ember.zeros(grid.shape, dtype=ember.bool, device=grid.device)
        total = total + ember.where(never, grid, 0).sum(-1).unsqueeze(1)
    return total


def _cubic(x: Tensor, a: float) -> Tensor:
    """Keys' convolution kernel, for distances that are not negative."""
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return ember.where(x <= 1, inner, ember.where(x >= 2, 0.0, outer))


def _grid_taps(x: Tensor, mode: str) -> list[tuple[Tensor, Tensor | None]]:
    """Neighbours along an axis with their weights."""
    if mode == "nearest":
        return [(x.detach().round(), None)]
    low = x.detach().floor()
    part = x - low
    if mode == "bilinear":
        return [(low, 1 - part), (low + 1, part)]
    return [(low + i, _cubic((part - i).abs(), -0.75)) for i in (-1, 0, 1, 2)]


def _bounded(x: Tensor, n: int, padding_mode: str, align: bool) -> Tensor:
    """Positions brought back into the image, if the padding is not zeros."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        low, high = (0.0, n - 1.0) if align else (-0.5, n - 0.5)
        twice = 2 * (high - low)
        if twice == 0:
            return ember.where(x == 0, x, 0.0)
        away = (x - low).abs()
        rest = away - (away.detach() / twice).trunc() * twice
        x = ember.minimum(rest, twice - rest) + low
    # NaN counts as the first pixel.
    return ember.where(x.detach() >= 0, x.clamp(max=n - 1), 0.0)


def _check_grid(input: Tensor, grid: Tensor, dims: int, mode: str) -> None:
    if input.dtype != grid.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to have the same dtype, but input"
            f" has {input.dtype} and grid has {grid.dtype}"
        )
    if input.shape[:1] != grid.shape[:1]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got "
            f"input with sizes {list(input.shape)} and grid with sizes "
            f"{list(grid.shape)}"
        )
    if grid.shape[-1:] != (dims,):
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {dims} in last dimension, but "
            f"got grid with sizes {list(grid.shape)}"
        )
    if dims not in (2, 3) or input.dim() != grid.dim():
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of "
            f"dimensions, but got input with sizes {list(input.shape)} and grid with "
            f"sizes {list(grid.shape)}"
        )
    if any(n == 0 for n in input.shape[2:]):
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but "
            f"input has sizes {list(input.shape)}"
        )
    if mode == "bicubic" and dims != 2:
        raise RuntimeError(
            "grid_sampler(): bicubic interpolation only supports 4D input"
        )


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of rows.

    Args:
        input: [N, D]
        p: exponent of the norm

    Returns:
        N (N - 1) / 2 distances, as in the upper triangle of the matrix of all

    >>> F.pdist(ember.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 4.0]]))
    tensor([5., 4., 3.])
    """
    return ember.pdist(input, p)
