"""Functions of the top level under the names and with the arguments of PyTorch's own
operators, where nn.functional says the same in other words.
"""

from __future__ import annotations

from collections.abc import Sequence

from ember import Tensor

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """`nn.functional.pad` with a constant.

    >>> import ember
    >>> ember.constant_pad_nd(ember.ones(2), (1, 2), 5)
    tensor([5., 1., 1., 5., 5.])
    """
    from ember.nn.functional import pad as padded

    return padded(input, pad, "constant", value)


def grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """`nn.functional.grid_sample`, with numbers for bilinear, nearest, bicubic and for
    zeros, border, reflection.

    >>> import ember
    >>> image, point = ember.arange(4.0).view(1, 1, 2, 2), ember.zeros(1, 1, 1, 2)
    >>> ember.grid_sampler(image, point, 0, 0, True)
    tensor([[[[1.5000]]]])
    """
    from ember.nn.functional import grid_sample

    if not 0 <= interpolation_mode < 3 or not 0 <= padding_mode < 3:
        raise RuntimeError(
            "grid_sampler(): interpolation_mode and padding_mode are 0, 1 or 2, got "
            f"{interpolation_mode} and {padding_mode}"
        )
    return grid_sample(
        input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners
    )


def grid_sampler_2d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """`grid_sampler` of images [N, C, H, W]."""
    _check_dims(input, 4)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """`grid_sampler` of volumes [N, C, D, H, W]."""
    _check_dims(input, 5)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def _check_dims(input: Tensor, dims: int) -> None:
    if input.dim() != dims:
        raise RuntimeError(
            f"grid_sampler(): expected a tensor of {dims} dimensions, got {input.dim()}"
        )
