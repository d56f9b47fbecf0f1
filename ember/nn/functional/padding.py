"""Padding of the last axes: with a value, mirrored, repeated or wrapped around."""

from collections.abc import Sequence

import ember
from ember import Tensor


def pad(
    input: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> Tensor:
    """`input` with `pad` = (before, after) of the last axis, of the one before, ...

    Negative numbers cut off. `mode` is "constant", "reflect", "replicate" or
    "circular"; all but the first leave at least the first axis alone.

    >>> import ember
    >>> ember.nn.functional.pad(ember.tensor([[1, 2, 3]]), (2, 1), mode="reflect")
    tensor([[3, 2, 1, 2, 3, 2]])
    """
    for at, n in enumerate(pad):
        if isinstance(n, float | bool):
            raise TypeError(
                f"pad(): argument 'pad' must be tuple of ints, but found {n} at pos "
                f"{at}"
            )
    sides = [int(n) for n in pad]
    if len(sides) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(sides) > 2 * input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input "
            f"dimension but got padding length {len(sides)} and input of dimension "
            f"{input.dim()}"
        )
    pairs = list(zip(sides[::2], sides[1::2]))
    if mode == "constant":
        return _constant(input, pairs, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in _PIECES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if not 1 <= len(pairs) <= 3 or input.dim() - len(pairs) not in (1, 2):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for "
            f"now: Padding size {len(sides)} is not supported for {input.dim()}D input "
            "tensor."
        )
    _check_input(input, len(pairs), mode)
    for i, (before, after) in enumerate(pairs):
        axis = input.dim() - 1 - i
        if before or after:
            input = ember.cat(_PIECES[mode](input, axis, before, after), axis)
    return input.clone() if not any(sides) else input


def _constant(input: Tensor, pairs, value) -> Tensor:
    size = list(input.shape)
    inner = [slice(None)] * input.dim()  # of the result
    kept = [slice(None)] * input.dim()  # of the input
    for i, (before, after) in enumerate(pairs):
        axis = input.dim() - 1 - i
        size[axis] += before + after
        if size[axis] < 0:
            raise RuntimeError(
                f"The input size {input.shape[axis]}, plus negative padding {before} "
                f"and {after}, resulted in a negative output size, which is invalid. "
                "Check dimension "
                f"{axis} of your input."
            )
        if input.shape[axis] + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(
                f"pad(): padding ({before}, {after}) cuts off more than the input's "
                f"{input.shape[axis]} elements along dimension {axis}"
            )
        stop = size[axis] - max(after, 0)
        inner[axis] = slice(max(before, 0), max(stop, max(before, 0)))
        stop = input.shape[axis] - max(-after, 0)
        kept[axis] = slice(max(-before, 0), max(stop, max(-before, 0)))
    if not input.dim():
        return input.clone()
    result = input.new_full(size, value)  # of a batch, one for each
    for last, rank in ((ember.channels_last, 4), (ember.channels_last_3d, 5)):
        plain = input.dim() != rank or input.is_contiguous()
        if not plain and input.is_contiguous(memory_format=last):
            result = result.contiguous(memory_format=last)
    part = result[tuple(inner)]
    if part.numel():
        part.copy_(input[tuple(kept)])
    elif input.requires_grad and ember.is_grad_enabled():
        return result + input.sum() * 0  # keeps the graph whole; there is no element
    return result


def _check_input(input: Tensor, count: int, mode: str) -> None:
    # The batch may be empty; no other axis may.
    start = 1 if input.dim() == count + 2 else 0
    if any(n == 0 for n in input.shape[start:]):
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly "
            "0 batch size and other non-zero dimensions for input, but got: "
            f"{list(input.shape)} ({mode} padding)"
        )


def _places(
    input: Tensor, axis: int, before: int, after: int
) -> tuple[range, range, range]:
    """Where the result lies, counted from the input's first place: before, in and
    after it."""
    size = input.shape[axis]
    if size + before + after < 1:
        raise RuntimeError(
            f"pad(): input size {size} at dimension {axis} with padding ({before}, "
            f"{after}) gives an output size of {size + before + after}"
        )
    start, stop = -before, size + after
    return (
        range(start, min(stop, 0)),
        range(max(start, 0), min(stop, size)),
        range(max(start, size), stop),
    )


def _part(input: Tensor, axis: int, places: range) -> list[Tensor]:
    return [input.narrow(axis, places.start, len(places))] if places else []


def _reflect(input: Tensor, axis: int, before: int, after: int) -> list[Tensor]:
    last = input.shape[axis] - 1
    if before > last or after > last:
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, but "
            f"got: padding ({before}, {after}) at dimension {axis} of input "
            f"{list(input.shape)}"
        )
    left, inner, right = _places(input, axis, before, after)

    def mirrored(around: int, places: range) -> list[Tensor]:
        source = range(2 * around + 1 - places.stop, 2 * around + 1 - places.start)
        return [t.flip(axis) for t in _part(input, axis, source)]

    return mirrored(0, left) + _part(input, axis, inner) + mirrored(last, right)


def _replicate(input: Tensor, axis: int, before: int, after: int) -> list[Tensor]:
    left, inner, right = _places(input, axis, before, after)
    size = list(input.shape)

    def copies(place: int, count: int) -> list[Tensor]:
        size[axis] = count
        return [input.narrow(axis, place, 1).expand(size)] if count else []

    last = input.shape[axis] - 1
    return copies(0, len(left)) + _part(input, axis, inner) + copies(last, len(right))


def _circular(input: Tensor, axis: int, before: int, after: int) -> list[Tensor]:
    size = input.shape[axis]
    if before > size or after > size:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if size + before + after < 0:
        raise RuntimeError("Negative padding value is resulting in an empty dimension")
    # What is cut off does not come back on the other side.
    first, kept = max(-before, 0), size + min(before, 0) + min(after, 0)
    if kept < max(before, after, 1):
        raise RuntimeError("Padding value causes wrapping around more than once.")
    inner = range(first, first + kept)
    left, right = inner[kept - max(before, 0) :], inner[: max(after, 0)]
    return [t for places in (left, inner, right) for t in _part(input, axis, places)]


_PIECES = {"reflect": _reflect, "replicate": _replicate, "circular": _circular}
