"""Batch rules by what ops do, for all that need no other: see Note [Batched tensors].

A rule gets a `Call` and works on the values, whose first dimension is the batch. It
raises `Loop` for arguments that it does not know.
"""

import re
from typing import Any

import ember
from ember import Tensor
from ember.func._batched import (
    OF_SAMPLE,
    Call,
    Loop,
    Refused,
    by_trait,
    refusal,
    rule,
    underneath,
)
from ember.func._bound import DIMS, Bound, default_of


def _category(dtype) -> int:
    if dtype.is_complex:
        return 3
    if dtype.is_floating_point:
        return 2
    return 0 if dtype == ember.bool else 1


def _scalar_dtype(tensors: list, rank: int):
    """The dtype that tensors of one number are cast to, so that they do not promote the
    others, as they would not without the batch dimension; None if it makes no odds."""
    wide = [t for t in tensors if t.dim() > 0]
    if rank == 0 or not wide or len(wide) == len(tensors):
        return None
    dtype = wide[0].dtype
    for t in wide[1:]:
        dtype = ember.promote_types(dtype, t.dtype)
    return dtype


def broadcast_values(call: Call, tensors: list, rank: int) -> list:
    """The values, with ones after the batch where a tensor has fewer dimensions."""
    made = []
    for t in tensors:
        value = call.value(t)
        missing = rank - t.dim()
        if call.batched(t) and missing > 0:
            value = value.reshape(call.size, *[1] * missing, *t.shape)
        made.append(value)
    return made


@by_trait("pointwise")
def pointwise(call: Call):
    """The same op on the values, once they broadcast."""
    if "out" in call.kwargs:
        raise Loop
    given = [*call.args, *call.kwargs.values()]
    tensors = [x for x in given if isinstance(x, Tensor)]
    rank = max(t.dim() for t in tensors)
    in_place = call.in_place
    if in_place and tensors[0].dim() != rank:
        raise Loop
    values = broadcast_values(call, tensors, rank)
    common = _scalar_dtype(tensors, rank)
    if common is not None and not in_place:
        for i, (t, v) in enumerate(zip(tensors, values)):
            condition = call.name == "where" and i == 0
            small = t.dim() == 0 and call.batched(t) and t.dtype != common
            if small and not condition and _category(t.dtype) <= _category(common):
                values[i] = v.to(common)
    rest = iter(values)
    new = [next(rest) if isinstance(x, Tensor) else x for x in given]
    args, kwargs = new[: len(call.args)], dict(zip(call.kwargs, new[len(call.args) :]))
    return call.func(*args, **kwargs)


@rule("type_as")
def type_as(call: Call):
    x, other = call.values()
    return call.lift(x).to(other.dtype)


@rule("to")
def to(call: Call):
    """As another tensor is, or as the arguments say."""
    other = call.kwargs.get("other", (*call.args, 0)[1])
    if isinstance(other, Tensor):
        return call.lift(call.args[0]).to(other.device, other.dtype)
    return pointwise(call)


@rule("_dirichlet_grad", "_standard_gamma_grad")
def of_equal_shapes(call: Call):
    return call.func(*map(call.full, call.args))


@rule("masked_fill", "masked_fill_")
def masked_fill(call: Call):
    """Pointwise, but for a value that differs between samples."""
    x, mask, value = call.bind("self", "mask", "value")
    if not call.batched(value):
        return pointwise(call)
    if call.name == "masked_fill_":
        raise Loop
    return ember.where(mask, value.to(x.dtype), x)


@rule("fill", "fill_")
def fill(call: Call):
    """One number for all elements of a sample."""
    x, value = call.bind("self", "value")
    x = call.lift(x)
    if call.batched(value):
        value = value.value.reshape(call.size, *[1] * x.dim())
        value = value.expand(call.size, *x.shape).to(x.dtype)
    elif call.name == "fill":
        return call.func(x.value, value)
    if call.name == "fill":
        return value
    x.value.copy_(value) if isinstance(value, Tensor) else x.value.fill_(value)
    return x


def shifted(dim, rank: int):
    """A dimension, or several, of a sample as one of the batch."""
    if isinstance(dim, (tuple, list)):
        return tuple(shifted(d, rank) for d in dim)
    if rank == 0 or isinstance(dim, Tensor):
        raise Loop
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}],"
            f" but got {dim})"
        )
    return dim + 1 if dim >= 0 else dim


def _alone(call: Call, x) -> Tensor:
    """The value of the only tensor of a call."""
    others = [*call.args[1:], *call.kwargs.values()]
    if not call.batched(x) or any(isinstance(o, Tensor) for o in others):
        raise Loop
    return x.value


def _all_dims(type: str, rank: int, bound: Bound) -> Any:
    """What no `dim` stands for, if it is all there are; those of `s`, where given."""
    sizes = bound.get("s")
    if sizes is not None:
        return tuple(range(-len(sizes), 0))
    if type != "Dims":
        return None
    return tuple(range(1, rank + 1))


# Where calls of one kind have their dimensions: see _place_of_dims.
_places: dict[tuple, list | None] = {}


@by_trait("along")
def along(call: Call):
    """Ops along dimensions that are named: each is one further on."""
    kind = (call.func, tuple(map(type, call.args)), tuple(call.kwargs))
    places = _places.get(kind)
    rank = call.args[0].dim() if places else 0
    if not places or rank == 0:
        return _along(call, kind)
    args, kwargs = list(call.args), dict(call.kwargs)
    args[0] = args[0].value
    for place, name, default, several in places:
        dim = default if place is None else (args if name is None else kwargs)[place]
        if dim is None or dim == () or dim == []:
            if not several or default is not None:
                return _along(call, kind)
            dim = tuple(range(1, rank + 1))
        else:
            dim = shifted(dim, rank)
        if name is None:
            args[place] = dim
        else:
            kwargs[name] = dim
    return call.func(*args, **kwargs)


def _places_of_dims(call: Call, bound: Bound) -> list | None:
    """The index or the name, the default and the kind of each dimension among the
    arguments; None where there is more to do than to shift them."""
    schema, found = bound.schema, list[tuple]()
    names = [p.name for p in schema.params]
    if bound.tensors() != names[:1] or not call.args or "s" in bound.given:
        return None
    for i, param in enumerate(schema.params):
        if param.name not in DIMS:
            continue
        default = None if param.default is None else default_of(param.default)
        several = param.type == "Dims"
        if i < len(call.args):
            if call.args[i] is not bound.given.get(param.name):
                return None  # several, one by one
            found.append((i, None, default, several))
        else:
            keys = [k for k in (param.name, "axis") if k in call.kwargs]
            key = keys[0] if keys else None
            found.append((key, key or param.name, default, several))
    return found


def _along(call: Call, kind: tuple):
    """Also of several tensors, of one element, and where no dimension is named."""
    bound = call.bound()
    names = bound.tensors()
    if not names:
        raise Loop
    x = bound.given[names[0]]
    rank = x.dim()
    if rank == 0:
        return _along_nothing(call, bound, names)
    if kind not in _places and call.batched(x):
        _places[kind] = _places_of_dims(call, bound)
    for name in names:
        other = bound.given[name]
        if call.batched(other) or other.dim() == rank:
            if other.dim() != rank:
                raise Loop
            bound.given[name] = call.full(other)
    dims = [p for p in bound.schema.params if p.name in DIMS]
    if not dims:
        return _over_all(call, bound, names[0])
    for param in dims:
        dim = bound.value(param)
        if dim is None or (dim in ((), []) and param.default == "None"):
            dim = _all_dims(param.type, rank, bound)
            if dim is None:
                return _over_all(call, bound, names[0])
        else:
            dim = shifted(dim, rank)
        bound.given[param.name] = dim
    return bound.call(call.func)


def _over_all(call: Call, bound: Bound, name: str):
    """Over all elements at once: along the only dimension of flat samples."""
    value, given = bound.given.pop(name), bound.given
    rank, keepdim = value.dim() - 1, given.pop("keepdim", False)
    given.pop("dim", None)
    made = call.func(value.flatten(1), dim=1, **given)
    if bound.schema.result == "Tensor" and not isinstance(made, Tensor):
        made = made[0]  # max(x) is without the indices of max(x, dim)
    if not keepdim:
        return made
    return _each(made, lambda t: t.reshape(call.size, *[1] * rank))


def _along_nothing(call: Call, bound: Bound, names: list[str]):
    """Samples of one element: along the dimension that they are given for it."""
    wanted = call.of_sample()
    for name in names:
        bound.given[name] = call.full(bound.given[name]).unsqueeze(1)
    for param in bound.schema.params:
        if param.name not in DIMS:
            continue
        dim = bound.value(param)
        if dim is not None and dim not in (0, -1, (0,), (-1,), (), [], [0], [-1]):
            raise Loop
        bound.given[param.name] = 1 if param.type != "Dims" else (1,)
        if param.default is not None and "[" in param.default:
            raise Loop
    bound.given.pop("keepdim", None)
    if bound.get("k") == 0:
        bound.given["k"] = 1  # topk() of a number is the number, even so
    if any(param.name in DIMS for param in bound.schema.params):
        made = bound.call(call.func)
    else:
        made = call.func(bound.given.pop(names[0]), dim=1, **bound.given)
        if bound.schema.result == "Tensor" and not isinstance(made, Tensor):
            made = made[0]
    shapes = iter([wanted] if isinstance(wanted, Tensor) else wanted)
    return _each(made, lambda t: t.reshape(call.size, *next(shapes).shape))


def _each(made, change):
    """A tensor, or all of several, changed."""
    return change(made) if isinstance(made, Tensor) else tuple(map(change, made))


@rule("max", "min")
def extreme(call: Call):
    """Of two tensors, or along a dimension."""
    if isinstance(call.kwargs.get("other", (*call.args, 0)[1]), Tensor):
        return pointwise(call)
    return along(call)


@rule("roll")
def roll(call: Call):
    x, shifts, dims = call.bind("self", "shifts", dims=())
    value, rank = _alone(call, x), x.dim()
    if isinstance(dims, (tuple, list)) and not dims:
        flat = value.reshape(call.size, max(x.numel(), 1) if rank == 0 else x.numel())
        return flat.roll(shifts, 1).reshape(value.shape)
    return value.roll(shifts, shifted(dims, rank))


@by_trait("leading")
def leading(call: Call):
    """Ops on the last dimensions: the batch is one more of those before them."""
    bound = call.bound()
    names = bound.tensors()
    cores = {name: _CORE.get(name, 2) for name in names}
    outer = {name: bound.given[name].dim() - cores[name] for name in names}
    if not names or min(outer.values()) < 0:
        raise Loop  # for the error of the op itself
    most = max(outer.values())
    for name in names:
        x = bound.given[name]
        value = call.full(x)
        ones = [1] * (most - outer[name])
        bound.given[name] = value.reshape(call.size, *ones, *x.shape) if ones else value
    made = bound.call(call.func)
    if isinstance(made, Tensor):
        return made
    if not call.size:
        raise Loop
    # Parts that were not asked for are empty, without a batch.
    return tuple(t.new_empty((call.size, 0)) if t.shape == (0,) else t for t in made)


# How many dimensions operands have that are no matrices.
_CORE = {"pivots": 1, "LU_pivots": 1, "tau": 1, "tol": 0, "atol": 0, "rtol": 0,
         "rcond": 0}  # fmt: skip


@rule("orgqr", "ormqr")
def ormqr(call: Call):
    given = call.bound()
    for name in given.tensors():
        given.given[name] = call.full(given.given[name])
    return given.call(call.func)


@rule("view_as_real", "view_as_complex", "view_as_real_copy", "view_as_complex_copy")
def reinterpreted(call: Call):
    value = _alone(call, call.args[0])
    adjacent = value.dim() < 2 or value.stride(-1) == 1
    return call.func(value if adjacent else value.contiguous())


@by_trait("entries")
def entries(call: Call):
    """Ops on each entry of a batch: a batch of batches is a larger one."""
    bound = call.bound()
    names = bound.tensors()
    x: Any = bound.given[names[0]] if names else None
    if not call.batched(x) or any(call.batched(bound.given[n]) for n in names[1:]):
        raise Loop
    if x.dim() == _alone_rank(call.name, bound):
        bound.given[names[0]] = x.value
        return bound.call(call.func)
    bound.given[names[0]] = x.value.flatten(0, 1)
    made = bound.call(call.func)
    return _each(made, lambda t: t.unflatten(0, (call.size, x.shape[0])))


def _alone_rank(name: str, bound: Bound) -> int:
    """How many dimensions an entry has that comes without a batch; -1 if none may."""
    found = re.search(r"([123])d", name)
    if found:
        return int(found[1]) + 1
    if name.startswith("_adaptive"):
        return len(bound.given["output_size"]) + 1
    ranks = {"fold": 2, "nn.functional.unfold": 3, "stft": 1, "istft": 2}
    return ranks.get(name, -1)


@by_trait("query")
def query(call: Call):
    """What is asked for is the same for all samples."""
    OF_SAMPLE.add(call.name)
    return underneath(call.func, call.args, call.kwargs)


@by_trait("data_dependent")
def refuse(call: Call):
    raise Refused(refusal(call.name))


@rule("grad")
def grad(call: Call):
    """The gradient that the whole batch has."""
    return call.args[0].value.grad


@rule("requires_grad_", "retain_grad", "detach_")
def change_value(call: Call):
    """What is a matter of the value alone."""
    x = call.args[0]
    call.func(x.value, *call.args[1:], **call.kwargs)
    return x
