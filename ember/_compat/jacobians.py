"""Parts of `autograd.functional` that optimizers by second derivatives build on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor
from ember.autograd._jacobians import Derivatives, as_tuple, wants_gradient


def _construct_standard_basis_for(
    tensors: Sequence[Tensor], tensor_numels: Sequence[int]
) -> tuple[Tensor, ...]:
    """The unit vectors of all tensors in a row, cut into the columns of each.

    >>> import ember
    >>> from ember.autograd.functional import _construct_standard_basis_for
    >>> a, b = _construct_standard_basis_for([ember.ones(1), ember.ones(2)], [1, 2])
    >>> b
    tensor([[0., 0.],
            [1., 0.],
            [0., 1.]])
    """
    if not tensors or len(tensors) != len(tensor_numels):
        raise ValueError(
            f"_construct_standard_basis_for(): {len(tensors)} tensors and "
            f"{len(tensor_numels)} sizes"
        )
    total, start, chunks = sum(tensor_numels), 0, []
    for tensor, size in zip(tensors, tensor_numels, strict=True):
        chunk = tensor.new_zeros(total, size)
        chunk.diagonal(-start).fill_(1)
        chunks.append(chunk)
        start += size
    return tuple(chunks)


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Tuples of results, however deep: without their history unless that is asked."""
    if isinstance(inputs, Tensor):
        return inputs if create_graph else inputs.detach()
    return tuple(_grad_postprocess(one, create_graph) for one in inputs)


def _tuple_postprocess(res: tuple, were_tuples: bool | tuple[bool, bool]) -> Any:
    """Results in tuples only where arguments came in tuples: outside, and inside."""
    outer, inner = (
        were_tuples if isinstance(were_tuples, tuple) else (were_tuples, True)
    )
    if not inner:
        res = tuple(part[0] for part in res)
    return res if outer else res[0]


# --- Jacobians that gradcheck once had ------------------------------------------------


def _deprecated(name: str, grad_out: float) -> None:
    import warnings

    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We "
        "are deprecating it and it will be removed in a future version of PyTorch.",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(
            f"Expected grad_out to be 1.0. {name} no longer supports values of "
            "grad_out != 1.0."
        )


def _get_numerical_jacobian(
    fn: Any, inputs: Any, outputs: Any = None, target: Any = None, eps: float = 1e-3
) -> tuple[tuple[Tensor, ...], ...]:
    """By differences: for each input that is wanted, the Jacobian of each output."""
    given = as_tuple(inputs)
    if any(isinstance(x, Tensor) and x.is_complex() for x in given):
        raise ValueError("_get_numerical_jacobian(): real inputs only")
    point = Derivatives(lambda *args: fn(args), given, eps, 0.0, 0.0, 0.0)
    wanted = point.inputs if target is None else as_tuple(target)
    rows = zip(point.inputs, point.numerical())
    return tuple(tuple(j) for x, j in rows if any(x is t for t in wanted))


def get_numerical_jacobian(
    fn: Any, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """The Jacobians of the first output, by differences."""
    _deprecated("get_numerical_jacobian", grad_out)
    jacobians = _get_numerical_jacobian(fn, inputs, None, target, eps)
    return tuple(by_output[0] for by_output in jacobians)


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobians of an output by its inputs, by backward passes, and whether these
    gave the same twice, the inputs' sizes and their dtypes."""
    _deprecated("get_analytical_jacobian", grad_out)
    given = [x for x in as_tuple(inputs) if wants_gradient(x)]
    right_size = right_type = True

    def once() -> list[Tensor]:
        nonlocal right_size, right_type
        columns: list[list[Tensor]] = [[] for _ in given]
        for k in range(output.numel()):
            start = ember.zeros(output.numel(), dtype=output.dtype)
            start[k] = 1
            grads = ember.autograd.grad(
                output, given, start.view(output.shape), True, allow_unused=True
            )
            for column, x, g in zip(columns, given, grads):
                g = ember.zeros_like(x) if g is None else g.detach()
                right_size &= g.shape == x.shape
                right_type &= g.dtype == x.dtype
                column.append(g.reshape(-1))
        return [
            ember.stack(c, 1) if c else x.detach().new_zeros((x.numel(), 0))
            for c, x in zip(columns, given)
        ]

    first, again = once(), once()
    same = all(bool(((a - b).abs() <= nondet_tol).all()) for a, b in zip(first, again))
    return tuple(first), same, right_size, right_type
