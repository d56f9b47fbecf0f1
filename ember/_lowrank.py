"""Factorisations written in terms of others: lu with infos, low rank, lobpcg."""

from __future__ import annotations

import ember
from ember._C import Tensor

__all__ = ["lu"]


def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: tuple | None = None
) -> tuple:
    """Packed LU factors of matrices and their pivots, the old name of `lu_factor`.

    With `get_infos` a third tensor says which matrices are singular, which is an error
    otherwise.

    >>> import ember
    >>> LU, pivots = ember.lu(ember.tensor([[2.0, 1.0], [4.0, 4.0]]))
    >>> LU
    tensor([[ 4.0000,  4.0000],
            [ 0.5000, -1.0000]])
    >>> pivots
    tensor([2, 2], dtype=int32)
    """
    result = ember._lu_with_info(A, pivot=pivot, check_errors=not get_infos)
    if out is not None:
        wanted = 3 if get_infos else 2
        if not isinstance(out, (tuple, list)):
            raise TypeError(
                f"argument 'out' must be tuple of Tensors, not {type(out).__name__}"
            )
        if len(out) != wanted:
            raise TypeError(
                f"expected tuple of {wanted} elements but got {len(out)} elements"
            )
        with ember.no_grad():
            for place, value in zip(out, result):
                place.resize_as_(value).copy_(value)
        return out
    return result if get_infos else (result[0], result[1])
