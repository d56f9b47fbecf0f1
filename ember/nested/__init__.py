"""Batches of tensors of different lengths, without padding.

A nested tensor keeps its parts one after the other in one dense tensor, `values`, and
where each begins, `offsets`. Ops that work on rows run once over all of them.

>>> import ember
>>> x = ember.nested.nested_tensor(
...     [ember.ones(2, 3), ember.ones(1, 3)], layout=ember.jagged
... )
>>> x.offsets()
tensor([0, 2, 3])
>>> [part.shape for part in ember.nn.Linear(3, 4)(x).unbind()]
[torch.Size([2, 4]), torch.Size([1, 4])]
"""

import ember
from ember import Tensor
from ember.nested._tensor import NestedTensor as NestedTensor, from_parts as from_parts

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def nested_tensor(
    tensor_list,
    *,
    dtype=None,
    layout=None,
    device=None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor with copies of the given tensors (or lists of numbers) as parts.

    >>> import ember
    >>> ember.nested.nested_tensor([[1.0, 2.0], [3.0]]).is_nested
    True
    """
    if not isinstance(requires_grad, bool):
        raise TypeError(
            "nested_tensor(): argument 'requires_grad' must be bool, not "
            f"{type(requires_grad).__name__}"
        )
    if pin_memory:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    chosen = _layout(layout)
    if chosen is ember.strided and not isinstance(tensor_list, list):
        raise TypeError(
            "Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in "
            f"nested_tensor, got {type(tensor_list).__name__}"
        )
    with ember.no_grad():
        parts = [ember.as_tensor(t, dtype=dtype, device=device) for t in tensor_list]
        made = from_parts([p.detach() for p in parts], chosen, dtype, device)
    return made.requires_grad_(requires_grad)


def as_nested_tensor(ts, dtype=None, device=None, layout=None) -> Tensor:
    """The same with gradients flowing to the given tensors; of a dense tensor
    [B, N, ...], its rows are the parts.

    >>> import ember
    >>> ember.nested.as_nested_tensor(ember.ones(2, 3, 4)).size(0)
    2
    """
    if isinstance(ts, NestedTensor):
        return ts if dtype is None and device is None else ts.to(device, dtype)
    if not isinstance(ts, (Tensor, list, tuple)):
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a "
            "list / tuple of tensors"
        )
    if isinstance(ts, (list, tuple)) and not all(isinstance(t, Tensor) for t in ts):
        ts = [ember.as_tensor(t) for t in ts]
    return from_parts(list(ts), _layout(layout), dtype, device)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A nested tensor over existing values: part i is values[offsets[i]:offsets[i + 1]]
    (with `lengths`, that many from offsets[i]).

    >>> import ember
    >>> values, offsets = ember.arange(5.0), ember.tensor([0, 2, 5])
    >>> ember.nested.nested_tensor_from_jagged(values, offsets).unbind()[1]
    tensor([2., 3., 4.])
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError(
                "nested_tensor_from_jagged(): At least one of offsets or lengths is "
                "required."
            )
        start = lengths.new_zeros(1, dtype=ember.int64)
        offsets, lengths = ember.cat([start, lengths.cumsum(0)]), None
    if jagged_dim not in (None, 1):
        raise NotImplementedError(
            "nested_tensor_from_jagged(): only jagged_dim=1 is available, got "
            f"{jagged_dim}"
        )
    return NestedTensor(values, offsets, lengths, ember.jagged)


def narrow(tensor: Tensor, dim: int, start, length, layout=None) -> Tensor:
    """Rows of a dense tensor [B, N, ...] from `start` on, `length` of each.

    >>> import ember
    >>> x = ember.arange(6.0).view(2, 3)
    >>> ember.nested.narrow(x, 1, 0, ember.tensor([1, 2]), layout=ember.jagged).values()
    tensor([0., 3., 4.])
    """
    if dim not in (1, 1 - tensor.dim()):
        raise RuntimeError(f"narrow(): only dim=1 is available, got {dim}")
    count = tensor.shape[0]
    starts, sizes = (
        [int(n) for n in (x.tolist() if isinstance(x, Tensor) else [x] * count)]
        for x in (start, length)
    )
    parts = [tensor[i].narrow(0, starts[i], sizes[i]) for i in range(count)]
    return from_parts(parts, _layout(layout))


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements [B, N] where `mask` is set, a part for each row.

    >>> import ember
    >>> x = ember.arange(4.0).view(2, 2)
    >>> ember.nested.masked_select(x, x > 0).offsets()
    tensor([0, 1, 3])
    """
    mask = mask.expand(tensor.shape)
    counts = mask.flatten(1).sum(1)
    start = counts.new_zeros(1)
    offsets = ember.cat([start, counts.cumsum(0)])
    return NestedTensor(tensor.masked_select(mask), offsets, None, ember.jagged)


def to_padded_tensor(input: Tensor, padding: float, output_size=None) -> Tensor:
    """A dense tensor [B, longest, ...], `padding` behind the shorter parts.

    >>> import ember
    >>> x = ember.nested.nested_tensor([ember.ones(2), ember.ones(1)])
    >>> ember.nested.to_padded_tensor(x, 0.0)
    tensor([[1., 1.],
            [1., 0.]])
    """
    if not isinstance(input, NestedTensor):
        raise TypeError(f"to_padded_tensor(): expected a nested tensor, got {input!r}")
    return input.to_padded_tensor(padding, output_size)


def _layout(layout):
    return ember.strided if layout is None else layout
