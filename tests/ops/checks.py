"""The checks that every entry gets; test_ops.py turns each into a test.

A check takes the Case of an op and raises AssertionError. `applies(case)` beside it
tells whether the op has what is checked.
"""

from __future__ import annotations

import gc
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ember
from tools.schemas import FUNCTION, IN_PLACE, METHOD, OUT, Schema

from . import bridge, numeric
from .entry import Entry, S, T, letter_of

# Relative and absolute tolerance of a value, by dtype.
TOLERANCE = {
    "float64": (1e-12, 1e-13),
    "complex128": (1e-12, 1e-13),
    "float32": (2e-6, 2e-6),
    "complex64": (4e-6, 4e-6),
    "float16": (2e-3, 2e-3),
    "bfloat16": (1.6e-2, 1.6e-2),
}


class Case:
    """An entry together with the schemas it is about."""

    def __init__(self, entry: Entry, schemas: list[Schema]) -> None:
        self.entry, self.schemas = entry, schemas
        self.name = entry.name
        self.short_name = schemas[0].short_name

    def has(self, form: int) -> bool:
        return any(schema.has(form) for schema in self.schemas)

    def call(self, call: S, **more: Any) -> Any:
        if self.has(FUNCTION):
            function = ember._C._ops[self.name]
        else:
            function = getattr(ember.Tensor, self.short_name)
        return function(*call.args, **call.kwargs, **more)

    def method(self, call: S, suffix: str = "") -> Any:
        name = self.short_name + suffix
        return getattr(call.args[0], name)(*call.args[1:], **call.kwargs)

    def calls(self) -> list[tuple[S, str]]:
        """Every sample in the main dtype, for checks that need no other."""
        return [(sample, self.entry.names[0]) for sample in self.entry.samples]

    def differentiable(self) -> list[tuple[S, str]]:
        letters = [letter for letter in "fc" if letter in self.entry.dtypes]
        wide = {"f": "float64", "c": "complex128"}
        return [(s, wide[letter]) for letter in letters for s in self.entry.samples]


def close(got: Any, want: Any, dtype: str, what: str, tol: float = 1.0) -> None:
    """Asserts equal structure and, up to rounding in `dtype`, equal values."""
    got, want = bridge.values(got), bridge.values(want)
    assert len(got) == len(want), f"{what}: {len(got)} results, expected {len(want)}"
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape, f"{what}: shape {g.shape}, expected {w.shape}"
        np.testing.assert_allclose(
            g, w, rtol=rtol * tol, atol=atol * tol, err_msg=what, verbose=True
        )


def same(got: Any, want: Any, what: str) -> None:
    """Asserts the same numbers to the last bits; sums may be ordered differently."""
    dtypes = [bridge.name_of(t.dtype) for t in bridge.outputs(want)]
    close(got, want, dtypes[0] if dtypes else "int64", what, tol=4)


# --- values ---------------------------------------------------------------------------


def value(case: Case) -> None:
    """The values of the NumPy reference, in every dtype of the entry."""
    entry = case.entry
    for sample, dtype in itertools.product(entry.samples, entry.names):
        got = case.call(bridge.tensors(sample, dtype))
        given = sample.arrays(dtype)
        kinds = "fbiu" if entry.result == "float" else "f"
        given = given.map(lambda a, kinds=kinds: _widened(a, kinds))
        with np.errstate(all="ignore"):
            want = entry.ref(*given.args, **given.kwargs)
        made = bridge.outputs(got)
        rounded = bridge.name_of(made[0].dtype) if made else dtype
        if letter_of(dtype) == "h":
            rounded = dtype
        close(got, want, rounded, f"{case.name}{sample} in {dtype}", entry.tol)


def _widened(a: np.ndarray, kinds: str) -> np.ndarray:
    """In the dtype in which the reference computes."""
    if a.dtype.kind == "c":
        return a.astype(complex)
    return a.astype(np.float64) if a.dtype.kind in kinds else a


value.applies = lambda case: case.entry.ref is not None and not case.entry.random


def dtype(case: Case) -> None:
    """The dtype of the result, by the rule named in the entry."""
    entry = case.entry
    for sample, name in itertools.product(entry.samples, entry.names):
        given = bridge.tensors(sample, name)
        made = bridge.outputs(case.call(given))
        expected = numeric.result_dtype(entry.result, given)
        if made and expected:
            got = bridge.name_of(made[0].dtype)
            assert got == expected, f"{case.name}{sample} in {name}: dtype {got}"


dtype.applies = lambda case: case.entry.result is not None


def promotion(case: Case) -> None:
    """Operands of two dtypes meet by the rules; numbers and 0-d tensors count less."""
    entry = case.entry
    first = entry.samples[0]
    names = [n for n in entry.names if n not in ("bfloat16", "complex64", "int32")]
    for a, b in itertools.permutations(names, 2):
        for shapes in (((3,), (3,)), ((3,), ()), ((), (3,))):
            operands = iter(zip(shapes, (a, b), strict=False))

            def build(t: Any, operands: Any = operands, last: str = a) -> Any:
                shape, name = next(operands, ((3,), last))
                values = t.with_shape(shape).array(name, np.random.default_rng(0))
                return bridge.tensor(values, name)

            given = first.map(build)
            expected = numeric.result_dtype(entry.result, given)
            where = f"{case.name} of {a}{list(shapes[0])} and {b}{list(shapes[1])}"
            try:
                got = bridge.name_of(bridge.outputs(case.call(given))[0].dtype)
            except NotImplementedError:  # few ops compute in it
                assert expected == "complex32", where
                continue
            assert got == expected, f"{where}: dtype {got}, expected {expected}"


promotion.applies = lambda case: _operands(case) > 1 and case.entry.result is not None


def broadcast(case: Case) -> None:
    """Shapes that differ give what expanding them beforehand gives."""
    name = case.entry.names[0]
    for shapes in (((3, 1, 2), (4, 1)), ((2,), (3, 2)), ((), (2, 2)), ((2, 2), ())):
        forms = itertools.cycle(shapes)
        sample = case.entry.samples[0].map(lambda t, f=forms: t.with_shape(next(f)))
        given = bridge.tensors(sample, name)
        full = np.broadcast_shapes(*shapes)
        expanded = given.map(lambda t: t)
        expanded.args = tuple(
            t.expand(full).clone() if isinstance(t, ember.Tensor) else t
            for t in given.args
        )
        same(case.call(given), case.call(expanded), f"{case.name} of {shapes}")


broadcast.applies = lambda case: _operands(case) > 1


def _operands(case: Case) -> int:
    """How many operands of the first sample broadcast together: Number parameters."""
    kinds = [p.type for p in case.schemas[0].params]
    given = case.entry.samples[0].args
    return sum(
        isinstance(a, T) and k == "Number" for a, k in zip(given, kinds, strict=False)
    )


# --- layouts and sizes ----------------------------------------------------------------


def noncontiguous(case: Case) -> None:
    """Strides and offsets of the inputs do not change the result."""
    for sample, name in case.calls():
        given = bridge.tensors(sample, name)
        want = case.call(given)
        for layout in (numeric.transposed, numeric.strided):
            got = case.call(_map_tensors(bridge.tensors(sample, name), layout))
            same(got, want, f"{case.name}{sample}, {layout.__name__} inputs")


noncontiguous.applies = lambda case: not case.entry.random and _takes_tensors(case)


def _takes_tensors(case: Case) -> bool:
    return any(
        isinstance(t, T) for sample in case.entry.samples for t in sample.tensors()
    )


def _map_tensors(call: S, function: Callable[[Any], Any]) -> S:
    def visit(value: Any) -> Any:
        if isinstance(value, ember.Tensor):
            return function(value)
        if isinstance(value, (list, tuple)) and not isinstance(value, ember.Size):
            return type(value)(visit(part) for part in value)
        return value

    return S(
        *(visit(a) for a in call.args),
        **{name: visit(a) for name, a in call.kwargs.items()},
    )


def empty(case: Case) -> None:
    """Tensors without elements give an empty result or a clear error, never a crash."""
    for sample, name in case.calls():
        for axis in (0, -1):
            hollow = sample.map(
                lambda t, axis=axis: (
                    t.with_shape(_with_zero(t.shape, axis)) if isinstance(t, T) else t
                )
            )
            try:
                got = case.call(bridge.tensors(hollow, name))
            except (RuntimeError, ValueError, IndexError, TypeError) as error:
                refused = not _pointwise(case) or _reference_raises(case, hollow, name)
                assert refused, f"{case.name}{hollow} raised {error}"
                assert str(error)
                continue
            if _pointwise(case) and case.entry.ref is not None:
                given = hollow.arrays(name)
                want = case.entry.ref(*given.args, **given.kwargs)
                close(got, want, name, f"{case.name}{hollow}")


empty.applies = _takes_tensors


def _reference_raises(case: Case, call: S, dtype: str) -> bool:
    given = call.arrays(dtype)
    try:
        case.entry.ref(*given.args, **given.kwargs)
    except (ValueError, IndexError, TypeError):
        return True
    return False


def _with_zero(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    sizes = list(shape)
    if sizes:
        sizes[axis] = 0
    return tuple(sizes)


def _pointwise(case: Case) -> bool:
    return _operands(case) > 0 or (
        [p.type for p in case.schemas[0].params] == ["Tensor"] and case.has(IN_PLACE)
    )


def meta(case: Case) -> None:
    """The meta device gives the shape, dtype and strides without computing."""
    for sample, name in case.calls():
        if not sample.tensors():
            continue
        want = bridge.outputs(case.call(bridge.tensors(sample, name)))
        got = bridge.outputs(case.call(bridge.tensors(sample, name, device="meta")))
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert g.device.type == "meta", f"{case.name}{sample}: on {g.device}"
            assert (g.shape, g.dtype) == (w.shape, w.dtype), f"{case.name}{sample}"


meta.applies = _takes_tensors


# --- forms ----------------------------------------------------------------------------


def method(case: Case) -> None:
    """x.op(...) is op(x, ...)."""
    for sample, name in case.calls():
        if isinstance(sample.args[0], T):
            want = case.call(bridge.tensors(sample, name))
            got = case.method(bridge.tensors(sample, name))
            same(got, want, f"method {case.name}{sample}")


method.applies = lambda case: (
    case.has(METHOD) and case.has(FUNCTION) and not case.entry.random
)


def _fits_in_place(case: Case, given: S, result: Any) -> bool:
    self = given.args[0]
    return (
        isinstance(self, ember.Tensor)
        and isinstance(result, ember.Tensor)
        and self.shape == result.shape
        and numeric.can_cast(bridge.name_of(result.dtype), bridge.name_of(self.dtype))
    )


def inplace(case: Case) -> None:
    """x.op_(...) changes x to op(x, ...), returns x, and has the same gradient."""
    for sample, name in case.calls():
        ember.manual_seed(0)
        want = case.call(bridge.tensors(sample, name))
        given = bridge.tensors(sample, name)
        if not _fits_in_place(case, given, want):
            continue
        version = given.args[0]._version
        ember.manual_seed(0)
        got = case.method(given, "_")
        what = f"{case.name}_{sample}"
        assert got is given.args[0], f"{what} returned another tensor"
        assert got._version > version, f"{what} left the version as it was"
        same(got, want.to(got.dtype), what)
    if not case.entry.grad or case.entry.random:
        return
    for sample, name in case.differentiable():
        given, inputs = numeric.leaves(sample, name)
        want = case.call(given)
        fits = _fits_in_place(case, given, want) and want.dtype == given.args[0].dtype
        if not inputs or not want.requires_grad or not fits:
            continue
        weights = numeric.weights([want])
        expected = bridge.grad([want], inputs, weights)
        changed = S(given.args[0] * 1, *given.args[1:], **given.kwargs)
        case.method(changed, "_")
        found = bridge.grad([changed.args[0]], inputs, weights)
        for g, w in zip(found, expected, strict=True):
            same(g, w, f"gradient of {case.name}_{sample}")


inplace.applies = lambda case: case.has(IN_PLACE)


def out(case: Case) -> None:
    """out= receives the result, whatever was in it, and is resized from empty."""
    for sample, name in case.calls():
        want = case.call(bridge.tensors(sample, name))
        made = bridge.outputs(want)
        if not made:
            continue
        for shapes in ([t.shape for t in made], [(0,)] * len(made)):
            places = [
                ember.full(shape, 1, dtype=t.dtype)
                for shape, t in zip(shapes, made, strict=True)
            ]
            single = isinstance(want, ember.Tensor)
            given = bridge.tensors(sample, name)
            try:
                got = case.call(given, out=places[0] if single else tuple(places))
            except TypeError:
                if all(schema.has(OUT) for schema in case.schemas):
                    raise
                continue  # this overload has no out=
            same(places, list(made), f"{case.name}{sample} with out=")
            if single:
                assert got is places[0], f"{case.name}{sample}: returned another tensor"
            _out_refuses_gradients(case, sample, made)


def _out_refuses_gradients(case: Case, sample: S, made: list[Any]) -> None:
    if "f" not in case.entry.dtypes:
        return
    given, inputs = numeric.leaves(sample, "float64")
    if inputs and len(made) == 1 and case.call(given).requires_grad:
        with pytest.raises(RuntimeError, match="differentiation"):
            case.call(given, out=ember.empty((0,), dtype=ember.float64))


out.applies = lambda case: case.has(OUT) and not case.entry.random


def view(case: Case) -> None:
    """The result is a view: a change of the input shows in it."""
    for sample, name in case.calls():
        given = bridge.tensors(sample, name)
        result = case.call(given)
        for t in bridge.outputs(result):
            assert t._base is not None, f"{case.name}{sample} is no view"
        given.args[0].copy_(given.args[0] + 1)
        same(result, case.call(given), f"{case.name}{sample} after a change")


view.applies = lambda case: case.entry.view


# --- gradients ------------------------------------------------------------------------


def gradient(case: Case) -> None:
    """The gradient of every floating input, against central differences."""
    for sample, name in case.differentiable():
        numeric.check_gradient(
            case.call, sample, name, f"gradient of {case.name}{sample} in {name}"
        )


gradient.applies = lambda case: bool(
    case.entry.grad and not case.entry.random and case.differentiable()
)


def gradient2(case: Case) -> None:
    """The gradient of the gradient, against central differences of the gradient."""
    for sample, name in case.differentiable():
        numeric.check_second_gradient(
            case.call, sample, name, f"second gradient of {case.name}{sample} in {name}"
        )


gradient2.applies = lambda case: gradient.applies(case) and case.entry.grad != "first"


# --- the rest -------------------------------------------------------------------------


def leaks(case: Case) -> None:
    """Nothing stays behind: neither after a call nor after a backward pass."""

    def run() -> None:
        for sample, name in case.calls():
            case.call(bridge.tensors(sample, name))
        if gradient.applies(case):
            for sample, name in case.differentiable():
                given, inputs = numeric.leaves(sample, name)
                outs = [t for t in bridge.outputs(case.call(given)) if t.requires_grad]
                if inputs and outs:
                    second = case.entry.grad != "first"
                    bridge.grad(outs, inputs, numeric.weights(outs), second)
        ember._C._lazy_flush()  # what is pending in a region holds memory

    run()  # caches fill
    gc.collect()
    before = ember._C._memory_stats()["allocated"]
    run()
    gc.collect()
    after = ember._C._memory_stats()["allocated"]
    assert after <= before, f"{case.name}: {after - before} bytes were not freed"


leaks.applies = lambda case: hasattr(ember._C, "_memory_stats")


def errors(case: Case) -> None:
    """Wrong arguments raise what the entry says, with its text in the message."""
    for call, kind, text in case.entry.errors:
        with pytest.raises(kind, match=text) as caught:
            case.call(bridge.tensors(call, case.entry.names[0]))
        assert type(caught.value) is kind


errors.applies = lambda case: bool(case.entry.errors)


def seeded(case: Case) -> None:
    """The same seed gives the same numbers, and the next call others."""
    for sample, name in case.calls():
        results = []
        for seed in (0, 0, 1):
            ember.manual_seed(seed)
            results.append(case.call(bridge.tensors(sample, name)))
        same(results[0], results[1], f"{case.name}{sample} after manual_seed(0)")


seeded.applies = lambda case: case.entry.random

CHECKS = {
    function.__name__: function
    for function in (
        value, dtype, promotion, broadcast, noncontiguous, empty, meta, method, inplace,
        out, view, gradient, gradient2, leaks, errors, seeded,
    )
}  # fmt: skip


def applicable(case: Case) -> list[str]:
    """The checks that an op gets."""
    return [
        name
        for name, check in CHECKS.items()
        if case.entry.checks.get(name, True)
        and getattr(check, "applies", lambda case: True)(case)
    ]


def run(case: Case, check: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own warnings, e.g. of a resized out=
        CHECKS[check](case)
