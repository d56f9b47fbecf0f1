"""Normalization by neighbours; the other norms are ops (core/ops/*norm.cpp)."""

from ember import Tensor


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """`input` divided by a power of the mean square of `size` neighbouring channels.

        x / (k + alpha * mean(x²))^beta

    Args:
        input: [N, C, ...]
        size: number of channels
        alpha: factor of the mean
        beta: exponent
        k: summand

    >>> F.local_response_norm(ember.ones(1, 4, 1), 3, alpha=1.0, beta=1.0).flatten()
    tensor([0.6000, 0.5000, 0.5000, 0.6000])
    """
    if input.dim() < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input (got "
            f"{input.dim()} dimensions)"
        )
    if size < 1:
        raise RuntimeError(
            f"local_response_norm(): size should be greater than zero, but got {size}"
        )
    if input.numel() == 0:
        return input
    from ember.nn.functional.padding import pad

    around = [0, 0] * (input.dim() - 2) + [size // 2, (size - 1) // 2]
    windows = pad(input * input, around).unfold(1, size, 1)
    if input.is_floating_point():
        square = windows.mean(-1)
    else:
        square = windows.sum(-1).div(size, rounding_mode="trunc")
    return input / (square * alpha + k) ** beta
