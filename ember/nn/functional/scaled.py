"""Products of float8 matrices that come with scales."""

from enum import IntEnum

import ember
from ember import Tensor


class ScalingType(IntEnum):
    """What one scale is for: a whole matrix, a row, a block.

    >>> F.ScalingType.RowWise.name
    'RowWise'
    """

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(IntEnum):
    """In which order the scales of blocks lie in memory.

    >>> F.SwizzleType.NO_SWIZZLE.name
    'NO_SWIZZLE'
    """

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    output_dtype: "ember.dtype | None" = ember.bfloat16,
    contraction_dim: list[int] | tuple[int, ...] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """`(mat_a * scale_a) @ (mat_b * scale_b) + bias` of float8 matrices.

    There is one scale for all of a matrix (`TensorWise`), or one for each row of
    `mat_a` and each column of `mat_b` (`RowWise`), as in PyTorch on the CPU.

    >>> import ember
    >>> import ember.nn.functional as F
    >>> a, half = ember.ones(1, 4).to(ember.float8_e4m3fn), ember.tensor(0.5)
    >>> kind = F.ScalingType.TensorWise
    >>> F.scaled_mm(a, a.t(), half, kind, half, kind)
    tensor([[1.]], dtype=torch.bfloat16)
    """
    one_a, one_b = _single(scale_a), _single(scale_b)
    recipes = _single(scale_recipe_a), _single(scale_recipe_b)
    swizzles = _single(swizzle_a), _single(swizzle_b)
    plain = (ScalingType.TensorWise,) * 2, (ScalingType.RowWise,) * 2
    if recipes not in plain or any(swizzles) or one_a is None or one_b is None:
        raise ValueError(
            "scaled_mm(): Invalid scaling configuration. Scales are TensorWise or "
            f"RowWise for both matrices and not swizzled, got {scale_recipe_a!r} and "
            f"{scale_recipe_b!r}"
        )
    if list(contraction_dim) not in ([], [-1, -2], [1, 0], [1, -2], [-1, 0]):
        raise ValueError(
            "scaled_mm(): contraction_dim has to name the columns of mat_a and the "
            f"rows of mat_b, got {contraction_dim}"
        )
    return ember._C._scaled_mm(
        mat_a,
        mat_b,
        one_a,
        one_b,
        bias,
        out_dtype=output_dtype,
        use_fast_accum=use_fast_accum,
    )


def _single(value):
    """The value of a list of one; None of any other."""
    if not isinstance(value, list | tuple):
        return value
    return value[0] if len(value) == 1 else None
