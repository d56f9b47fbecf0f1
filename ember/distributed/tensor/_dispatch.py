"""How an op runs on distributed tensors: find its rule, bring the inputs into the
placements that it needs, run it on the parts, and say how the results lie.

A rule works with *labels*: it names the dimensions of the inputs and of the results.
A mesh dimension may cut one label. Inputs that have it are cut there; the others are
copies, each used for a part, so that their gradients add up (`SHARED`). A result that
has the label is cut, too; one that does not is a sum over the ranks. `None` names a
dimension that must be whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ember
from ember import _C, Tensor
from ember._traits import op_named, telling, traits_of
from ember.distributed.device_mesh import DeviceMesh
from ember.distributed.tensor._api import DTensor, wrap
from ember.distributed.tensor._redistribute import Share, redistribute
from ember.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
)
from ember.func._bound import Bound, bound
from ember.utils._pytree import tree_flatten, tree_map, tree_unflatten

_MIXED = (
    "got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor "
    "before calling distributed operators! (distribute_tensor and DTensor.from_local "
    "do it; implicit_replication() takes plain tensors for copies)"
)


class _Shared(Replicate):
    """A copy of which each rank computes a term of the gradient."""


SHARED = _Shared()
Label = Any
implicit: list[bool] = []  # one entry for each `implicit_replication` that is entered


@dataclass
class Names:
    """The dimensions of an op's tensors. Of one output, or of each of several."""

    inputs: list[list[Label]]
    output: list[Label] | list[list[Label]]
    added: set[int] = field(default_factory=set)  # inputs that are added to the result
    linear: bool = False  # of terms of a sum it makes terms of a sum


class Call:
    """One call of an op, as a rule sees it."""

    def __init__(self, func: Callable, name: str, args: tuple, kwargs: dict) -> None:
        self.func, self.name, self.args, self.kwargs = func, name, args, kwargs
        leaves, self.tree = tree_flatten((args, kwargs))
        self.mesh = next(t._mesh for t in leaves if isinstance(t, DTensor))
        self.leaves = [self._distributed(t) for t in leaves]
        self.tensors = [t for t in self.leaves if isinstance(t, DTensor)]
        self.in_place = name.endswith("_") and not name.endswith("__")
        self._whole: Any = None

    def _distributed(self, leaf: Any) -> Any:
        if isinstance(leaf, DTensor):
            if leaf._mesh != self.mesh:
                raise RuntimeError(
                    f"{self.name}(): tensors lie on different meshes, {self.mesh!r} "
                    f"and {leaf._mesh!r}; cross-mesh ops are not supported"
                )
            return leaf
        if not isinstance(leaf, Tensor):
            return leaf
        if leaf.dim() and not implicit:
            raise RuntimeError(f"{self.name}(): {_MIXED}")
        return wrap(leaf, self.mesh, [Replicate()] * self.mesh.ndim, leaf.shape)

    def arg(self, at: int, name: str, default: Any = None) -> Any:
        """An argument by its place or its name."""
        if at < len(self.args):
            return self.args[at]
        return self.kwargs.get(name, default)

    def bound(self, name: str) -> Bound | None:
        """The arguments by the names in the schema of the op, if there is one."""
        op = self.func if isinstance(self.func, _C.Op) else op_named(name)
        kwargs = {k: v for k, v in self.kwargs.items() if k != "_stacklevel"}
        return None if op is None else bound(op, self.args, kwargs)

    @property
    def whole(self) -> Any:
        """What the op returns for the whole tensors, on the meta device."""
        if self._whole is None:
            args, kwargs = tree_unflatten(list(self.leaves), self.tree)
            before = _C._switch_overrides(True, True)
            try:
                self._whole = self.func(*args, **kwargs)
            finally:
                _C._switch_overrides(*before)
        return self._whole

    def local(self, placed: Sequence[Sequence[Placement]]) -> tuple[tuple, dict]:
        """The arguments with the parts of this process in these placements."""
        new = iter([place(t, p) for t, p in zip(self.tensors, placed)])
        leaves = [next(new) if isinstance(t, DTensor) else t for t in self.leaves]
        return tree_unflatten(leaves, self.tree)


@dataclass
class Rule:
    """How an op goes with placements: its labels, and what runs on the parts."""

    names: Callable[[Call], Names | None]
    run: Callable[[Call, tuple, dict, list], Any] | None = None


RULES: dict[str, Rule] = {}  # by the op's name, without the "_" of in-place forms
BY_TRAIT: dict[str, Rule] = {}  # of ops that RULES does not name
WHOLE: dict[str, Callable[..., Any]] = {}  # functions that take the call as it is
ON_META = telling("size form") | {"get_device", "__get__", "__hash__", "is_inference"}
ON_LOCAL = telling("memory") | {"is_pinned", "is_shared"}


def place(t: DTensor, placements: Sequence[Placement]) -> Tensor:
    """The part of this process in these placements."""
    plain = [Replicate() if p is SHARED else p for p in placements]
    local = redistribute(t._local_tensor, t.shape, t._mesh, t._placements, plain)
    for at, p in enumerate(placements):
        if p is SHARED and local.requires_grad:
            local = Share.apply(local, t._mesh.get_group(at))
    return local


def dispatch(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Run an op on distributed tensors."""
    name = getattr(func, "__name__", str(func))
    if name in ON_META:
        before = _C._switch_overrides(True, True)
        try:
            return func(*args, **kwargs)
        finally:
            _C._switch_overrides(*before)
    if name in ON_LOCAL:
        return func(*tree_map(_local, args), **kwargs)
    if name in WHOLE:
        return WHOLE[name](func, *args, **kwargs)
    if kwargs.get("out") is not None:
        raise NotImplementedError(f"{name}(): out= is not supported for DTensors")
    call = Call(func, name, args, kwargs)
    rule = RULES.get(name) or (RULES.get(name[:-1]) if call.in_place else None)
    if rule is None:
        traits = traits_of(func)
        rule = next((BY_TRAIT[t] for t in BY_TRAIT if t in traits), None)
    names = None if rule is None else rule.names(call)
    if rule is None or names is None:
        return _replicated(call)
    return _run(call, rule, names)


def _local(value: Any) -> Any:
    return value._local_tensor if isinstance(value, DTensor) else value


# --- labels to placements ---


def _along(call: Call, names: Names, at: int) -> tuple[list[Placement], list[Any]]:
    """Placements of the inputs, and of the outputs, along one mesh dimension."""
    given = [t._placements[at] for t in call.tensors]
    several = bool(names.output) and isinstance(names.output[0], list)
    outputs: list[Any] = names.output if several else [names.output]
    if names.linear and all(p.is_partial("sum") for p in given):
        return given, [Partial()] * len(outputs)
    if call.in_place and given[0].is_partial():
        raise RuntimeError(
            f"{call.name}(): in-place operations on a tensor of terms ({given[0]}) "
            "would need them added up first; redistribute it"
        )
    label = _choose(call, names, given)
    if label is None:
        if call.in_place and not given[0].is_replicate():
            raise RuntimeError(
                f"{call.name}(): in-place operations that require placement changes "
                "are not supported"
            )
        return [Replicate() for _ in given], [Replicate()] * len(outputs)
    made = [
        Shard(labels.index(label)) if label in labels else None for labels in outputs
    ]
    inputs: list[Placement] = []
    for number, labels in enumerate(names.inputs):
        if label in labels:
            inputs.append(Shard(labels.index(label)))
        elif number in names.added and made[0] is None:
            inputs.append(Partial())
        else:
            inputs.append(SHARED)
    return inputs, [Partial() if p is None else p for p in made]


def _choose(call: Call, names: Names, given: list[Placement]) -> Label:
    """The label to cut: the one along which most elements lie already."""
    votes: dict[Label, int] = {}
    for t, labels, p in zip(call.tensors, names.inputs, given):
        if isinstance(p, Shard) and labels[p.dim] is not None:
            votes[labels[p.dim]] = votes.get(labels[p.dim], 0) + t.numel()
            if call.in_place and t is call.tensors[0]:
                return labels[p.dim]
    if call.in_place or not votes:
        return None
    return max(votes, key=lambda label: votes[label])


def _run(call: Call, rule: Rule, names: Names) -> Any:
    columns = [_along(call, names, at) for at in range(call.mesh.ndim)]
    placed = list(zip(*(inputs for inputs, _ in columns)))
    out = [list(row) for row in zip(*(outputs for _, outputs in columns))]
    args, kwargs = call.local(placed)
    if rule.run is not None:
        made = rule.run(call, args, kwargs, out)
    else:
        made = call.func(*args, **kwargs)
    return call.args[0] if call.in_place else _wrapped(call, made, out)


def _wrapped(call: Call, made: Any, out: list[list[Placement]]) -> Any:
    """The results as DTensors, in the shapes of the whole."""
    parts, tree = tree_flatten(made)
    wholes = tree_flatten(call.whole)[0]
    rows = out if len(out) == len(parts) else out * len(parts)
    found = [
        wrap(part, call.mesh, row, whole.shape, stride=whole.stride())
        if isinstance(part, Tensor)
        else part
        for part, whole, row in zip(parts, wholes, rows)
    ]
    return tree_unflatten(found, tree)


# --- ops without a rule ---


def _replicated(call: Call) -> Any:
    """Run the op on the whole tensors, on every process."""
    everywhere = [Replicate()] * call.mesh.ndim
    args, kwargs = call.local([everywhere] * len(call.tensors))
    if not call.in_place and call.name != "__setitem__":
        made = call.func(*args, **kwargs)
        return tree_map(lambda v: replicated(v, call.mesh), made)
    own = call.args[0]
    if not isinstance(own, DTensor):
        raise RuntimeError(f"{call.name}(): {_MIXED}")
    if own.requires_grad and ember.is_grad_enabled():
        raise NotImplementedError(
            f"{call.name}(): this in-place op has no rule for DTensors that require a "
            "gradient; use the form that returns a new tensor"
        )
    with ember.no_grad():
        whole = args[0].clone()
        made = call.func(whole, *args[1:], **kwargs)
        if whole.shape != own.shape:
            raise NotImplementedError(
                f"{call.name}(): a DTensor cannot change its shape in place"
            )
        keep = redistribute(whole, own.shape, own._mesh, everywhere, own._placements)
        own._local_tensor.copy_(keep)
    return own if made is whole else made


def replicated(value: Any, mesh: DeviceMesh) -> Any:
    """A result that every process has."""
    if not isinstance(value, Tensor) or isinstance(value, DTensor):
        return value
    return wrap(value, mesh, [Replicate()] * mesh.ndim, value.shape)
