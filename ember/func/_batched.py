"""Tensors with a hidden batch dimension, which `vmap` maps functions over.

Note [Batched tensors]
A `Batched` stands for one sample. It holds the whole batch (`value`, the batch first)
and the level of the `vmap` that made it; the value may be batched again, at a lower
level. Every op on it arrives in `__torch_function__`, is looked up among the batch
rules (`_*rules.py`), by its name and then by its traits (Note [Traits]), and runs once
on the whole batch. What has no rule runs once for each sample, and the results are
stacked: slower, but right for every op.

The tensor underneath is on the `meta` device, so that code which goes past
`__torch_function__` fails instead of computing with the wrong values. Gradients are
recorded between the values, as between any other tensors.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import ember
from ember import _C
from ember._C import Tensor
from ember._traits import op_named, telling, traits_of
from ember.autograd.function import vmaps
from ember.func._bound import Bound, bound
from ember.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten


class Level(NamedTuple):
    """One `vmap` that is running."""

    number: int
    size: int
    randomness: str


levels: list[Level] = vmaps


class Batched(Tensor):
    """One sample of a batch, standing for all. See Note [Batched tensors]."""

    value: Tensor
    level: int

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return dispatch(func, args, kwargs or {})

    def numpy(self, *args, **kwargs):
        """Not possible: a sample has no memory of its own."""
        raise RuntimeError(refusal("numpy"))


def wrap(value: Tensor, level: int) -> Batched:
    """The samples along the first dimension of `value`, as one."""
    # Overrides are off: a Batched has its logical shape on its own meta tensor.
    before = _C._switch_overrides(True, True)
    try:
        sample = _C.empty(value.shape[1:], dtype=value.dtype, device="meta")
        made = sample.as_subclass(Batched)
    finally:
        _C._switch_overrides(*before)
    made.value, made.level = value, level
    return made


def level_of(value) -> int:
    """The level of a batched tensor, 0 of anything else."""
    return value.level if type(value) is Batched else 0


def highest(values) -> int:
    """The highest level among values."""
    return max((v.level for v in values if type(v) is Batched), default=0)


def size_at(number: int) -> int:
    """The batch size of a level."""
    for level in levels:
        if level.number == number:
            return level.size
    raise RuntimeError(
        "a tensor of vmap was used after the function that it was made in returned"
    )


def lifted(x: Tensor, below: int | None = None) -> Tensor:
    """`x` batched at every level (below `below`), by repeating it where it is not."""
    numbers = [v.number for v in levels if below is None or v.number < below]
    if not numbers:
        return x
    top = numbers[-1]
    if level_of(x) == top:
        return wrap(lifted(x.value, top), top)  # type: ignore[attr-defined]
    inner = lifted(x, top)
    return wrap(inner.expand(size_at(top), *inner.shape), top)


_OP = type(_C.add)
Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}  # by name: (Call) -> result on values, batch first


def rule(*names: str):
    """Register a batch rule for functions and methods of these names."""

    def register(func: Rule) -> Rule:
        for name in names:
            RULES[name] = func
        return func

    return register


BY_TRAIT: dict[str, Rule] = {}


def by_trait(name: str):
    """Register the batch rule of all ops with a trait that have none of their own."""

    def register(func: Rule) -> Rule:
        BY_TRAIT[name] = func
        return func

    return register


_found: dict[str, Rule | None] = {}


def changes(name: str) -> bool:
    """Whether the op of this name changes its first argument."""
    return (name[-1] == "_" and not name.endswith("__")) or name == "__setitem__"


def _in_place(plain: Rule) -> Rule:
    """The rule of an op in place, by that of the op that returns a new tensor."""

    def rule(call: "Call") -> Any:
        x, func = call.args[0], getattr(Tensor, call.name[:-1], None)
        func = func or getattr(ember, call.name[:-1])
        made = plain(Call(func, call.name[:-1], call.args, call.kwargs, call.level))
        x.value.copy_(call.value(made))
        return x

    return rule


def rule_of(func, name: str) -> Rule | None:
    """The batch rule of an op; None if it has none."""
    if name not in _found:
        traits = traits_of(func)
        apt = [BY_TRAIT[trait] for trait in BY_TRAIT if trait in traits]
        found = RULES.get(name)
        if found is None and changes(name) and name[:-1] in RULES:
            found = _in_place(RULES[name[:-1]])
        _found[name] = found or (apt[0] if apt else None)
    return _found[name]


class Loop(Exception):
    """Raised by a rule to say: one sample after the other, please."""


class Refused(Exception):
    """Raised by a rule for what has no meaning for a sample that stands for all."""


class Call:
    """One call of an op with batched arguments, as a rule sees it."""

    def __init__(self, func, name: str, args: tuple, kwargs: dict, level: int) -> None:
        self.func, self.name = func, name
        self.args, self.kwargs, self.level = args, kwargs, level
        self.size = size_at(level)

    def batched(self, x) -> bool:
        """Whether `x` has this call's batch dimension."""
        return type(x) is Batched and x.level == self.level

    def value(self, x):
        """`x` itself, or the batch behind it."""
        return x.value if self.batched(x) else x

    def full(self, x: Tensor) -> Tensor:
        """The batch behind `x`; repeated, if `x` is the same for all samples."""
        if self.batched(x):
            return x.value  # type: ignore[attr-defined]
        return x.expand(self.size, *x.shape)

    def lift(self, x: Tensor) -> Any:
        """`x` as a sample of this call's batch."""
        return x if self.batched(x) else wrap(self.full(x), self.level)

    def of_sample(self):
        """What the op returns for a sample, without values; or the op's own error."""

        def meta(x):
            if not isinstance(x, Tensor) or type(x) is Batched:
                return x
            return x.detach().to("meta")

        return underneath(self.func, *tree_map(meta, (self.args, self.kwargs)))

    def bound(self) -> Bound:
        """The arguments by the names in the op's schema."""
        found = None
        op = self.func if type(self.func) is _OP else op_named(self.name)
        if op is not None and "out" not in self.kwargs:
            found = bound(op, self.args, self.kwargs)
        if found is None:
            raise Loop
        return found

    def values(self) -> list:
        """All arguments in the schema's order, defaults included."""
        found = self.bound()
        return [found.value(p) for p in found.schema.params]

    @property
    def in_place(self) -> bool:
        """Whether the first argument is changed."""
        return changes(self.name)

    def bind(self, *names: str, **defaults) -> list:
        """The arguments in this order; those in `defaults` may be missing."""
        if len(self.args) > len(names) + len(defaults):
            raise Loop
        order = [*names, *defaults]
        given = dict(zip(order, self.args))
        for key, value in self.kwargs.items():
            key = _SYNONYMS.get(key, key)
            if key not in order or key in given:
                raise Loop
            given[key] = value
        try:
            return [given[n] if n in given else defaults[n] for n in order]
        except KeyError:
            raise Loop from None


_SYNONYMS = {"axis": "dim", "input": "self", "keepdims": "keepdim"}

# Answered by the meta tensor, which has the shape and dtype of one sample; ops of which
# that is the trait are added.
OF_SAMPLE = set(telling("size form"))
# Answered by the value: one answer for the batch.
_OF_BATCH = telling("place kind history")
_FORBIDDEN = telling("values memory") | {"__iter__"}


_names: dict = {}


def name_of(func) -> str:
    """The name of what was called: of the attribute, for its getter; with its module,
    where the same name means something else there ("linalg.norm")."""
    name = func.__name__
    if name in ("__get__", "__set__"):
        return func.__self__.__name__
    if type(func) is not _OP:
        return name
    full = _names.get(func)
    if full is None:
        full = repr(func)[4:-1] if repr(func).startswith("<op ") else name
        apart = ("linalg.", "fft.", "sparse.", "nn.functional.unfold")
        if not full.startswith(apart):
            full = name
        _names[func] = full
    return full


def dispatch(func, args: tuple, kwargs: dict):
    """Carry out a call that has batched arguments."""
    name = name_of(func)
    if name in OF_SAMPLE:
        return underneath(func, args, kwargs)
    leaves, spec = tree_flatten((args, kwargs))
    level = highest(leaves)
    if name in _OF_BATCH:
        return func(args[0].value)
    if name in _FORBIDDEN:
        raise RuntimeError(refusal(name))
    if name == "__repr__":
        inside = "    " + repr(args[0].value).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={args[0].level}, bdim=0, value=\n{inside}\n)"
    call = Call(func, name, args, kwargs, level)
    found = rule_of(func, name)
    if changes(name):
        _check_changed(name, args[0], level)
    if found is not None:
        try:
            made = found(call)
            return args[0] if changes(name) else _wrapped(made, level)
        except Loop:
            pass
        except Refused as error:
            raise RuntimeError(str(error)) from None
        except (RuntimeError, ValueError, IndexError, TypeError):
            if call.size:
                raise
    plain = getattr(func, "__wrapped__", None)
    if plain is not None:  # written in Python, in terms of ops that have rules
        return plain(*args, **kwargs)
    if not call.size:
        return _no_samples(call)
    return _loop(func, name, leaves, spec, level)


def _no_samples(call: "Call"):
    """What an op returns for an empty batch, where its rule needs a sample."""
    if call.in_place:
        return call.args[0]
    value = next(x for x in tree_leaves((call.args, call.kwargs)) if call.batched(x))
    device = value.value.device

    def empty(x):
        if not isinstance(x, Tensor):
            return x
        none = ember.empty((0, *x.shape), dtype=x.dtype, device=device)
        return wrap(none, call.level)

    return tree_map(empty, call.of_sample())


def underneath(func, args, kwargs):
    """A call on the tensors that batched ones are made of: shapes only."""
    before = _C._switch_overrides(True, True)
    try:
        return func(*args, **kwargs)
    finally:
        _C._switch_overrides(*before)


def refusal(name: str) -> str:
    """Why there is no such thing for a sample that stands for all."""
    if name in ("item", "__int__", "__float__", "__index__", "__complex__"):
        return (
            "vmap: It looks like you're calling .item() on a Tensor. We don't support "
            "vmap over calling .item() on a Tensor, please try to rewrite what you're "
            "doing with other operations."
        )
    if name in ("__bool__", "is_nonzero", "equal", "allclose", "__contains__"):
        return (
            "vmap: It looks like you're attempting to use a Tensor in some "
            "data-dependent control flow. We don't support that yet, please shout over "
            "at https://github.com/pytorch/functorch/issues/257 ."
        )
    return (
        f"vmap: {name} has no meaning for a tensor that stands for a batch: its result "
        "would differ in kind or shape between samples"
    )


def _wrapped(result, level: int):
    """What a rule returns, batched: tensors anywhere in lists and tuples."""
    if isinstance(result, Tensor):
        # Rules made of other ops return what these do.
        return result if level_of(result) == level else wrap(result, level)
    if isinstance(result, (tuple, list)):
        return tree_map(lambda x: _wrapped(x, level), result)
    return result


def _check_changed(name: str, x, level: int) -> None:
    if level_of(x) != level:
        raise RuntimeError(
            f"vmap: {name}(self, *extra_args) is not possible because there exists a "
            "Tensor `other` in extra_args that has more elements than `self`. This "
            "happened due to `other` being vmapped over but `self` not being vmapped "
            "over at this level. Please try to use out-of-place operators instead."
        )


def _loop(func, name: str, leaves: list, spec, level: int):
    """Once for each sample; results stacked."""
    size = size_at(level)
    marks = [type(x) is Batched and x.level == level for x in leaves]
    in_place = changes(name)
    if "out" in (spec.child(1).context or ()):
        raise NotImplementedError(f"vmap: {name} with out= is not supported")
    rows = []
    for i in range(size):
        picked = [x.value[i] if m else x for x, m in zip(leaves, marks)]
        args, kwargs = tree_unflatten(picked, spec)
        rows.append(func(*args, **kwargs))
    if in_place:
        return leaves[0]
    parts = [tree_flatten(row) for row in rows]
    columns = zip(*(flat for flat, _ in parts))
    stacked = [
        wrap(ember.stack(column), level) if isinstance(column[0], Tensor) else column[0]
        for column in columns
    ]
    return tree_unflatten(stacked, parts[0][1])
