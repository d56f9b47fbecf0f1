"""einsum and tensordot: sums of products, reduced to batched matrix products.

Every operand is a tensor and a list of labels. Two operands are contracted at a time,
the cheapest pair first (or the order that `opt_einsum`-style callers expect, if there
are only two), each contraction being one `bmm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import ember
from ember._C import Tensor
from ember._functions.grids import check_tensors
from ember._overridable import overridable

__all__ = ["einsum", "tensordot"]

Labels = list[int]
_ELLIPSIS = -1000  # labels of broadcast dimensions: _ELLIPSIS + 0, 1 ... from the left


@overridable
def einsum(equation: str | Tensor, *operands) -> Tensor:
    """Sums products of elements along dimensions named by letters.

    >>> import ember
    >>> a, b = ember.ones(2, 3), ember.ones(3, 4)
    >>> ember.einsum("ij,jk->ik", a, b).shape
    torch.Size([2, 4])
    >>> ember.einsum("ii", ember.eye(3)).item()
    3.0
    """
    if not isinstance(equation, str):
        check_tensors(
            "einsum",
            (equation, *operands)[: -1 if len(operands) % 2 == 0 else None : 2],
        )
        tensors, inputs, output = _from_sublists((equation, *operands))
    else:
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            return einsum(equation, *operands[0])  # which may be overridden
        tensors = list(operands)
        check_tensors("einsum", tensors)
        inputs, output = _parse(equation, tensors)
    _check_sizes(tensors, inputs)
    terms = [_take_diagonals(t, labels) for t, labels in zip(tensors, inputs)]
    return _contract(terms, output)


# -- reading the equation --------------------------------------------------------------


def _parse(equation: str, tensors: Sequence[Tensor]) -> tuple[list[Labels], Labels]:
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if not tensors:
        raise ValueError("einsum(): must provide at least one operand")
    if len(texts) != len(tensors):
        more = "fewer" if len(texts) > len(tensors) else "more"
        raise RuntimeError(
            f"einsum(): {more} operands were provided than specified in the equation: "
            f"{len(tensors)} for '{equation}'"
        )
    inputs = []
    for i, (text, t) in enumerate(zip(texts, tensors)):
        inputs.append(_labels(text, t.dim(), i))
    if arrow:
        if right.count("...") > 1:
            raise RuntimeError(
                "einsum(): found '.' for output but an ellipsis (...) was already found"
            )
        widest = max((sum(x < 0 for x in labels) for labels in inputs), default=0)
        named = len(right.replace("...", ""))
        output = _labels(right, named + widest if "..." in right else named, None)
        known = {x for labels in inputs for x in labels}
        for x in output:
            if x not in known and x >= 0:
                raise RuntimeError(
                    f"einsum(): output subscript {chr(x)} does not appear in the "
                    "equation for any input operand"
                )
        if len(set(output)) != len(output):
            repeated = next(x for x in output if output.count(x) > 1)
            raise RuntimeError(
                f"einsum(): output subscript {chr(repeated)} appears more than once "
                "in the output"
            )
        return inputs, output
    return inputs, _implicit_output(inputs)


def _labels(text: str, ndim: int, operand: int | None) -> Labels:
    """Labels of one operand; an ellipsis stands for as many as are left over."""
    where = "output" if operand is None else f"operand {operand}"
    before, dots, after = text.partition("...")
    for c in before + after:
        if not (c.isascii() and c.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at {where}: '{c}' in '{text}', "
                "subscripts must be in [a-zA-Z]"
            )
    named = len(before) + len(after)
    if (not dots and named != ndim) or named > ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not "
            f"match the number of dimensions ({ndim}) for {where}"
            + ("" if dots else " and no ellipsis was given")
        )
    extra = ndim - named
    return [
        *map(ord, before),
        *(_ELLIPSIS - extra + i + 1 for i in range(extra)),  # aligned at the right
        *map(ord, after),
    ]


def _implicit_output(inputs: list[Labels]) -> Labels:
    flat = [x for labels in inputs for x in labels]
    broadcast = sorted({x for x in flat if x < 0})
    return broadcast + sorted(x for x in set(flat) if x >= 0 and flat.count(x) == 1)


def _from_sublists(operands) -> tuple[list[Tensor], list[Labels], Labels]:
    """The other calling form: einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    if len(operands) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or "
            "at least one operand and its subscripts list"
        )

    def text(items) -> str:
        out = ""
        for item in items:
            if item is Ellipsis:
                out += "..."
            elif 0 <= item < 52:
                out += chr(ord("A") + item) if item < 26 else chr(ord("a") + item - 26)
            else:
                raise ValueError(
                    "einsum(): expected subscripts to be within the range [0, 52), "
                    f"but got {item}"
                )
        return out

    tensors = list(operands[0 : len(operands) // 2 * 2 : 2])
    equation = ",".join(text(x) for x in operands[1 : len(tensors) * 2 : 2])
    if len(operands) % 2:
        equation += "->" + text(operands[-1])
    inputs, output = _parse(equation, tensors)
    return tensors, inputs, output


def _check_sizes(tensors: list[Tensor], inputs: list[Labels]) -> None:
    sizes: dict[int, int] = {}
    for i, (t, labels) in enumerate(zip(tensors, inputs)):
        for dim, (label, n) in enumerate(zip(labels, t.shape)):
            known = sizes.get(label, 1)
            if known != 1 and n != 1 and n != known:
                letter = chr(label) if label > 0 else "..."
                raise RuntimeError(
                    f"einsum(): subscript {letter} has size {n} for operand {i} "
                    f"dimension {dim}, which does not broadcast with previously seen "
                    f"size {known}"
                )
            sizes[label] = max(known, n) if n else 0


# -- contracting -----------------------------------------------------------------------

Term = tuple[Tensor, Labels]


def _take_diagonals(t: Tensor, labels: Labels) -> Term:
    """A label that an operand has twice means its diagonal."""
    labels = list(labels)
    for label in set(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            if t.shape[i] != t.shape[j]:
                raise RuntimeError(
                    f"einsum(): subscript {chr(label)} is repeated for an operand but "
                    f"the sizes don't match, {t.shape[j]} != {t.shape[i]}"
                )
            t = t.diagonal(0, i, j)
            del labels[j], labels[i]
            labels.append(label)
    return t, labels


def _contract(terms: list[Term], output: Labels) -> Tensor:
    terms, product = list(terms), len(terms) > 1
    while len(terms) > 1:
        i, j = _cheapest_pair(terms)
        right, left = terms.pop(j), terms.pop(i)
        needed = set(output).union(*(labels for _, labels in terms))
        terms.append(_pair(left, right, needed))
    t, labels = terms[0]
    gone = [d for d, x in enumerate(labels) if x not in output]
    if gone:  # a sum of products has the dtype of products, unlike a sum
        t = t.sum(gone, dtype=t.dtype if product else None)
        labels = [x for x in labels if x in output]
    for x in output:
        if x not in labels:  # an ellipsis of the output that no operand fills
            t, labels = t.unsqueeze(-1), [*labels, x]
    return t.permute([labels.index(x) for x in output])


def _cheapest_pair(terms: list[Term]) -> tuple[int, int]:
    """The pair whose contraction touches the fewest combinations of indices."""
    if len(terms) == 2:
        return 0, 1

    def cost(i: int, j: int) -> int:
        sizes = dict(zip(terms[i][1], terms[i][0].shape))
        for label, n in zip(terms[j][1], terms[j][0].shape):
            sizes[label] = max(n, sizes.get(label, 1))
        return prod(sizes.values())

    pairs = [(i, j) for j in range(len(terms)) for i in range(j)]
    return min(pairs, key=lambda pair: (cost(*pair), pair))


def _pair(left: Term, right: Term, needed: set[int]) -> Term:
    """The product of two operands, summed over the labels nobody needs any more."""
    a, a_labels = _sum_out(left, needed | set(right[1]))
    b, b_labels = _sum_out(right, needed | set(a_labels))
    a_size = dict(zip(a_labels, a.shape))
    b_size = dict(zip(b_labels, b.shape))
    # A size of 1 broadcasts; it cannot be summed against a larger one by a product.
    shared = [x for x in a_labels if x in b_size]
    summed = [x for x in shared if x not in needed and a_size[x] == b_size[x]]
    for x in shared:
        if x in needed or x in summed:
            continue
        if a_size[x] == 1:
            a = a.squeeze(a_labels.index(x))
            a_labels = [y for y in a_labels if y != x]
            b, b_labels = _sum_out((b, b_labels), set(b_labels) - {x})
        else:
            b = b.squeeze(b_labels.index(x))
            b_labels = [y for y in b_labels if y != x]
            a, a_labels = _sum_out((a, a_labels), set(a_labels) - {x})
    batch = [x for x in a_labels if x in b_size and x in needed]
    rows = [x for x in a_labels if x not in batch and x not in summed]
    cols = [x for x in b_labels if x not in batch and x not in summed]
    out = batch + rows + cols
    if not summed:
        return _align(a, a_labels, out) * _align(b, b_labels, out), out
    sides = {x: (a_size.get(x, 1), b_size.get(x, 1)) for x in out}
    size = {x: b if a == 1 else a for x, (a, b) in sides.items()}
    wide = [size[x] for x in batch]
    k = prod(a_size[x] for x in summed)
    m, n = prod(size[x] for x in rows), prod(size[x] for x in cols)
    a = _align(a, a_labels, batch + rows + summed)
    a = a.expand([*wide, *a.shape[len(batch) :]]).reshape(prod(wide), m, k)
    b = _align(b, b_labels, batch + summed + cols)
    b = b.expand([*wide, *b.shape[len(batch) :]]).reshape(prod(wide), k, n)
    return ember.bmm(a, b).reshape([size[x] for x in out]), out


def _sum_out(term: Term, keep: set[int]) -> Term:
    t, labels = term
    gone = [d for d, x in enumerate(labels) if x not in keep]
    if gone:
        t = t.sum(gone)
    return t, [x for x in labels if x in keep]


def _align(t: Tensor, labels: Labels, order: Labels) -> Tensor:
    """Dimensions in the given order, of size 1 where the tensor has none."""
    t = t.permute([labels.index(x) for x in order if x in labels])
    for d, x in enumerate(order):
        if x not in labels:
            t = t.unsqueeze(d)
    return t


@overridable
def tensordot(
    a: Tensor,
    b: Tensor,
    dims: int | Sequence[Sequence[int]] | Tensor = 2,
    out: Tensor | None = None,
) -> Tensor:
    """Sums products over several dimensions of two tensors.

    >>> import ember
    >>> ember.tensordot(ember.ones(2, 3, 4), ember.ones(3, 4, 5)).shape
    torch.Size([2, 5])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}"
            )
        a_dims = list(range(a.dim() - dims, a.dim()))
        b_dims = list(range(dims))
    else:
        a_dims, b_dims = ([int(d) for d in part] for part in dims)
        if len(a_dims) != len(b_dims):
            raise RuntimeError(
                "tensordot(): both dimension lists should have same length, got "
                f"{a_dims} and {b_dims}"
            )
        a_dims = [d + a.dim() if d < 0 else d for d in a_dims]
        b_dims = [d + b.dim() if d < 0 else d for d in b_dims]
        for several in (a_dims, b_dims):
            if len(set(several)) < len(several):
                raise RuntimeError(
                    f"tensordot(): a dim appears multiple times in {several}"
                )
    for x, y in zip(a_dims, b_dims):
        if a.shape[x] != b.shape[y] and 1 not in (a.shape[x], b.shape[y]):
            raise RuntimeError(
                "tensordot(): contracted dimensions need to match, but first has size "
                f"{a.shape[x]} in dim {x} and second has size {b.shape[y]} in dim {y}"
            )
    a_labels = list(range(a.dim()))
    b_labels = list(range(100, 100 + b.dim()))
    for x, y in zip(a_dims, b_dims):
        b_labels[y] = a_labels[x]
    output = [x for d, x in enumerate(a_labels) if d not in a_dims]
    output += [x for d, x in enumerate(b_labels) if d not in b_dims]
    result = _contract([(a, a_labels), (b, b_labels)], output).to(a.dtype)
    if out is None:
        return result
    return _into(out, result)


def _into(out: Tensor, result: Tensor) -> Tensor:
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)
