"""Scans with a function of one's own: transformers and x-transformers import them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember
from ember import Tensor
from ember.utils._pytree import tree_flatten, tree_unflatten


def associative_scan(
    combine_fn: Callable,
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """All prefixes of `xs` along `dim`, combined: `cumsum` with any associative
    function, in O(log n) calls of it.

    >>> import ember
    >>> from ember._higher_order_ops import associative_scan
    >>> associative_scan(lambda a, b: a * b, ember.tensor([1, 2, 3, 4]), 0)
    tensor([ 1,  2,  6, 24])
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(x, ember.Tensor) for x in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if reverse:
        leaves = [x.flip(dim) for x in leaves]

    def combine(a: list, b: list) -> list:
        return tree_flatten(
            combine_fn(tree_unflatten(a, spec), tree_unflatten(b, spec))
        )[0]

    def part(xs: list, start: int, stop: int | None, step: int = 1) -> list:
        index: Any = [slice(None)] * leaves[0].dim()
        index[dim] = slice(start, stop, step)
        return [x[tuple(index)] for x in xs]

    def scan(xs: list) -> list:
        n = xs[0].shape[dim]
        if n < 2:
            return xs
        pairs = combine(part(xs, 0, n - 1, 2), part(xs, 1, n, 2))
        odd = scan(pairs)
        before = part(odd, 0, -1) if n % 2 == 0 else odd
        even = combine(before, part(xs, 2, n, 2))
        first = part(xs, 0, 1)
        even = [ember.cat([f, e], dim) for f, e in zip(first, even)]
        return [_interleave(e, o, dim) for e, o in zip(even, odd)]

    found = scan(leaves)
    if reverse:
        found = [x.flip(dim) for x in found]
    return tree_unflatten(found, spec)


def _interleave(even: Any, odd: Any, dim: int) -> Any:
    """Items of two tensors in turn; the first may have one more."""
    n = odd.shape[dim]
    both = ember.stack([even.narrow(dim, 0, n), odd], dim + 1 if dim >= 0 else dim)
    if dim < 0:
        dim += even.dim()
        both = ember.stack([even.narrow(dim, 0, n), odd], dim + 1)
    mixed = both.flatten(dim, dim + 1)
    rest = even.shape[dim] - n
    return ember.cat([mixed, even.narrow(dim, n, rest)], dim) if rest else mixed


def scan(
    combine_fn: Callable, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple:
    """`carry, y = combine_fn(carry, x)` along `dim`: the last carry, and all `y`."""
    leaves, spec = tree_flatten(xs)
    if not leaves:
        return init, []
    carry, rows = init, []
    order = range(leaves[0].shape[dim])
    for i in reversed(order) if reverse else order:
        x = tree_unflatten([leaf.select(dim, i) for leaf in leaves], spec)
        carry, y = combine_fn(carry, x)
        rows.append(tree_flatten(y))
    if reverse:
        rows.reverse()
    stacked = [ember.stack(column) for column in zip(*(flat for flat, _ in rows))]
    return carry, tree_unflatten(stacked, rows[0][1])


def out_dtype(op: Any, output_dtype: ember.dtype, *args: Any) -> Tensor:
    """An operator whose result has a dtype of its own: it is computed in that.

    >>> import ember
    >>> from ember._higher_order_ops.out_dtype import out_dtype
    >>> a = ember.full((1, 2), 100, dtype=ember.int8)
    >>> out_dtype(ember.ops.aten.mm.default, ember.int32, a, a.T)
    tensor([[20000]], dtype=torch.int32)
    """
    return op(*(a.to(output_dtype) if isinstance(a, Tensor) else a for a in args))
