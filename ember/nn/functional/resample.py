"""Images made larger or smaller: the arguments of `interpolate`, an op of the core."""

import math

from ember import _C, Tensor
from ember._types import Numbers, Sizes
from ember.nn.functional.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)

_interpolate = _C._ops["_interpolate"]
_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "lanczos": 2, "trilinear": 3}


def interpolate(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: Numbers | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """[N, C, ...] resampled to `size`, or by `scale_factor`.

    `mode` is nearest, nearest-exact, area, linear, bilinear, bicubic, lanczos or
    trilinear.

    >>> import ember
    >>> x = ember.arange(2.0).view(1, 1, 2)
    >>> ember.nn.functional.interpolate(x, scale_factor=2, mode="linear")
    tensor([[[0.0000, 0.2500, 0.7500, 1.0000]]])
    """
    dims = input.dim() - 2
    _check_mode(input, mode, align_corners, antialias)
    size, scales = _sizes(input, size, scale_factor, recompute_scale_factor)
    if any(n <= 0 for n in size) or any(n <= 0 for n in input.shape[2:]):
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{list(input.shape[2:])} output {size}"
        )
    if any(n >= 2**63 for n in size):
        raise RuntimeError(f"interpolate(): an output of sizes {size} is too large")
    if mode == "area":
        pools = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
        return pools[dims - 1](input, size)
    return _interpolate(input, size, scales, mode, bool(align_corners), antialias)


def _size(n) -> int:
    whole = n if not isinstance(n, Tensor) or n.is_floating_point() else n.item()
    if not hasattr(whole, "__index__") or isinstance(whole, Tensor):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
            f"Tuple[int, int, int], but got size with {n!r:.80}"
        )
    return int(whole)


def _sizes(input: Tensor, size, scale_factor, recompute) -> tuple[list[int], list]:
    """The output sizes, and the scales that were given and count, or 0."""
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != dims:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, "
                    f"but got input with spatial dimensions of {list(input.shape[2:])} "
                    f"and output size of {size}. Please provide input tensor in (N, C, "
                    "d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
                )
            return [_size(n) for n in size], [0.0] * dims
        if recompute:
            raise ValueError(
                "recompute_scale_factor is not meaningful with an explicit size."
            )
        return [_size(size)] * dims, [0.0] * dims
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales = scale_factor
    if not isinstance(scales, (list, tuple)):
        scales = [scales] * dims
    if len(scales) != dims:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, "
            f"but got input with spatial dimensions of {list(input.shape[2:])} and "
            f"scale_factor of shape {list(scales)}."
        )
    given = input.shape[2:]
    sizes = [math.floor(float(n) * float(s)) for n, s in zip(given, scales)]
    return sizes, [0.0] * dims if recompute else [float(s) for s in scales]


def _check_mode(input: Tensor, mode: str, align_corners, antialias: bool) -> None:
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: "
                "linear | bilinear | bicubic | trilinear"
            )
        if input.dim() not in (3, 4, 5):
            raise NotImplementedError(
                "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
                f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic "
                f"| trilinear | area | nearest-exact (got {mode})"
            )
    elif mode not in _AXES:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | "
            f"trilinear | area | nearest-exact (got {mode})"
        )
    elif mode == "lanczos" and input.dim() != 4:
        raise ValueError(
            f"lanczos mode requires a 4-D tensor as input, got {input.dim()}-D"
        )
    elif input.dim() - 2 != _AXES[mode]:
        raise NotImplementedError(
            f"Got {input.dim()}D input, but {mode} mode needs {_AXES[mode] + 2}D input"
        )
    if antialias and (mode not in ("bilinear", "bicubic", "lanczos")):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes "
            "and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")


def upsample(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: Numbers | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Old name of `interpolate`.

    >>> F.upsample(ember.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: Sizes | None = None, scale_factor: Numbers | None = None
) -> Tensor:
    """`interpolate` with mode="nearest".

    >>> F.upsample_nearest(ember.tensor([[[[0.0, 3.0]]]]), scale_factor=2)
    tensor([[[[0., 0., 3., 3.],
              [0., 0., 3., 3.]]]])
    """
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: Sizes | None = None, scale_factor: Numbers | None = None
) -> Tensor:
    """`interpolate` with mode="bilinear" and aligned corners.

    >>> F.upsample_bilinear(ember.tensor([[[[0.0, 3.0]]]]), scale_factor=2)
    tensor([[[[0., 1., 2., 3.],
              [0., 1., 2., 3.]]]])
    """
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
