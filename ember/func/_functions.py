"""`autograd.Function` and `autograd.grad` inside `vmap`."""

from typing import NamedTuple

import ember
from ember import _C, Tensor
from ember.autograd.function import Function
from ember.func._batched import highest, level_of, levels, wrap
from ember.func._batched_grad import run_grad
from ember.utils._pytree import broadcast_prefix, tree_flatten, tree_unflatten


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told."""

    batch_size: int
    randomness: str


def apply(cls: type[Function], args: tuple):
    """`cls.apply(*args)`, by its own batch rule or once for each sample."""
    leaves, spec = tree_flatten(args)
    number = highest(leaves)
    if number == 0:
        return _C._function_apply(cls, args)
    level = next(v for v in levels if v.number == number)
    if cls.vmap is not Function.vmap:
        if cls.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both "
                "generate_vmap_rule=True and an overridden vmap staticmethod. Please "
                "set generate_vmap_rule=False or delete the overridden vmap "
                "staticmethod to avoid ambiguity."
            )
        return _by_rule(cls, args, level)
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support."
            " Please override and implement the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )
    rows = []
    for i in range(level.size):
        one = [x.value[i] if level_of(x) == number else x for x in leaves]
        rows.append(tree_flatten(apply(cls, tree_unflatten(one, spec))))
    made = [
        wrap(ember.stack(column), number)
        if isinstance(column[0], Tensor)
        else column[0]
        for column in zip(*(flat for flat, _ in rows))
    ]
    return tree_unflatten(made, rows[0][1])


def _by_rule(cls, args: tuple, level):
    flat, args_spec = tree_flatten(args)
    mapped = [level_of(x) == level.number for x in flat]
    dims = tree_unflatten([0 if m else None for m in mapped], args_spec)
    values = tree_unflatten(
        [x.value if m else x for x, m in zip(flat, mapped)], args_spec
    )
    made = cls.vmap(VmapInfo(level.size, level.randomness), dims, *values)
    if not (isinstance(made, tuple) and len(made) == 2):
        raise RuntimeError(
            f"Expected the vmap staticmethod of {cls.__name__} to have two returns, an "
            f"output and out_dims with pytree structure compatible with the output; "
            f"got {made!r}"
        )
    result, out_dims = made
    leaves, spec = tree_flatten(result)
    places = broadcast_prefix(out_dims, spec)
    if places is None:
        raise RuntimeError(
            f"The vmap staticmethod of {cls.__name__} returned an incompatible "
            f"(output, out_dims): output has structure {spec}, out_dims is {out_dims}"
        )
    made = [
        x if d is None else wrap(x.movedim(d, 0), level.number)
        for x, d in zip(leaves, places)
    ]
    return tree_unflatten(made, spec)


def grad(outputs, inputs, given, retain_graph, create_graph, allow_unused) -> tuple:
    """`autograd.grad`, whose tensors may be batched."""
    made = run_grad(outputs, inputs, given, create_graph, retain_graph)
    if not allow_unused and any(g is None for g in made):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the "
            "graph. Set allow_unused=True if this is the desired behavior."
        )
    return made
