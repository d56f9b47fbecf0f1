"""Jacobians and Hessians, a row or a column at a time."""

from collections.abc import Callable
from functools import wraps

import ember
from ember import Tensor
from ember.func._grad import (
    Linearized,
    Trace,
    _argnums,
    _for_caller,
    _outputs,
    _split_aux,
    check_real,
    recording,
)
from ember.utils._pytree import tree_unflatten


def _units(like: Tensor):
    """Tensors of this shape with a single 1, for each element in turn."""
    zero = ember.zeros(
        like.numel(), dtype=like.dtype, device=like.device, requires_grad=False
    )
    for k in range(like.numel()):
        unit = zero.clone()
        unit[k] = 1
        yield unit.reshape(like.shape)


def jacrev(
    func: Callable,
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:
    """The Jacobian of `func`, by one backward pass for each element of the output.

    >>> import ember
    >>> ember.func.jacrev(ember.sin)(ember.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _check_chunk(chunk_size, "jacrev")

    @wraps(func)
    def wrapped(*args, **kwargs):
        chosen = _argnums(argnums, len(args))
        trace = Trace(func, args, kwargs, chosen)
        output, aux = _split_aux(trace.result, has_aux, "vjp(f, *primals)")
        leaves, spec = _outputs(output, "vjp(f, *primals)")
        check_real(trace.inputs, "inputs", "jacrev")
        check_real(leaves, "outputs", "jacrev")
        blocks = []
        with recording():
            for out in leaves:
                rows = [trace.pull([out], [unit], keep=True) for unit in _units(out)]
                made = [
                    _stacked(column, out.shape, x)
                    for column, x in zip(
                        zip(*rows) if rows else [()] * len(trace.inputs), trace.inputs
                    )
                ]
                block = tree_unflatten(made, trace.inputs_spec)
                blocks.append(block[0] if isinstance(argnums, int) else tuple(block))
        result = tree_unflatten(blocks, spec)
        return (result, _for_caller(trace, aux)) if has_aux else result

    return wrapped


def _stacked(pieces, shape, like: Tensor, dim: int = 0) -> Tensor:
    """Rows as one tensor of the shape of the output, then that of the input."""
    if not pieces:
        return like.detach().new_zeros((*shape, *like.shape))
    return ember.stack(pieces).reshape((*shape, *like.shape))


def jacfwd(
    func: Callable,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable:
    """The Jacobian of `func`, by one derivative for each element of the input.

    >>> import ember
    >>> ember.func.jacfwd(ember.sin)(ember.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _check_chunk(chunk_size, "jacfwd")

    @wraps(func)
    def wrapped(*args, **kwargs):
        chosen = _argnums(argnums, len(args))

        def of_chosen(*values):
            new = list(args)
            for i, value in zip(chosen, values):
                new[i] = value
            return func(*new, **kwargs)

        primals = tuple(args[i] for i in chosen)
        line = Linearized(of_chosen, primals, has_aux, "jvp(f, primals, tangents)")
        inputs = line.trace.inputs
        check_real(inputs, "inputs", "jacfwd")
        check_real(line.outputs, "outputs", "jacfwd")
        zeros = [ember.zeros_like(x.detach()) for x in inputs]
        columns: list[list] = [[] for _ in line.outputs]
        with recording():
            for i, x in enumerate(inputs):
                moved = [
                    line.push([*zeros[:i], unit, *zeros[i + 1 :]]) for unit in _units(x)
                ]
                for k, out in enumerate(line.outputs):
                    pieces = [m[k] for m in moved]
                    columns[k].append(_columns(pieces, out, x))
        blocks = []
        for made in columns:
            block = tree_unflatten(made, line.trace.inputs_spec)
            blocks.append(block[0] if isinstance(argnums, int) else tuple(block))
        result = tree_unflatten(blocks, line.spec)
        return (result, _for_caller(line.trace, line.aux)) if has_aux else result

    return wrapped


def _columns(pieces: list, out: Tensor, x: Tensor) -> Tensor:
    if not pieces:
        return out.detach().new_zeros((*out.shape, *x.shape))
    return ember.stack(pieces, -1).reshape((*out.shape, *x.shape))


def hessian(func: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """The matrix of second derivatives of `func`.

    >>> import ember
    >>> ember.func.hessian(lambda x: (x**3).sum())(ember.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacrev(jacrev(func, argnums), argnums)


def _check_chunk(chunk_size: int | None, name: str) -> None:
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"{name}: `chunk_size` should be greater than 0.")
