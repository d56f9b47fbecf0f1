"""Ops that copy and convert sparse tensors, or make new ones like them."""

import ember
from ember import Tensor
from ember.sparse import _convert
from ember.sparse._arithmetic import (
    check_shapes,
    like,
    matches,
    same_places,
    take,
)
from ember.sparse._convert import to_coo
from ember.sparse._places import add_rows, coalesced
from ember.sparse._table import handles
from ember.sparse._tensor import SparseTensor, coo, make, need_layout

handles("to_dense _to_dense")(_convert.to_dense)


@handles("clone")
def clone(input, *, memory_format=None) -> Tensor:
    """A copy with parts of its own."""
    index = tuple(i.clone() for i in input._index)
    return make(
        input._layout,
        index,
        input._val.clone(),
        input._size,
        input._coalesced,
        input._checked,
    )


@handles("detach")
def detach(input) -> Tensor:
    """The same elements without history."""
    return input.detach()


@handles("to")
def to(input, *args, copy: bool = False, memory_format=None, **kwargs) -> Tensor:
    """The tensor in another dtype or on another device."""
    if args and isinstance(args[0], SparseTensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    values = input._val.to(*args, copy=copy, **kwargs)
    if values is input._val:
        return input
    if values.device == input._val.device:
        return input._with(values)
    index = tuple(i.to(values.device) for i in input._index)
    return make(
        input._layout, index, values, input._size, input._coalesced, input._checked
    )


def _conversion(name: str):
    if not hasattr(Tensor, name):
        return

    def convert(input, *args, **kwargs) -> Tensor:
        values = getattr(input._val, name)(*args, **kwargs)
        return input if values is input._val else to(input, values.device, values.dtype)

    handles(name)(convert)


for _name in (
    "float double half bfloat16 int long short char byte bool cfloat cdouble cpu"
).split():
    _conversion(_name)


@handles("as_tensor asarray")
def as_tensor(data, dtype=None, device=None, **options) -> Tensor:
    """The tensor itself, or in another dtype."""
    return to(data, device or data.device, dtype or data.dtype)


@handles("type_as")
def type_as(input, other) -> Tensor:
    """The tensor in the dtype of another."""
    return (
        to(input, other.dtype)
        if isinstance(input, SparseTensor)
        else input.to(other.dtype)
    )


@handles("copy_")
def copy_(input, src, non_blocking: bool = False) -> Tensor:
    """Take over the elements of another sparse tensor."""
    if not isinstance(input, SparseTensor) or not isinstance(src, SparseTensor):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self "
            f"type = {input.type()} and src type = {src.type()}"
        )
    check_shapes("copy_", input, src)
    made = clone(to(src, input.device, input.dtype))
    return input._become(like(to_coo(made), input))


@handles("zero_")
def zero_(input) -> Tensor:
    """Drop all elements."""
    return input._become(zeros_like(input))


@handles("zeros_like empty_like")
def zeros_like(
    input,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    memory_format=None,
) -> Tensor:
    """A tensor of the same size without elements."""
    if layout is ember.strided:
        made = ember.zeros(
            input._size, dtype=dtype or input.dtype, device=device or input.device
        )
        return made.requires_grad_(requires_grad)
    if memory_format is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")
    values = input._val.detach().new_zeros(0, dtype=dtype, device=device)
    if input.is_sparse:
        t = input
        values = values.new_zeros((0, *t._val.shape[1:]))
        places = t._index[0].new_zeros((t._index[0].shape[0], 0), device=device)
        made = coo(places, values, t._size, coalesced=True)
    else:
        start, other = input._index
        batch = start.dim() - 1
        shape = [*input._val.shape]
        shape[batch] = 0
        index = (
            start.new_zeros(start.shape, device=device),
            other.new_zeros((*other.shape[:-1], 0), device=device),
        )
        values = values.new_zeros(shape)
        made = make(input._layout, index, values, input._size, True, True)
    return made.requires_grad_(requires_grad)


@handles("new_tensor")
def new_tensor(input, data, **options) -> Tensor:
    """A dense tensor of the same dtype."""
    return input._val.detach().new_tensor(data, **options)


@handles("new_zeros new_empty")
def new_zeros(input, *size, dtype=None, device=None, **options) -> Tensor:
    """A COO tensor without elements."""
    if len(size) == 1 and not isinstance(size[0], int):
        size = tuple(size[0])
    return ember.sparse_coo_tensor(
        size=size, dtype=dtype or input.dtype, device=device or input.device
    )


@handles("zeros empty")
def zeros(*size, out=None, dtype=None, requires_grad=False, **options) -> Tensor:
    """Without elements, into a sparse tensor; all of its dimensions are sparse."""
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    if dtype is not None and dtype != out.dtype:
        raise RuntimeError(
            f"zeros(): dtype {dtype} does not match dtype of out parameter "
            f"({out.dtype})"
        )
    made = ember.sparse_coo_tensor(size=size, dtype=out.dtype, device=out.device)
    return out._become(made).requires_grad_(requires_grad)


def new(input, *args, device=None, **options) -> Tensor:
    """A COO tensor of the same dtype, of a size or of its parts: the old way."""
    if device is not None and ember.device(device).type != input.device.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {input.device.type} but device "
            f"type: {ember.device(device).type} was passed"
        )
    device = device or input.device
    if not args or all(isinstance(n, int) for n in args):
        args = (args or (0,),)
    if len(args) == 1 and isinstance(args[0], (tuple, ember.Size)):
        return ember.sparse_coo_tensor(size=args[0], dtype=input.dtype, device=device)
    dense = [isinstance(t, Tensor) and t.layout is ember.strided for t in args[:2]]
    if not 2 <= len(args) <= 3 or dense != [True, True]:
        raise TypeError(
            "new() of a sparse tensor takes a size, or indices, values and maybe a size"
        )
    return ember.sparse_coo_tensor(*args, dtype=input.dtype, device=device)


@handles("view_as_real")
def view_as_real(input) -> Tensor:
    """Real and imaginary parts along a last, dense dimension."""
    size = (*input._size, 2)
    values = ember.view_as_real(input._val)
    return coo(input._index[0], values, size, input._coalesced, input._checked)


@handles("view_as_complex")
def view_as_complex(input) -> Tensor:
    """Complex numbers from a last, dense dimension of size 2."""
    if not input.is_sparse or not input.dense_dim() or input._size[-1] != 2:
        raise RuntimeError(
            "view_as_complex_sparse is only supported for sparse tensors with the last "
            "dim == 2 and dense_dim > 0."
        )
    values = ember.view_as_complex(input._val)
    size = input._size[:-1]
    return coo(input._index[0], values, size, input._coalesced, input._checked)


@handles("is_same_size")
def is_same_size(input, other) -> bool:
    """Whether two tensors have one shape."""
    return input.shape == other.shape


@handles("resize_as_sparse_ resize_as_")
def resize_as_sparse_(input, template, **options) -> Tensor:
    """Take over the size of another sparse tensor; elements stay where they are.

    Args:
        template (Tensor): the tensor whose size is taken.

    >>> import ember
    >>> x = ember.eye(2).to_sparse()
    >>> x.resize_as_sparse_(ember.zeros(3, 2).to_sparse()).shape
    torch.Size([3, 2])
    """
    need_layout("resize_as_sparse_", input)
    need_layout("resize_as_sparse_", template)
    if input.shape == template.shape:
        return input
    if not input.is_sparse or not template.is_sparse:
        return input._become(zeros_like(template, dtype=input.dtype))
    sizes = template.sparse_dim(), template.dense_dim()
    return input.sparse_resize_(template.shape, *sizes)


def sparse_mask(self: Tensor, mask: SparseTensor) -> SparseTensor:
    """The elements of a tensor at the places of `mask`.

    >>> import ember
    >>> places = ember.eye(2).to_sparse()
    >>> ember.tensor([[1.0, 2.0], [3.0, 4.0]]).sparse_mask(places).values()
    tensor([1., 4.])
    """
    if not isinstance(mask, SparseTensor):
        raise RuntimeError("sparse_mask(): expected mask to be sparse")
    check_shapes("sparse_mask", self, mask)
    places = to_coo(mask)
    if not isinstance(self, SparseTensor):
        made = places._with(take(self, places))
    elif same_places(self, mask) and (not mask.is_sparse or mask._coalesced):
        return mask._with(self._val)
    else:
        t = coalesced(to_coo(self))
        mine, theirs = matches(places, t)
        values = t._val.index_select(0, theirs)
        shape = (places._val.shape[0], *values.shape[1:])
        made = places._with(add_rows(shape, mine, values))
    return like(made, mask)
