"""Batch rules of indexing and lookups.

See Note [Batched tensors] in `_batched.py`.
"""

from typing import Any

import ember
from ember import Tensor
from ember.func._batched import Call, Loop, lifted, rule, wrap
from ember.func._rules import along, shifted


def _place(call: Call, x, key) -> tuple[Tensor, list, int]:
    """`x[key]` in two steps: the batch of `x` where ints, slices and None of `key` have
    been applied and the dimensions that tensors index come first; these tensors; and at
    which dimension of the result theirs belong."""
    basic: list[Any] = []
    tensors: dict[int, Tensor] = {}
    for part in _spread(key, x.dim()):
        if isinstance(part, Tensor):
            at = sum(not isinstance(b, int) or isinstance(b, bool) for b in basic)
            tensors[at] = part
            basic.append(slice(None))
        else:
            basic.append(part)
    value = call.full(x)[(slice(None), *basic)]
    dims = [d + 1 for d in tensors]
    together = dims == list(range(dims[0], dims[-1] + 1))
    value = value.movedim(tuple(dims), tuple(range(1, len(dims) + 1)))
    return value, list(tensors.values()), dims[0] - 1 if together else 0


def _spread(key, rank: int) -> list:
    """A key with `...` and masks spelled out."""
    key = list(key) if isinstance(key, tuple) else [key]
    spelled: list = []
    for part in key:
        if isinstance(part, list):
            part = ember.tensor(part)
        if isinstance(part, Tensor) and part.dtype in (ember.bool, ember.uint8):
            if part.dim() == 0:
                raise Loop
            spelled += part.nonzero(as_tuple=True)
        else:
            spelled.append(part)
    used = sum(part is not None and part is not ... for part in spelled)
    for i, part in enumerate(spelled):
        if part is ...:
            spelled[i : i + 1] = [slice(None)] * (rank - used)
            break
    return spelled


def _indices(call: Call, tensors: list) -> tuple:
    """The batch's own index, and those of the samples beside it."""
    rank = max(t.dim() for t in tensors)
    found = [call.full(t) for t in tensors]
    found = [
        t.reshape(call.size, *[1] * (rank + 1 - t.dim()), *t.shape[1:]) for t in found
    ]
    batch = ember.arange(call.size, device=found[0].device)
    return batch.reshape(call.size, *[1] * rank), *found


def _masks_differ(call: Call, key) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return any(call.batched(k) and k.dtype == ember.bool for k in parts)


@rule("__getitem__")
def getitem(call: Call):
    x, key = call.args
    parts = key if isinstance(key, tuple) else (key,)
    if _masks_differ(call, key):
        raise RuntimeError(
            "vmap: indexing by a mask that differs between samples gives results of "
            "different shapes; use where() instead"
        )
    if not any(isinstance(k, (Tensor, list)) for k in parts):
        return x.value[(slice(None), *parts)]
    if len(parts) == 1 and not call.batched(x):
        return x[parts[0].value]
    return _lookup(call, x, key)


def _lookup(call: Call, x, key):
    value, tensors, at = _place(call, x, key)
    indices = _indices(call, tensors)
    rank = indices[0].dim() - 1
    made = value[indices]
    block = range(1, rank + 1)
    return made.movedim(tuple(block), tuple(at + d for d in block)) if at else made


@rule("__setitem__")
def setitem(call: Call):
    x, key, value = call.args
    parts = key if isinstance(key, tuple) else (key,)
    if _masks_differ(call, key):
        if len(parts) > 1 or (isinstance(value, Tensor) and value.dim()):
            raise Loop
        mask = parts[0].reshape(*parts[0].shape, *[1] * (x.dim() - parts[0].dim()))
        x.value.copy_(call.value(ember.where(mask, value, x).to(x.dtype)))
        return x
    if any(isinstance(k, (Tensor, list)) for k in parts):
        return _put(call, x, key, value, False)
    place = (slice(None), *parts)
    if call.batched(value):
        rank = x.value[place].dim() - 1
        shape = value.shape[max(value.dim() - rank, 0) :]
        value = value.value.reshape(
            call.size, *[1] * max(rank - value.dim(), 0), *shape
        )
    x.value[place] = value
    return x


def _put(call: Call, x, key, values, accumulate: bool):
    """Writes `values` to, or adds them at, `x[key]`."""
    place, tensors, at = _place(call, x, key)
    indices = _indices(call, tensors)
    rank = indices[0].dim() - 1
    if isinstance(values, Tensor):
        rest = place.shape[1 + len(tensors) :]
        block = ember.broadcast_shapes(*(i.shape for i in indices))[1:]
        shape = (*rest[:at], *block, *rest[at:])
        if values.dim() > len(shape):
            values = values.reshape(values.shape[values.dim() - len(shape) :])
        given = call.full(values.expand(shape))
        if at:
            given = given.movedim(
                tuple(at + d for d in range(1, rank + 1)), tuple(range(1, rank + 1))
            )
        place.index_put_(indices, given.to(place.dtype), accumulate)
    else:
        place[indices] = values
    return x


def _changed(call: Call, x, key, values, accumulate: bool = False):
    """A copy of `x` with `values` put in."""
    # At all levels, since the values may differ at lower ones than this.
    copy = wrap(lifted(call.full(x), call.level).clone(), call.level)
    return _put(call, copy, key, values, accumulate)


@rule("index_put", "_unsafe_index_put")
def index_put(call: Call):
    x, indices, values, accumulate = call.values()
    key = tuple(slice(None) if i is None else i for i in indices)
    if _masks_differ(call, key):
        raise Loop
    return _changed(call, x, key, values, accumulate)


@rule("index_put_")
def index_put_(call: Call):
    x, indices, values, *accumulate = [*call.args, *call.kwargs.values()]
    key = tuple(slice(None) if i is None else i for i in indices)
    if _masks_differ(call, key):
        if len(key) > 1 or values.dim():
            raise Loop
        return setitem(Call(call.func, call.name, (x, key, values), {}, call.level))
    return _put(call, x, key, values, bool(accumulate and accumulate[0]))


def _inside(x: Tensor, indices) -> tuple:
    """Indices limited to what there is, for those under a mask."""
    sizes = zip(indices, x.shape)
    return tuple(slice(None) if i is None else i.clamp(-n, n - 1) for i, n in sizes)


@rule("_unsafe_masked_index")
def masked_index(call: Call):
    x, mask, indices, fill = call.values()
    if x.numel() == 0:
        raise Loop
    found = _lookup(call, x, _inside(x, indices))
    return ember.where(mask.logical_not(), fill, wrap(found, call.level)).to(x.dtype)


@rule("_unsafe_masked_index_put_accumulate")
def masked_index_put(call: Call):
    x, mask, indices, values = call.values()
    if x.numel() == 0:
        raise Loop
    values = values.masked_fill(mask.logical_not(), 0)
    return _changed(call, x, _inside(x, indices), values, True)


@rule("take")
def take(call: Call):
    x, index = call.values()
    return x.reshape(-1)[index]


@rule("put")
def put(call: Call):
    x, index, source, accumulate = call.values()
    flat = x.reshape(-1)
    given = (index.reshape(-1), source.reshape(-1), accumulate)
    return _changed(call, flat, *given).reshape(x.shape)


@rule("take_along_dim")
def take_along_dim(call: Call):
    x, index, dim = call.values()
    if dim is None:
        return x.reshape(-1).gather(0, index.reshape(-1))
    if x.dim() == 0 or index.dim() != x.dim():
        raise Loop
    return call.func(call.full(x), call.full(index), shifted(dim, x.dim()))


@rule("index_select", "index_add", "index_fill", "index_copy", "index_reduce")
def rows(call: Call):
    """Ops on the rows `index`: the same for all samples, or each sample's own."""
    given = call.bound()
    x, dim, index, *rest = [given.value(p) for p in given.schema.params]
    if x.dim() == 0:
        call.of_sample()  # for its errors
        given.given["self"] = call.lift(x).reshape(1)
        if "source" in given.given:
            given.given["source"] = rest[0].reshape(1)
        return given.call(call.func).reshape(())
    if index.dim() > 1:
        raise Loop
    number = call.name == "index_fill"
    if not call.batched(index) and not (number and call.batched(rest[0])):
        given.given["self"] = call.full(x)
        given.given["dim"] = shifted(dim, x.dim())
        if "source" in given.given:
            given.given["source"] = call.full(rest[0])
        return given.call(call.func)
    index = index.reshape(-1)
    key = (*[slice(None)] * (dim % x.dim()), index)
    if call.name == "index_select":
        return _lookup(call, x, key)
    if call.name == "index_reduce":
        source, how, include = rest
        ones = [1] * (x.dim() - 1 - dim % x.dim())
        index = index.reshape(-1, *ones).expand(source.shape)
        return x.scatter_reduce(dim, index, source, how, include_self=include)
    values = rest[0]
    if call.name == "index_add" and rest[1] != 1:
        values = values * rest[1]
    if not number and values.dim() == 0:
        values = values.reshape([1] * x.dim())
    return _changed(call, x, key, values, call.name == "index_add")


@rule("gather", "scatter", "scatter_add", "scatter_reduce")
def gather(call: Call):
    """Indices of the rank of the tensor."""
    index = call.bound().given["index"]
    x = call.bound().given["self"]
    if index.dim() != x.dim() and index.numel():
        raise Loop
    return along(call)


@rule("masked_scatter")
def masked_scatter(call: Call):
    """Each place under the mask takes the element of its rank among them."""
    x, mask, source = call.values()
    shape = ember.broadcast_shapes(x.shape, mask.shape)
    x, mask = x.expand(shape), mask.expand(shape)
    rank = mask.reshape(-1).to(ember.int64).cumsum(0) - 1
    at = ember.where(mask.reshape(-1), rank, 0)
    if not source.numel():
        raise Loop
    return ember.where(mask, source.reshape(-1)[at].reshape(x.shape), x)


@rule("nonzero_static")
def nonzero_static(call: Call):
    x, size, fill = call.values()
    flat = (x != 0).reshape(-1)
    order = flat.logical_not().to(ember.uint8).sort(0, stable=True)[1][:size]
    known = ember.arange(min(size, x.numel())) < flat.sum()
    columns = []
    for n in x.shape[::-1]:
        columns.append(ember.where(known, order % n, fill))
        order = order.div(n, rounding_mode="floor")
    if not columns:
        raise Loop
    made = ember.stack(columns[::-1], 1)
    missing = size - x.numel()
    if missing <= 0:
        return made
    return ember.cat([made, made.new_full((missing, x.dim()), fill)])


@rule("unravel_index")
def unravel_index(call: Call):
    return call.func(call.args[0].value, *call.args[1:], **call.kwargs)


@rule("repeat_interleave")
def repeat_interleave(call: Call):
    given = call.bound()
    x, repeats = given.get("self"), given.given["repeats"]
    if isinstance(repeats, int):
        return along(call)
    if call.batched(repeats):
        raise Loop  # how large the result is depends on them
    dim = given.get("dim")
    value = call.full(x)
    given.given["self"] = value.reshape(call.size, x.numel()) if dim is None else value
    given.given["dim"] = 1 if dim is None else shifted(dim, x.dim())
    return given.call(call.func)


# --- tables ---------------------------------------------------------------------------


def _table(call: Call, weight, index) -> tuple[Tensor, Tensor]:
    """The rows of all tables in one, and indices to go with it."""
    value, first = call.full(weight), ember.arange(call.size, device=index.device)
    first = first.reshape(call.size, *[1] * index.dim())
    return value.flatten(0, 1), call.full(index) + first * weight.shape[0]


@rule("embedding")
def embedding(call: Call):
    weight, index, padding, by_count, sparse = call.values()
    if not call.batched(weight):
        return call.func(weight, index.value, padding, by_count, sparse)
    if by_count or sparse:
        raise Loop
    table, places = _table(call, weight, index)
    made = call.func(table, places)
    if padding < 0:
        return made
    known = (call.full(index) == padding).unsqueeze(-1)
    return ember.where(known, made.detach(), made)


@rule("embedding_renorm_")
def embedding_renorm(call: Call):
    weight, index, *norm = call.values()
    table, places = _table(call, weight, index)
    table = table.clone()
    call.func(table, places, *norm)
    weight.value.copy_(table.reshape(weight.value.shape))
    return weight
