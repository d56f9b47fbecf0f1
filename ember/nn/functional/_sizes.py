"""Sizes that are given as one number or as one for each spatial axis."""

from collections.abc import Sequence


def expanded(name: str, value, dims: int, default=None) -> tuple[int, ...]:
    """`value` as a tuple of `dims` integers; `default` stands in for None or ()."""
    if value is None or (isinstance(value, Sequence) and len(value) == 0):
        if default is None:
            raise TypeError(f"{name} must be an int or {dims} of them, not {value!r}")
        return default
    if isinstance(value, (str, float)):
        raise TypeError(f"{name} must be an int or {dims} of them, not {value!r}")
    if isinstance(value, Sequence):
        values = tuple(int(v) for v in value)
        if len(values) == 1:
            return values * dims
        if len(values) != dims:
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {dims} "
                f"values to match the convolution dimensions, but got {name}="
                f"{list(values)}"
            )
        return values
    return (int(value),) * dims


def text(sizes) -> str:
    """Sizes as they are written in messages: (3 x 4)."""
    return "(" + " x ".join(map(str, sizes)) + ")"
