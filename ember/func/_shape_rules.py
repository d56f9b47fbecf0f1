"""Batch rules of views, joins and indexing.

See Note [Batched tensors] in `_batched.py`.
"""

import ember
from ember import Tensor
from ember.func._batched import Call, Loop, rule, underneath
from ember.func._rules import broadcast_values, shifted


def own(call: Call):
    x = call.args[0] if call.args else call.kwargs.get("self")
    if not call.batched(x):
        raise Loop
    return x


def _size(call: Call, name: str) -> tuple:
    """A size given as one sequence, as numbers, or by name."""
    if name in call.kwargs:
        return tuple(call.kwargs[name])
    rest = call.args[1:]
    if len(rest) == 1 and not isinstance(rest[0], int):
        return tuple(rest[0])
    return tuple(rest)


@rule("reshape", "view", "view_copy")
def reshape(call: Call):
    x = own(call)
    if len(call.args) > 1 and isinstance(call.args[1], ember.dtype):
        raise Loop
    size = _size(call, "shape" if "shape" in call.kwargs else "size")
    if -1 in size and x.numel() == 0:
        raise Loop
    return call.func(x.value, (call.size, *size))


@rule("view_as", "reshape_as", "expand_as")
def like_other(call: Call):
    x, other = call.args
    return getattr(x, call.name[:-3])(other.shape)


@rule("expand", "broadcast_to", "expand_copy")
def expand(call: Call):
    x = own(call)
    size = _size(call, "size")
    missing = len(size) - x.dim()
    if missing < 0:
        raise Loop
    value = x.value.reshape(call.size, *[1] * missing, *x.shape)
    return value.expand(call.size, *size)


@rule("permute", "permute_copy")
def permute(call: Call):
    x = own(call)
    dims = [d % max(x.dim(), 1) for d in _size(call, "dims")]
    if len(dims) != x.dim():
        raise Loop
    return call.func(x.value, (0, *(d + 1 for d in dims)))


@rule("transpose", "swapaxes", "swapdims", "transpose_copy")
def transpose(call: Call):
    x = own(call)
    a, b = [*call.args[1:], *call.kwargs.values()]
    return x.value.transpose(shifted(a, x.dim()), shifted(b, x.dim()))


@rule("movedim", "moveaxis")
def movedim(call: Call):
    x = own(call)
    source, destination = [*call.args[1:], *call.kwargs.values()]
    rank = x.dim()
    return x.value.movedim(shifted(source, rank), shifted(destination, rank))


@rule("t", "T", "mT", "H", "mH", "adjoint", "t_copy")
def turned(call: Call):
    x = own(call)
    rank = x.dim()
    if rank < 2:
        if call.name in ("t", "T", "t_copy"):
            return x.value
        raise Loop
    if call.name == "T" and rank != 2:
        return x.value.permute(0, *range(rank, 0, -1))
    turned = x.value.transpose(-2, -1)
    return turned.conj() if call.name in ("H", "mH", "adjoint") else turned


@rule("flatten", "ravel")
def flatten(call: Call):
    x = own(call)
    if x.dim() == 0:
        return x.value.reshape(call.size, 1)
    _, start, end = call.bind("self", start_dim=0, end_dim=-1)
    return x.value.flatten(shifted(start, x.dim()), shifted(end, x.dim()))


@rule("unsqueeze", "unsqueeze_copy")
def unsqueeze(call: Call):
    x, dim = call.bind("self", "dim")
    return own(call).value.unsqueeze(shifted(dim, x.dim() + 1))


@rule("squeeze", "squeeze_copy")
def squeeze(call: Call):
    x, dim = call.bind("self", dim=None)
    if dim is None:
        dim = tuple(d for d in range(x.dim()) if x.shape[d] == 1)
    if x.dim() == 0 or not call.batched(x):
        raise Loop
    return x.value.squeeze(shifted(dim, x.dim()))


@rule("diagonal")
def diagonal(call: Call):
    x, offset, dim1, dim2 = call.bind("self", offset=0, dim1=0, dim2=1)
    rank = x.dim()
    return own(call).value.diagonal(offset, shifted(dim1, rank), shifted(dim2, rank))


@rule("repeat", "tile")
def repeat(call: Call):
    x = own(call)
    times = _size(call, "repeats" if call.name == "repeat" else "dims")
    missing = len(times) - x.dim()
    if missing < 0:
        raise Loop
    value = x.value.reshape(call.size, *[1] * missing, *x.shape)
    return value.repeat(1, *times)


@rule("unsqueeze_", "squeeze_", "t_", "transpose_", "swapaxes_", "swapdims_")
def turned_in_place(call: Call):
    """The wrapper gets another value, and another shape."""
    x = own(call)
    changed = getattr(x, call.name[:-1])(*call.args[1:], **call.kwargs)
    underneath(call.func, call.args, call.kwargs)
    x.value = changed.value
    return x


@rule("as_strided", "as_strided_copy", "as_strided_scatter")
def as_strided(call: Call):
    """Strides and offsets are those of a sample in memory of its own."""
    x = call.args[0]
    rest = [
        [a.value[i] if call.batched(a) else a for a in call.args[1:]]
        for i in range(call.size)
    ]
    samples = call.full(x).contiguous().unbind(0)
    made = [call.func(s.clone(), *r, **call.kwargs) for s, r in zip(samples, rest)]
    return ember.stack(made)


@rule("resize_", "resize_as_", "set_", "as_strided_")
def refuse(call: Call):
    raise RuntimeError(
        f"vmap: {call.name} would change the memory of one sample of a batch; make a "
        "new tensor instead"
    )


@rule("new_zeros", "new_ones", "new_empty", "new_full")
def new(call: Call):
    x = own(call)
    if "size" in call.kwargs or not call.args[1:]:
        raise Loop
    if call.name == "new_full":
        size, rest = tuple(call.args[1]), call.args[2:]
    else:
        size, rest = _size(call, "size"), ()
    return call.func(x.value, (call.size, *size), *rest, **call.kwargs)


# --- joins ----------------------------------------------------------------------------


@rule("cat", "concat", "concatenate", "stack")
def join(call: Call):
    tensors, dim = call.bind("tensors", dim=0)
    rank = tensors[0].dim() + (call.name == "stack")
    values = [call.full(t) for t in tensors]
    return call.func(values, shifted(dim, rank))


# --- indexing -------------------------------------------------------------------------


def _positions(call: Call, size: int, like: Tensor, rank: int) -> Tensor:
    """0 ... size - 1 along the batch, to go with batched indices of this rank."""
    return ember.arange(size, device=like.device).reshape(size, *[1] * rank)


@rule("__getitem__")
def getitem(call: Call):
    x, key = call.args
    key = key if isinstance(key, tuple) else (key,)
    indices = [k for k in key if isinstance(k, (Tensor, list))]
    mapped = [k for k in indices if call.batched(k)]
    if any(isinstance(k, Tensor) and k.dtype == ember.bool for k in mapped):
        raise RuntimeError(
            "vmap: indexing by a mask that differs between samples gives results of "
            "different shapes; use where() instead"
        )
    if not mapped:
        places = [i for i, k in enumerate(key) if isinstance(k, (Tensor, list))]
        if places and places != list(range(places[0], places[-1] + 1)):
            raise Loop  # dimensions that move to the front would pass the batch
        return x.value[(slice(None), *key)]
    if len(key) == 1:
        index = key[0]
        if not call.batched(x):
            return x[index.value]
        batch = _positions(call, call.size, index.value, index.dim())
        return x.value[batch, index.value]
    raise Loop


@rule("__setitem__")
def setitem(call: Call):
    x, key, value = call.args
    key = key if isinstance(key, tuple) else (key,)
    if not call.batched(x) or any(isinstance(k, (Tensor, list)) for k in key):
        raise Loop
    place = (slice(None), *key)
    if call.batched(value):
        rank = x.value[place].dim() - 1
        if value.dim() > rank:
            raise Loop
        (value,) = broadcast_values(call, [value], rank)
    x.value[place] = value
    return x


@rule("gather", "take_along_dim")
def gather(call: Call):
    if call.name == "gather":
        x, dim, index, _ = call.bind("self", "dim", "index", sparse_grad=False)
    else:
        x, index, dim = call.bind("self", "indices", dim=None)
    if dim is None or x.dim() == 0 or index.dim() != x.dim():
        raise Loop
    given = (shifted(dim, x.dim()), call.full(index))
    return call.func(call.full(x), *(given if call.name == "gather" else given[::-1]))


@rule("scatter", "scatter_add", "index_select", "index_add", "index_fill")
def along_index(call: Call):
    x, dim, index, *rest = call.args
    if x.dim() == 0 or not isinstance(index, Tensor):
        raise Loop
    if call.name in ("scatter", "scatter_add"):
        index = call.full(index)
        rest = [call.full(r) if isinstance(r, Tensor) else r for r in rest]
    else:
        if call.batched(index) or any(isinstance(r, Tensor) for r in rest[1:]):
            raise Loop
        if call.name == "index_fill" and any(map(call.batched, rest)):
            raise Loop
        if call.name != "index_fill":
            rest = [call.full(r) if isinstance(r, Tensor) else r for r in rest]
    return call.func(call.full(x), shifted(dim, x.dim()), index, *rest, **call.kwargs)
