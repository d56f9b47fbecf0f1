"""Batch rules of views, joins and new tensors.

See Note [Batched tensors] in `_batched.py`.
"""

from math import prod

import ember
from ember import Tensor
from ember.func._batched import Call, Loop, by_trait, rule
from ember.func._bound import Bound
from ember.func._rules import shifted


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
    if -1 in size:  # which an empty batch leaves open
        known = -prod(size)
        if known <= 0 or x.numel() % known:
            raise Loop  # for the error of the op itself
        size = tuple(x.numel() // known if n == -1 else n for n in size)
    return call.func(x.value, (call.size, *size))


@rule("view_as", "reshape_as", "expand_as")
def like_other(call: Call):
    x, other = call.args
    return getattr(call.lift(x), call.name[:-3])(other.shape)


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
    if x.dim() == 0:
        call.of_sample()  # for its errors
        return call.func(own(call).value, ())
    return own(call).value.squeeze(shifted(dim, x.dim()))


@rule("repeat", "tile")
def repeat(call: Call):
    x = own(call)
    times = _size(call, "repeats" if call.name == "repeat" else "dims")
    missing = len(times) - x.dim()
    if missing < 0 and call.name == "tile":
        times, missing = (*[1] * -missing, *times), 0
    if missing < 0:
        raise Loop
    value = x.value.reshape(call.size, *[1] * missing, *x.shape)
    return value.repeat(1, *times)


@rule("unsqueeze_", "squeeze_", "t_", "transpose_", "swapaxes_", "swapdims_")
def turned_in_place(call: Call):
    """The wrapper gets another value, and another shape."""
    x = own(call)
    changed = getattr(x, call.name[:-1])(*call.args[1:], **call.kwargs)
    call.of_sample()
    x.value = changed.value
    return x


def _own_memory(call: Call, x: Tensor, size, stride, offset):
    """Size, strides and offset in a batch of samples that have memory of their own."""
    steps = zip(size, stride, strict=True)
    last = (offset or 0) + sum((n - 1) * s for n, s in steps)
    if last >= x.numel() or 0 in size:
        raise Loop  # for the error of the op itself
    return (call.size, *size), (x.numel(), *stride), offset or 0


@rule("as_strided", "as_strided_copy")
def as_strided(call: Call):
    """Strides and offsets are those of a sample in memory of its own."""
    x, *place = call.values()
    value = own(call).value.clone().contiguous()
    return value.as_strided(*_own_memory(call, x, *place))


@rule("as_strided_scatter")
def as_strided_scatter(call: Call):
    x, source, *place = call.values()
    place = _own_memory(call, x, *place)
    return call.func(call.full(x).contiguous(), call.full(source), *place)


@rule("resize_", "resize_as_", "set_", "as_strided_")
def refuse(call: Call):
    raise RuntimeError(
        f"vmap: {call.name} would change the memory of one sample of a batch; make a "
        "new tensor instead"
    )


@by_trait("factory")
def new(call: Call):
    """A tensor of the size of a sample's: one for each, where numbers differ."""
    given = call.bound()
    size, value = given.get("size"), given.get("fill_value")
    if size is None:
        return _from_data(call, given)
    given.given["size"] = (call.size, *((size,) if isinstance(size, int) else size))
    if "stride" in given.given:
        strides = given.given["stride"]
        spread = 1 + sum((n - 1) * s for n, s in zip(size, strides, strict=True))
        given.given["stride"] = (max(spread, 1), *strides)
    if "self" in given.given:
        given.given["self"] = call.value(given.given["self"])
    if call.batched(value):
        given.given["fill_value"] = 0
    made = given.call(call.func)
    if call.batched(value):
        ones = [1] * (made.dim() - 1)
        made = made + value.value.reshape(call.size, *ones).to(made.dtype)
    return made


def _from_data(call: Call, given: Bound):
    """`tensor(x)` and the like, of a tensor."""
    name = next(n for n in ("data", "obj", "ext_tensor") if n in given.given)
    if "self" in given.given:  # new_tensor
        given.given["self"] = call.value(given.given["self"])
        if not call.batched(given.given["data"]):
            return call.lift(given.call(call.func))
    elif not call.batched(given.get(name)):
        raise Loop
    given.given[name] = given.given[name].value
    return given.call(call.func)


@rule("linspace", "logspace")
def line(call: Call):
    """Between ends that differ: from each of them, to the middle."""
    start, end, steps, *rest = call.values()
    base = rest.pop(0) if call.name == "logspace" else None
    dtype = rest[0] or ember.get_default_dtype()
    i = ember.arange(steps, dtype=dtype)
    step = (end - start) / max(steps - 1, 1)
    made = ember.where(i < steps // 2, start + step * i, end - step * (steps - 1 - i))
    made = made if steps > 1 else start + 0 * i
    return (made if base is None else base**made).to(dtype)


# --- joins ----------------------------------------------------------------------------


@rule("cat", "concat", "concatenate", "stack")
def join(call: Call):
    tensors, dim = call.values()
    rank = max(t.dim() for t in tensors) + (call.name == "stack")
    values = [call.full(t) for t in tensors]
    if call.name == "cat" and any(t.dim() != rank for t in tensors):
        values = [v for v, t in zip(values, tensors) if t.dim() == rank]  # empty ones
    return call.func(values, shifted(dim, rank))


@rule("_chunk_cat")
def chunk_cat(call: Call):
    tensors, dim, chunks = call.values()
    call.of_sample()  # for its errors
    dim, parts = dim % tensors[0].dim(), []
    for t in tensors:
        missing = -t.shape[dim] % chunks
        gap = t.new_zeros((*t.shape[:dim], missing, *t.shape[dim + 1 :]))
        whole = ember.cat([t, gap], dim) if missing else t
        parts.append(whole.reshape(*t.shape[:dim], chunks, -1))
    return ember.cat(parts, dim + 1)


def _at_least(x: Tensor, n: int) -> Tensor:
    """`x` with as many dimensions: ones before a row, and one behind a matrix."""
    if x.dim() < min(n, 1):
        x = x.reshape(1)
    if x.dim() == 1 and n > 1:
        x = x.unsqueeze(0)
    return x.unsqueeze(-1) if x.dim() == 2 and n > 2 else x


@rule("atleast_1d", "atleast_2d", "atleast_3d")
def at_least(call: Call):
    (given,) = call.values()
    n = int(call.name[-2])
    if isinstance(given, Tensor):
        return _at_least(given, n)
    return tuple(_at_least(call.lift(t), n) for t in given)


@rule("hstack", "vstack", "row_stack", "dstack", "column_stack")
def stack_by_rank(call: Call):
    (tensors,) = call.values()
    if call.name == "column_stack":
        rows = [t.reshape(t.numel(), 1) if t.dim() < 2 else t for t in tensors]
        return ember.cat(rows, 1)
    n = {"hstack": 1, "dstack": 3}.get(call.name, 2)
    rows = [_at_least(t, n) for t in tensors]
    dim = {"hstack": min(rows[0].dim() - 1, 1), "dstack": 2}.get(call.name, 0)
    return ember.cat(rows, dim)


@rule("hsplit", "vsplit", "dsplit")
def split_by_name(call: Call):
    x, spec = call.values()
    call.of_sample()  # for its errors
    dim = {"v": 0, "h": min(x.dim() - 1, 1), "d": 2}[call.name[0]]
    return x.tensor_split(spec, dim)


@rule("block_diag")
def block_diag(call: Call):
    (tensors,) = call.values()
    blocks = [_at_least(t, 2) for t in tensors]
    rows, before, total = [], 0, sum(b.shape[1] for b in blocks)
    for b in blocks:
        after = total - before - b.shape[1]
        gaps = [b.new_zeros((b.shape[0], n)) for n in (before, after)]
        rows.append(ember.cat([gaps[0], b, gaps[1]], 1))
        before += b.shape[1]
    return ember.cat(rows)


@rule("broadcast_tensors")
def broadcast_tensors(call: Call):
    (tensors,) = call.values()
    shape = ember.broadcast_shapes(*(t.shape for t in tensors))
    return tuple(call.lift(t).expand(shape) for t in tensors)


@rule("sum_to_size")
def sum_to_size(call: Call):
    x, size = call.values()
    size = (size,) if isinstance(size, int) else size
    call.of_sample()  # for its errors
    missing = x.dim() - len(size)
    dims = [d for d in range(x.dim()) if d < missing or size[d - missing] == 1]
    return (x.sum(dims, keepdim=True) if dims else x).reshape(size)


# --- diagonals and turns --------------------------------------------------------------


@rule("diag_embed")
def diag_embed(call: Call):
    x, offset, dim1, dim2 = call.values()
    rank = x.dim() + 1
    return x.value.diag_embed(offset, shifted(dim1, rank), shifted(dim2, rank))


@rule("narrow")
def narrow(call: Call):
    """From a place that is the same for all samples, or each sample's own."""
    x, dim, start, length = call.values()
    if not call.batched(start):
        return call.func(own(call).value, shifted(dim, x.dim()), start, length)
    start = ember.where(start < 0, start + x.shape[dim], start)
    return call.lift(x).index_select(dim, start + ember.arange(length))


@rule("tensor_split")
def tensor_split(call: Call):
    x, spec, dim = call.values()
    if call.batched(spec):
        raise Loop
    spec = spec.tolist() if isinstance(spec, Tensor) else spec
    return x.value.tensor_split(spec, shifted(dim, x.dim()))


@rule("diag", "diagflat")
def diag(call: Call):
    x, offset = call.values()
    if call.name == "diagflat":
        x = x.reshape(-1)
    call.of_sample()  # for its errors
    return x.diag_embed(offset) if x.dim() == 1 else x.diagonal(offset)


@rule("fill_diagonal_")
def fill_diagonal(call: Call):
    x, value, wrap = call.values()
    call.of_sample()  # for its errors
    steps = [1]
    for n in x.shape[:0:-1]:
        steps.append(steps[-1] * n)
    stop = x.numel() if wrap or x.dim() > 2 else x.shape[1] ** 2
    flat = x.value.flatten(1).clone()
    flat[:, : min(stop, x.numel()) : sum(steps)] = value
    x.value.copy_(flat.reshape(x.value.shape))
    return x


@rule("fliplr", "flipud")
def flip(call: Call):
    call.of_sample()  # for its errors
    return own(call).flip(int(call.name == "fliplr"))


@rule("msort")
def msort(call: Call):
    return own(call).sort(0)[0]


@rule("select_scatter", "slice_scatter", "diagonal_scatter")
def scatter_view(call: Call):
    """A copy with a part replaced."""
    given = call.bound()
    x, rank = given.given["self"], given.given["self"].dim()
    for param in given.schema.params:
        if param.name in ("dim", "dim1", "dim2"):
            given.given[param.name] = shifted(given.value(param), rank)
    given.given["self"] = call.full(x)
    given.given["src"] = call.full(given.given["src"])
    return given.call(call.func)
