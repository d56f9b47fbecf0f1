"""How the space of a call is walked: axes that can be walked as one are one, and one of
those that are left is vectorised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

SHORT = 16  # axes are too short to be vectorised, if another is longer


class Axes(NamedTuple):
    """A space as it is walked: sizes, and strides in bytes of each operand. The last
    `reduced` axes are those that a reduction goes over. `columns`: not the last axis
    is vectorised, but the last one that stays."""

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    reduced: int = 0
    columns: bool = False

    @property
    def stay(self) -> int:
        """How many axes no reduction goes over."""
        return len(self.sizes) - self.reduced

    @property
    def axis(self) -> int:
        """The one that is vectorised."""
        return self.stay - 1 if self.columns else len(self.sizes) - 1

    @property
    def size(self) -> int:
        """Elements that are reduced together."""
        return math.prod(self.sizes[self.stay :])

    def chunked(self, length: int) -> Axes:
        """With a first axis that counts pieces of the first one that is reduced, the
        last of which may be shorter."""
        at = self.stay
        pieces = -(-self.sizes[at] // length)
        sizes = (pieces, *self.sizes[:at], length, *self.sizes[at + 1 :])
        strides = tuple((length * s[at], *s) for s in self.strides)
        return self._replace(sizes=sizes, strides=strides)

    def bounds(self, operand: int, size: int) -> tuple[int, int]:
        """First and last element of an operand that a walk touches."""
        steps = self.strides[operand]
        walk = list(zip(self.sizes, steps, strict=True))
        # What has one element for all that is reduced is written though it be nothing.
        if 0 in self.sizes[: self.stay] or any(not n and s for n, s in walk):
            return 0, -1
        ends = [(n - 1) * s // size for n, s in walk]
        return sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)

    def patterns(self, sizes: Sequence[int], inputs: int) -> str:
        """A letter for each operand, as `Layout` has them."""
        length, letters = self.sizes[self.axis], ""
        for place, (steps, size) in enumerate(zip(self.strides, sizes, strict=True)):
            step = steps[self.axis]
            if step == size or length == 1:
                letters += "c"
            else:
                letters += "b" if step == 0 and place < inputs else "s"
        return letters


def _merged(sizes: list[int], steps: list[list[int]], order: Sequence[int]) -> None:
    """Keeps the axes of `order` alone, and walks neighbours as one where all operands
    can."""
    sizes[:] = [sizes[d] for d in order]
    for s in steps:
        s[:] = [s[d] for d in order]
    for d in reversed(range(len(sizes) - 1)):
        if all(s[d] == s[d + 1] * sizes[d + 1] for s in steps):
            sizes[d] *= sizes.pop(d + 1)
            for s in steps:
                s.pop(d)


def walked(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> Axes:
    """The space of pointwise work. The last axis is vectorised: the longest, where what
    comes last is short."""
    sizes, steps = list(shape), [list(s) for s in strides]
    _merged(sizes, steps, [d for d, n in enumerate(sizes) if n != 1])
    if not sizes:
        sizes, steps = [1], [[0] for _ in steps]
    if sizes[-1] < SHORT:
        longest = max(range(len(sizes)), key=sizes.__getitem__)
        if sizes[longest] > sizes[-1]:
            for row in (sizes, *steps):
                row.append(row.pop(longest))
    return Axes(tuple(sizes), tuple(map(tuple, steps)))


def reduced(
    shape: Sequence[int],
    strides: Sequence[Sequence[int]],
    axes: Sequence[int],
    elements: Sequence[int],
) -> Axes:
    """The space of a reduction over some axes: those that stay come first. `elements`
    are the sizes of the inputs' elements.

    Vectors lie along what most inputs have one after the other: a row, or columns.
    """
    away = {d % len(shape) for d in axes} if shape else set()
    stay = [d for d, n in enumerate(shape) if d not in away and n != 1]
    gone = [d for d in sorted(away) if shape[d] != 1]
    inputs = list(zip(strides, elements, strict=False))

    def far_to_near(d: int) -> int:
        return -sum(abs(s[d]) for s, _ in inputs)

    own = [math.prod(n for n, s in zip(shape, i[0], strict=True) if s) for i in inputs]

    def best(among: list[int]) -> tuple[int, int]:
        """How many elements inputs have in order along an axis, and how long it is, at
        most."""
        found = []
        for d in among:
            near = [n for n, (s, e) in zip(own, inputs, strict=True) if s[d] == e]
            found.append((sum(near), shape[d]))
        return max(found, default=(0, 1))

    def last(among: list[int]) -> list[int]:
        """The axis to vectorise at the end."""
        among = sorted(among, key=far_to_near)
        if among:
            wanted = best(among)
            found = [d for d in among if best([d]) == wanted][-1]
            among.append(among.pop(among.index(found)))
        return among

    long = [d for d in stay if shape[d] >= SHORT]
    (near, _), (row, length) = best(long), best(gone)
    columns = bool(long) and (near > row or length < SHORT)
    columns = columns and all(shape[d] for d in gone)
    if columns:
        stay = [d for d in stay if d not in long] + last(long)
        gone = sorted(gone, key=far_to_near)
    else:
        stay, gone = sorted(stay, key=far_to_near), last(gone)
    sizes, steps = list(shape), [list(s) for s in strides]
    rest_sizes, rest = list(shape), [list(s) for s in strides]
    _merged(sizes, steps, stay)
    _merged(rest_sizes, rest, gone)
    if 0 in rest_sizes:  # nothing is read
        rest_sizes = [0]
        rest = [[n] for n in elements] + [[0] for _ in strides[len(inputs) :]]
    elif not rest_sizes:
        rest_sizes, rest = [1], [[0] for _ in rest]
    return Axes(
        (*sizes, *rest_sizes),
        tuple((*a, *b) for a, b in zip(steps, rest, strict=True)),
        len(rest_sizes),
        columns,
    )
