"""`rearrange`: dimensions moved, split and joined by a pattern of names."""

import re

import ember
from ember import Tensor


def rearrange(tensor, pattern: str, **axes_lengths: int) -> Tensor:
    """Move, split and join dimensions as `pattern` says.

    Parentheses group dimensions that are one on that side, "..." is all others, 1 a
    dimension of size one.

    >>> import ember
    >>> x = ember.arange(6).reshape(2, 3)
    >>> ember.func.rearrange(x, "a b -> (b a)")
    tensor([0, 3, 1, 4, 2, 5])
    >>> ember.func.rearrange(ember.arange(4), "(h w) -> h w", h=2).shape
    torch.Size([2, 2])
    """
    if not isinstance(tensor, Tensor):
        tensor = ember.stack(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"expected one '->' in the pattern {pattern!r}")
    left, right = (_parse(side, pattern) for side in sides)
    missing = tensor.dim() - len(left)
    if ["..."] in left:
        names = [[f"...{i}"] for i in range(missing + 1)]
        left, right = _fill(left, names), _fill(right, names)
    elif missing != 0:
        raise ValueError(
            f"the pattern {pattern!r} has {len(left)} dimensions on the left, the "
            f"tensor {tensor.dim()}"
        )
    sizes = dict(axes_lengths)
    shape: list[int] = []
    for group, size in zip(left, tensor.shape):
        shape += _split(group, size, sizes, pattern)
    order = [name for group in left for name in group]
    wanted = [name for group in right for name in group]
    kept = [name for name in order if name != "1"]
    if sorted(kept) != sorted(name for name in wanted if name != "1"):
        raise ValueError(f"the sides of {pattern!r} do not name the same dimensions")
    shape = [n for name, n in zip(order, shape) if name != "1"]
    split = tensor.reshape(shape)
    moved = split.permute([kept.index(name) for name in wanted if name != "1"])
    final = []
    for group in right:
        total = 1
        for name in group:
            total *= 1 if name == "1" else sizes[name]
        final.append(total)
    return moved.reshape(final)


def _parse(side: str, pattern: str) -> list[list[str]]:
    """The groups of one side, each a list of names."""
    found = re.findall(r"\(([^()]*)\)|(\.\.\.)|(\w+)", side)
    rest = re.sub(r"\([^()]*\)|\.\.\.|\w+|\s", "", side)
    if rest:
        raise ValueError(f"unexpected {rest!r} in the pattern {pattern!r}")
    groups = [
        [dots or name] if dots or name else inner.split() for inner, dots, name in found
    ]
    names = [n for group in groups for n in group if n != "1"]
    if len(set(names)) != len(names):
        raise ValueError(f"a name appears twice on one side of {pattern!r}")
    return groups


def _fill(groups: list, names: list) -> list:
    """The dots as names of their own."""
    made: list = []
    for group in groups:
        if group == ["..."]:
            made += names
        elif "..." in group:
            flat = [n for (n,) in names]
            i = group.index("...")
            made.append([*group[:i], *flat, *group[i + 1 :]])
        else:
            made.append(group)
    return made


def _split(group: list, size: int, sizes: dict, pattern: str) -> list[int]:
    """Sizes of the members of a group, of which one may be unknown."""
    known, unknown = 1, []
    for name in group:
        if name == "1":
            continue
        if name in sizes:
            known *= sizes[name]
        else:
            unknown.append(name)
    if len(unknown) > 1:
        raise ValueError(f"give the sizes of all but one of {unknown} in {pattern!r}")
    if unknown:
        if known == 0 or size % known:
            raise ValueError(f"a dimension of {size} does not divide by {known}")
        sizes[unknown[0]] = size // known
    elif known != size:
        raise ValueError(f"{' '.join(group)} is {known}, but the dimension {size}")
    return [1 if name == "1" else sizes[name] for name in group]
