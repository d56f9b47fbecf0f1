"""What backward does with sparse gradients, and with sparse tensors at its ends."""

import ember
from ember import _C, Tensor
from ember.sparse import _convert
from ember.sparse._arithmetic import add as _add, add_
from ember.sparse._copies import sparse_mask
from ember.sparse._tensor import SparseTensor, coo


def add(a: Tensor | None, b: Tensor, in_place: bool) -> Tensor:
    """The sum of two gradients; called by the engine (core/python/sparse.cpp)."""
    if a is None:
        return b._with(b._val)  # an object of its own, which may change in place
    if isinstance(a, SparseTensor):
        if not isinstance(b, SparseTensor):
            return _add(b, a)
        total = _add(a, b)
        return a._become(total) if in_place else total
    return add_(a, b) if in_place else _add(a, b)


def dense(t: SparseTensor, unused: None, flag: bool) -> Tensor:
    """A gradient as rules expect it."""
    return _convert.to_dense(t)


def run_backward(
    tensors, grads, keep: bool, create: bool, inputs, allow_unused: bool, accumulate
):
    """Like the core's function, but roots and inputs may be sparse.

    A sparse tensor's history is that of its values.
    """
    roots, given = [], []
    for t, g in zip(tensors, grads):
        if isinstance(t, SparseTensor):
            if g is None:
                raise RuntimeError(
                    "grad can be implicitly created only for scalar outputs"
                )
            g, t = sparse_mask(g, t)._val, t._val
        roots.append(t)
        given.append(g)
    wanted = tuple(t._val if isinstance(t, SparseTensor) else t for t in inputs)
    result = _C._run_backward(
        tuple(roots), tuple(given), keep, create, wanted, allow_unused, accumulate
    )
    if result is None:
        return None
    return tuple(
        t._with(g) if isinstance(t, SparseTensor) and g is not None else g
        for t, g in zip(inputs, result)
    )


class Rows(ember.autograd.Function):
    """weight[index] whose gradient is a sparse tensor."""

    @staticmethod
    def forward(ctx, weight: Tensor, index: Tensor, padding_idx: int | None) -> Tensor:
        ctx.save_for_backward(index)
        ctx.size, ctx.padding_idx = weight.shape, padding_idx
        return weight.index_select(0, index)

    @staticmethod
    def backward(ctx, g: Tensor):
        (index,) = ctx.saved_tensors
        if ctx.padding_idx is not None:
            kept = (index != ctx.padding_idx).nonzero().reshape(-1)
            index, g = index.index_select(0, kept), g.index_select(0, kept)
        return coo(index.unsqueeze(0), g, ctx.size), None, None


class NoSparseGradient(ember.autograd.Function):
    """A weight of which there is no sparse gradient: asking for it is an error."""

    @staticmethod
    def forward(ctx, weight: Tensor) -> Tensor:
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx, g: Tensor):
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )
