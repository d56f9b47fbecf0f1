"""Numerical help for the op checks: central differences, layouts, promotion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ember

from . import bridge
from .entry import S, T, letter_of

STEP = {1: 1e-6, 2: 1e-5}  # of central differences, for first and second gradients
RTOL = {1: 1e-6, 2: 1e-5}

# --- leaves and weights ---------------------------------------------------------------


def leaves(call: S, dtype: str, arrays: list[np.ndarray] | None = None) -> tuple:
    """The call with tensors, and those among them that require a gradient."""
    given = arrays or call.arrays(dtype).tensors()
    supply, inputs = iter(given), []

    def build(t: Any) -> Any:
        values = next(supply)
        fixed = str(t.dtype) if isinstance(t, np.ndarray) else t.dtype
        made = bridge.tensor(values, fixed or dtype)
        wanted = isinstance(t, T) and t.grad and letter_of(fixed or dtype) in "fc"
        if wanted:
            made.requires_grad = True
            inputs.append(made)
        return made

    return call.map(build), inputs


def weights(outs: list[Any]) -> list[Any]:
    """A fixed random cotangent for each output."""
    rng = np.random.default_rng(5)
    made = []
    for t in outs:
        values = rng.uniform(0.5, 1.5, tuple(t.shape))
        if t.dtype.is_complex:
            values = values + 1j * rng.uniform(0.5, 1.5, tuple(t.shape))
        made.append(bridge.tensor(np.asarray(values), bridge.name_of(t.dtype)))
    return made


def _differentiable(result: Any) -> list[Any]:
    return [
        t
        for t in bridge.outputs(result)
        if t.dtype.is_floating_point or t.dtype.is_complex
    ]


def _inner(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    """Real inner product of lists of real or complex arrays."""
    return sum(float(np.sum((x.conj() * y).real)) for x, y in zip(a, b, strict=True))


# --- central differences --------------------------------------------------------------


def _directions(arrays: list[np.ndarray], count: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(11)

    def one(a: np.ndarray) -> np.ndarray:
        v = rng.uniform(-1, 1, a.shape)
        return v + 1j * rng.uniform(-1, 1, a.shape) if a.dtype.kind == "c" else v

    every = [[one(a) for a in arrays] for _ in range(count)]
    # and one input at a time, so that errors of two cannot cancel
    for i in range(len(arrays) if len(arrays) > 1 else 0):
        every.append([one(a) if i == j else 0 * a for j, a in enumerate(arrays)])
    return every


def _compare(
    function: Callable[[list[np.ndarray]], float],
    point: list[np.ndarray],
    gradient: list[np.ndarray],
    what: str,
    order: int,
) -> None:
    step = STEP[order]
    scale = max([1.0, *(float(np.max(np.abs(g), initial=0)) for g in gradient)])
    for v in _directions(point, 3):
        ahead = function([x + step * d for x, d in zip(point, v, strict=True)])
        behind = function([x - step * d for x, d in zip(point, v, strict=True)])
        want = (ahead - behind) / (2 * step)
        got = _inner(gradient, v)
        size = max(abs(want), scale, (abs(ahead) + abs(behind)) * 1e-9 / step)
        assert abs(got - want) <= RTOL[order] * size * 10, (
            f"{what}: along a direction {got:.9g}, by differences {want:.9g}"
        )


def _wanted(call: S, dtype: str) -> list[int]:
    """Positions, among the call's tensors, of those that get a gradient."""
    return [
        i
        for i, t in enumerate(call.tensors())
        if isinstance(t, T) and t.grad and letter_of(t.dtype or dtype) in "fc"
    ]


def check_gradient(
    function: Callable[[S], Any], call: S, dtype: str, what: str
) -> None:
    """Compares the gradient of `function(call)` with central differences."""
    arrays = call.arrays(dtype).tensors()
    places = _wanted(call, dtype)
    given, inputs = leaves(call, dtype, list(arrays))
    outs = _differentiable(function(given))
    if not outs or not inputs:
        return
    assert any(t.requires_grad for t in outs), f"{what}: no result requires a gradient"
    weight = [bridge.array(w) for w in weights(outs)]
    used = [(t, w) for t, w in zip(outs, weights(outs), strict=True) if t.requires_grad]
    found = bridge.grad([t for t, _ in used], inputs, [w for _, w in used])
    gradient = [bridge.array(g) for g in found]
    for g, x in zip(found, inputs, strict=True):
        assert (g.shape, g.dtype) == (x.shape, x.dtype), f"{what}: {g.shape} {g.dtype}"

    def value(point: list[np.ndarray]) -> float:
        moved = list(arrays)
        for i, values in zip(places, point, strict=True):
            moved[i] = values
        results = _differentiable(function(_constant(call, dtype, moved)))
        return _inner(weight, [bridge.array(t) for t in results])

    _compare(value, [arrays[i] for i in places], gradient, what, 1)


def _constant(call: S, dtype: str, arrays: list[np.ndarray]) -> S:
    supply = iter(arrays)

    def build(t: Any) -> Any:
        fixed = str(t.dtype) if isinstance(t, np.ndarray) else t.dtype
        return bridge.tensor(next(supply), fixed or dtype)

    return call.map(build)


def check_second_gradient(
    function: Callable[[S], Any], call: S, dtype: str, what: str
) -> None:
    """Compares the gradient of <gradient, u> with central differences of it."""
    arrays = call.arrays(dtype).tensors()
    places = _wanted(call, dtype)
    rng = np.random.default_rng(23)
    along = [rng.uniform(-1, 1, arrays[i].shape) for i in places]
    if not places:
        return

    def first(point: list[np.ndarray], create_graph: bool) -> tuple[list, list]:
        moved = list(arrays)
        for i, values in zip(places, point, strict=True):
            moved[i] = values
        given, inputs = leaves(call, dtype, moved)
        outs = [t for t in _differentiable(function(given)) if t.requires_grad]
        if not outs:
            return inputs, []
        return inputs, bridge.grad(outs, inputs, weights(outs), create_graph)

    point = [arrays[i] for i in places]
    inputs, gradient = first(point, True)
    active = [(g, u) for g, u in zip(gradient, along, strict=False) if g.requires_grad]
    if active:
        cotangents = [
            bridge.tensor(u.astype(str(bridge.array(g).dtype))) for g, u in active
        ]
        found = bridge.grad([g for g, _ in active], inputs, cotangents)
        second = [bridge.array(g) for g in found]
    else:
        second = [np.zeros_like(x) for x in point]

    def value(at: list[np.ndarray]) -> float:
        _, parts = first(at, False)
        return _inner(along, [bridge.array(g) for g in parts]) if parts else 0.0

    _compare(value, point, second, what, 2)


# --- layouts --------------------------------------------------------------------------


def transposed(t: Any) -> Any:
    """The same values, with the memory order of the dimensions reversed."""
    if t.ndim < 2:
        return strided(t)
    order = tuple(reversed(range(t.ndim)))
    return t.permute(order).contiguous().permute(order)


def strided(t: Any) -> Any:
    """The same values with gaps between them, after an offset."""
    if t.ndim == 0:
        room = ember.full((3,), 1, dtype=t.dtype)
        room[1] = t
        return room[1]
    sizes = [2 * n + 1 for n in t.shape]
    room = ember.full(sizes, 1, dtype=t.dtype)
    view = room[tuple(slice(1, None, 2) for _ in sizes)]
    view.copy_(t)
    return view


# --- promotion ------------------------------------------------------------------------

_ORDER = ["uint8", "int8", "int16", "int32", "int64"]
_CATEGORY = {"b": 0, "i": 1, "f": 2, "h": 2, "c": 3}


def _category(dtype: str) -> int:
    return _CATEGORY[letter_of(dtype)]


def promote(a: str, b: str) -> str:
    """The dtype in which tensors of dtypes `a` and `b` meet."""
    if a == b:
        return a
    low, high = sorted((a, b), key=_category)
    if _category(low) < _category(high):
        wide = low == "float64" and high == "complex64"
        return "complex128" if wide else high
    if _category(high) == 1:
        if "uint8" in (a, b):
            other = b if a == "uint8" else a
            return "int16" if other == "int8" else other
        return max(a, b, key=_ORDER.index)
    if _category(high) == 2:
        if {a, b} == {"float16", "bfloat16"}:
            return "float32"
        return max(a, b, key=["float16", "bfloat16", "float32", "float64"].index)
    return "complex128"


def can_cast(source: str, target: str) -> bool:
    """Whether an in-place op may write `source` values to a `target` tensor."""
    return _category(source) <= _category(target) and not (
        target == "bool" and source != "bool"
    )


def meet(values: list[Any]) -> str | None:
    """The dtype of operands: tensors first, then 0-d ones and numbers by category."""
    groups: list[list[str]] = [[], [], []]
    for v in values:
        if isinstance(v, ember.Tensor):
            groups[0 if v.ndim else 1].append(bridge.name_of(v.dtype))
        elif isinstance(v, (bool, int, float, complex)):
            name = {bool: "bool", int: "int64", float: "float32", complex: "complex64"}
            groups[2].append(name[type(v)])
    result: str | None = None
    for group in groups:
        if not group:
            continue
        joint = group[0]
        for name in group[1:]:
            joint = promote(joint, name)
        if result is None:
            result = joint
        elif _category(joint) > _category(result):
            if _category(joint) == 3 and _category(result) == 2:
                wide = {"float64": "complex128", "float16": "complex32"}
                result = wide.get(result, "complex64")
            else:
                result = joint
    return result


def result_dtype(rule: str | None, call: S) -> str | None:
    """What a rule of an entry says about the dtype of the result of `call`."""
    if rule == "same":
        return bridge.name_of(call.args[0].dtype)
    flat = [v for a in call.args for v in (a if isinstance(a, (list, tuple)) else [a])]
    met = meet([v for v in flat if not isinstance(v, str)])
    if rule is None or met is None:
        return None
    if rule == "promote":
        return met
    if rule == "float":  # bools and integers become the default dtype
        return "float32" if _category(met) < 2 else met
    if rule == "sum":  # bools and integers become int64
        return "int64" if _category(met) < 2 else met
    if rule == "real":  # complex becomes real
        return {"complex128": "float64", "complex64": "float32"}.get(met, met)
    return rule  # a dtype
