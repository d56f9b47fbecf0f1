"""Parts of `autograd.functional` that optimizers by second derivatives build on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ember import Tensor


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
