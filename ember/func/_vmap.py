"""`vmap`: a function of one sample becomes a function of a batch."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import ember
from ember import _C, Tensor
from ember.func import (  # noqa: F401 (register rules)
    _batched,
    _index_rules,
    _layer_rules,
    _matrix_rules,
    _recurrent_rules,
    _rules,
    _search_rules,
    _shape_rules,
)
from ember.func._batched import Level, level_of, levels, name_of, wrap
from ember.func._bound import bound
from ember.random import _set_states, _states
from ember.utils._pytree import (
    broadcast_prefix,
    tree_flatten,
    tree_unflatten,
)


def vmap(
    func: Callable,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """Map `func` over a dimension of its arguments.

    `in_dims` says which dimension of each argument (None: the same for all samples),
    `out_dims` where it goes in the results. Random ops inside are an error, or give
    "same" or "different" numbers for the samples. `chunk_size` bounds how many samples
    are computed at once.

    >>> import ember
    >>> a, b = ember.ones(3, 5), ember.ones(3, 5)
    >>> ember.vmap(ember.dot)(a, b)
    tensor([5., 5., 5.])
    """
    if randomness not in ("error", "same", "different"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}"
        )
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(
            f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})"
        )

    @wraps(func)
    def mapped(*args, **kwargs):
        name = getattr(func, "__name__", repr(func))
        dims, values, spec = _inputs(args, in_dims, name)
        size = _batch_size(dims, values)
        if chunk_size is None or chunk_size >= size:
            return _map(func, size, dims, values, spec, out_dims, randomness, kwargs)
        parts = []
        for start in range(0, size, chunk_size):
            stop = min(start + chunk_size, size)
            piece = [
                x if d is None else x.narrow(d, start, stop - start)
                for x, d in zip(values, dims)
            ]
            given = (dims, piece, spec, out_dims, randomness, kwargs)
            parts.append(_map(func, stop - start, *given))
        return _joined(parts, out_dims)

    return mapped


def _is_collection(x: Any) -> bool:
    """Whether it is an object of tensors that itself takes one sample of each, and puts
    the samples together again; tensordict's are."""
    return hasattr(x, "_add_batch_dim") and hasattr(x, "_maybe_remove_batch_dim")


def _sample(x: Any, dim: int | None, level: int) -> Any:
    """What the function is called with in place of `x`."""
    if _is_collection(x):
        # The function may write into it.
        return (
            x.clone(False)
            if dim is None
            else x._add_batch_dim(in_dim=dim, vmap_level=level)
        )
    return x if dim is None else wrap(x.movedim(dim, 0), level)


def _inputs(args: tuple, in_dims, name: str):
    """One dimension (or None) for each leaf of the arguments, made positive."""
    head = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{head}expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, "
            "or you are trying to vmap over a function with no inputs. The latter is "
            "unsupported."
        )
    values, spec = tree_flatten(args, is_leaf=_is_collection)
    dims = broadcast_prefix(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{head}in_dims is not compatible with the structure of `inputs`."
        )
    for i, (x, d) in enumerate(zip(values, dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(
                f"{head}Got in_dim={d} for an input but in_dim must be either an "
                "integer dimension or None."
            )
        if not isinstance(x, Tensor) and not _is_collection(x):
            raise ValueError(
                f"{head}Got in_dim={d} for an input but the input is of type {type(x)}."
                " We cannot vmap over non-Tensor arguments, please use None as the "
                "respective in_dim"
            )
        if not -x.dim() <= d < x.dim():
            raise ValueError(
                f"{head}Got in_dim={d} for some input, but that input is a Tensor of "
                f"dimensionality {x.dim()} so expected in_dim to satisfy "
                f"-{x.dim()} <= in_dim < {x.dim()}."
            )
        dims[i] = d % x.dim()
    return dims, values, spec


def _batch_size(dims: list, values: list) -> int:
    sizes = [x.shape[d] for x, d in zip(values, dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: at least one argument must be mapped over")
    if any(s != sizes[0] for s in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, "
            f"got sizes {sizes} for the mapped dimension"
        )
    return sizes[0]


def _map(func, size: int, dims, values, spec, out_dims, randomness: str, kwargs: dict):
    level = Level(levels[-1].number + 1 if levels else 1, size, randomness)
    levels.append(level)
    _C._push_random_watcher(_Randomness(level))
    try:
        given = [_sample(x, d, level.number) for x, d in zip(values, dims)]
        result = func(*tree_unflatten(given, spec), **kwargs)
        return _outputs(result, out_dims, level, func)
    finally:
        _C._pop_random_watcher()
        levels.pop()


def _outputs(result, out_dims, level: Level, func):
    name = getattr(func, "__name__", repr(func))
    leaves, spec = tree_flatten(result, is_leaf=_is_collection)
    dims = broadcast_prefix(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
            "compatible with the structure of `outputs`."
        )
    return tree_unflatten(
        [_output(x, d, level, name, out_dims) for x, d in zip(leaves, dims)], spec
    )


def _output(x, dim, level: Level, name: str, out_dims):
    if _is_collection(x):
        sizes = {"vmap_level": level.number, "batch_size": level.size, "out_dim": dim}
        return x._maybe_remove_batch_dim(name, **sizes)
    if not isinstance(x, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}."
            f" Did you mean to set out_dims= to None for output?"
        )
    mapped = level_of(x) == level.number
    if dim is None:
        if mapped:
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when "
                "out_dim is None"
            )
        return x
    value = x.value if mapped else x.expand(level.size, *x.shape)  # type: ignore[attr-defined]
    if not -value.dim() <= dim < value.dim():
        raise IndexError(
            f"vmap({name}, ..., out_dims={out_dims}): out_dim {dim} is out of range "
            f"for an output of {value.dim() - 1} dimensions"
        )
    return value if dim == 0 else value.movedim(0, dim)


def _joined(parts: list, out_dims):
    """The results of chunks, put together along their batch."""
    flat = [tree_flatten(p) for p in parts]
    spec = flat[0][1]
    dims = broadcast_prefix(out_dims, spec)
    columns = zip(*(leaves for leaves, _ in flat))
    return tree_unflatten(
        [c[0] if d is None else ember.cat(c, d) for c, d in zip(columns, dims or [])],
        spec,
    )


class _Randomness:
    """Sees the calls of ops that draw numbers inside a `vmap`."""

    def __init__(self, level: Level) -> None:
        self.level = level

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = name_of(func)
        if _switched_off(name, args, kwargs):
            return func(*args, **kwargs)
        mode, number = self.level.randomness, self.level.number
        if mode == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please "
                "either use the 'same' or 'different' randomness flags on vmap or "
                "perform the randomness operation out of vmap"
            )
        leaves, spec = tree_flatten((args, kwargs))
        mapped = any(level_of(x) == number for x in leaves)
        if mode == "same" and not mapped:
            return func(*args, **kwargs)
        if name.endswith("_") and level_of(leaves[0]) != number:
            raise RuntimeError(
                f"vmap: {name} would give a tensor that is the same for all samples "
                "different values; make it inside the function, or take "
                "randomness='same'"
            )
        if mode == "same":
            return self._the_same(func, name, leaves, spec)
        if mapped:
            return func(*args, **kwargs)  # one draw for the whole batch
        places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor)]
        if places:  # the same tensor for all samples: repeated
            x = leaves[places[0]]
            leaves[places[0]] = wrap(x.expand(self.level.size, *x.shape), number)
            args, kwargs = tree_unflatten(leaves, spec)
            return func(*args, **kwargs)
        return self._new(func, args, kwargs)

    def _new(self, func, args, kwargs):
        """A tensor of random numbers for each sample."""
        given = bound(func, args, kwargs)
        if given is None:
            return func(*args, **kwargs)  # for the error of the op itself
        size, count = given.given.get("size"), self.level.size
        if size is None:  # randperm
            rows = [func(*args, **kwargs) for _ in range(count)]
            return wrap(ember.stack(rows), self.level.number)
        size = (size,) if isinstance(size, int) else tuple(size)
        given.given["size"] = (count, *size)
        return wrap(given.call(func), self.level.number)

    def _the_same(self, func, name: str, leaves: list, spec):
        """One sample after the other, from the same state of the generator."""
        number, state, rows = self.level.number, _states(), []
        for i in range(self.level.size):
            _set_states(state)
            one = [x.value[i] if level_of(x) == number else x for x in leaves]
            args, kwargs = tree_unflatten(one, spec)
            rows.append(func(*args, **kwargs))
        if name.endswith("_"):
            return leaves[0]
        if isinstance(rows[0], Tensor):
            return wrap(ember.stack(rows), number)
        return type(rows[0])(wrap(ember.stack(c), number) for c in zip(*rows))


def _switched_off(name: str, args: tuple, kwargs: dict) -> bool:
    """Whether a dropout is not to drop anything."""
    if name in ("scaled_dot_product_attention", "lstm", "gru", "rnn_tanh", "rnn_relu"):
        # The only numbers above zero that are no ints; a scale is given by name.
        shares = [*args, kwargs.get("dropout_p", 0.0), kwargs.get("dropout", 0.0)]
        return not any(type(a) is float and a > 0 for a in shares)
    if "dropout" not in name and "rrelu" not in name:
        return False
    if "dropout" in name and kwargs.get("p", (*args, None, None)[1]) == 0:
        return True
    return kwargs.get("train", kwargs.get("training", True)) is False or (
        args[-1] is False
    )
