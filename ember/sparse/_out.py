"""out=: a result written into a tensor that the caller gives."""

import functools
from collections.abc import Callable

import ember
from ember._C import Tensor
from ember.sparse._tensor import SparseTensor


def written(op: str, result: Tensor, out: Tensor | None) -> Tensor:
    """`result` in the tensor of out=, which has its layout and can hold its numbers."""
    if out is None:
        return result
    if not isinstance(out, Tensor):
        kind = type(out).__name__
        raise TypeError(f"{op}(): argument 'out' must be Tensor, not {kind}")
    if out.layout is not result.layout:
        raise RuntimeError(
            f"{op}(): expected an out= tensor of layout {result.layout}, got "
            f"{out.layout}"
        )
    if out.device != result.device:
        raise RuntimeError(
            f"{op}(): expected an out= tensor on {result.device}, got {out.device}"
        )
    check_cast(f"{op}(): ", result.dtype, out.dtype)
    if not isinstance(out, SparseTensor):
        return out.resize_(result.shape).copy_(result)
    assert isinstance(result, SparseTensor)
    if result.dtype != out.dtype:
        result = result._with(result._val.to(out.dtype))
    return out._become(result)


def check_cast(where: str, found: ember.dtype, wanted: ember.dtype) -> None:
    """What is written to keeps its dtype, if that can hold the result."""
    if not ember.can_cast(found, wanted):
        raise RuntimeError(
            f"{where}result type {found} can't be cast to the desired output type "
            f"{wanted}"
        )


def writes_out(function: Callable) -> Callable:
    """Give a function of sparse tensors the argument out=."""
    name = function.__name__.rstrip("_")

    @functools.wraps(function)
    def call(*args, out=None, **kwargs) -> Tensor:
        return written(name, function(*args, **kwargs), out)

    return call
