"""Outputs that share memory with operands: the right numbers, or an exception.

Every op with out= or an in-place form is called with its output laid over each of its
operands in several ways (overlap.py), and must give what it gives apart from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ember
from tools.schemas import IN_PLACE, OUT, registered

from . import bridge, overlap
from .checks import Case
from .entry import S, load

OPS, ENTRIES = registered(), load()
CASES = {
    name: Case(ENTRIES[name], OPS[name])
    for name in OPS
    if name in ENTRIES and not ENTRIES[name].random
}
LOCATION = "refer to a single memory location"


def calls(case: Case) -> list[S]:
    names = case.entry.names
    kinds = [names[0]] + [n for n in ("complex64", "int64", "bool") if n in names[1:]]
    samples = [(s, n) for s in case.entry.samples for n in kinds]
    return [bridge.tensors(sample, name) for sample, name in samples]


@pytest.mark.parametrize("name", sorted(n for n, c in CASES.items() if c.has(OUT)))
def test_out_over_an_operand(name: str) -> None:
    case = CASES[name]
    for given in calls(case):
        result = overlap.quiet(lambda given=given: case.call(overlap.cloned(given)))
        want = bridge.outputs(result)
        if isinstance(result, Exception) or not want:
            continue
        alone = isinstance(result, ember.Tensor)
        for layout, call, outs in overlap.with_out(ember, given, want):
            out = outs[0] if alone else tuple(outs)
            got = overlap.quiet(lambda c=call, o=out: case.call(c, out=o))
            assert isinstance(got, Exception) or overlap.agree(
                bridge.values(outs), bridge.values(want)
            ), f"{name}{given} with out= over {layout}: {outs}, expected {want}"


@pytest.mark.parametrize("name", sorted(n for n, c in CASES.items() if c.has(IN_PLACE)))
def test_operand_over_self(name: str) -> None:
    case = CASES[name]
    for given in calls(case):
        if not given.args or not isinstance(given.args[0], ember.Tensor):
            continue
        for layout, call in overlap.in_place(ember, given):
            apart = overlap.cloned(call)
            want = overlap.quiet(lambda c=apart: case.method(c, "_"))
            got = overlap.quiet(lambda c=call: case.method(c, "_"))
            if isinstance(got, Exception):
                continue
            assert not isinstance(want, Exception), f"{name}_{call}: expected {want}"
            assert overlap.agree(bridge.values(got), bridge.values(want)), (
                f"{name}_{given} with {layout} over self: {got}, expected {want}"
            )


OPERATORS = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift"


@pytest.mark.parametrize("name", OPERATORS.split())
def test_operators_refuse_what_overlaps(name: str) -> None:
    integer = name in ("iand", "ior", "ixor", "ilshift", "irshift")
    x = ember.arange(1, 10, dtype=ember.int64 if integer else ember.float64)
    change = getattr(ember.Tensor, f"__{name}__")
    want = change(x.clone(), x.clone())
    y = x.clone()
    assert ember.equal(change(y, y), want)
    y = x.clone()
    with pytest.raises(RuntimeError, match=LOCATION):
        change(y, y[0])
    with pytest.raises(RuntimeError, match=LOCATION):
        change(y[1:], y[:-1])
    with pytest.raises(RuntimeError, match=LOCATION):
        change(y.view(3, 3), y.view(3, 3).t())
    y = x.clone().view(3, 3)
    want = change(y[:, 0].clone(), y[:, 1].clone())
    assert ember.equal(change(y[:, 0], y[:, 1]), want)
    y = x.clone().view(3, 3)
    want = change(y.clone(), y[:, :1].clone())
    assert ember.equal(change(y, y[:, :1]), want)


def test_mask_that_is_scattered_into() -> None:
    m = ember.tensor([True, False] * 500)
    got = m.clone()
    got.masked_scatter_(got, ember.zeros(1000, dtype=ember.bool))
    assert not got.any()
    got = m.clone()
    assert ember.equal(got.masked_scatter_(m, got), m.clone().masked_scatter_(m, m))


def test_out_that_is_an_operand_keeps_its_shape() -> None:
    a = ember.ones(3)
    b = ember.arange(6.0).reshape(2, 3)
    for out in (a, a[:]):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            ember.add(a, b, out=out)
    assert a.tolist() == [1, 1, 1]


def test_out_that_grows_over_its_operands() -> None:
    memory = ember.arange(12.0)
    got = ember.add(memory[:4], memory[4:8], out=memory[:0])
    assert got.tolist() == [4, 6, 8, 10]
    memory = ember.arange(12.0)
    got = ember.mm(memory[:4].view(2, 2), memory[4:8].view(2, 2), out=memory[1:1])
    assert got.tolist() == [[6, 7], [26, 31]]


def assign(t: Any, key: Any, value: Any) -> Any:
    t[key] = value
    return t


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x.view(3, 3).copy_(x.view(3, 3).t()),
        lambda x: x.copy_(x[0]),
        lambda x: x.view(3, 3).copy_(x[:3]),
        lambda x: assign(x, ember.tensor([0, 1]), x[1:3]),
        lambda x: assign(i := x.long(), i, i.clone()),
        lambda x: x.index_put_((ember.tensor([0, 1]),), x[1:3]),
        lambda x: assign(m := (x > 3).view(3, 3), m.t(), False),
        lambda x: x.view(3, 3).index_add_(0, ember.tensor([1]), x.view(3, 3)[:1]),
        lambda x: x.view(3, 3).scatter_(0, ember.tensor([[1]]), x.view(3, 3)[:1]),
    ],
)
def test_refused(change: Any) -> None:
    with pytest.raises(RuntimeError, match=LOCATION):
        change(ember.arange(9.0))


def test_assignments_as_if_by_a_copy() -> None:
    x = ember.arange(4.0).view(2, 2)
    x[:] = x.t()
    assert x.tolist() == [[0, 2], [1, 3]]
    x = ember.arange(6.0)
    x[::2] = x[1::2]
    assert x.tolist() == [1, 1, 3, 3, 5, 5]
    x = ember.arange(9.0).view(3, 3)
    x[:] = x[:1].expand(3, 3)
    assert x.tolist() == [[0, 1, 2]] * 3
    x[:, 0] = x[:, 1]
    assert x[:, 0].tolist() == [1, 1, 1]
    m = ember.tensor([True, False, True])
    m[m] = False
    assert m.tolist() == [False] * 3
    x = ember.tensor([5.0, 1.0, 2.0])
    x[ember.tensor([True, True, True])] = x[1]
    assert x.tolist() == [1, 1, 1]
    x = ember.tensor([0.25, 0.0, 1.0])
    x[1:].bernoulli_(x[1:])
    assert x.tolist() == [0.25, 0, 1]


def test_storages_over_the_same_array() -> None:
    array = np.arange(6.0)
    a, b = ember.from_numpy(array[1:]), ember.from_numpy(array[:-1])
    with pytest.raises(RuntimeError, match=LOCATION):
        a += b
    with pytest.raises(RuntimeError, match=LOCATION):
        ember.add(b, 1, out=a)
    got = ember.cumsum(b, 0, out=a)
    assert got.tolist() == [0, 1, 3, 6, 10]


def test_outputs_that_share_memory_are_refused() -> None:
    x = ember.tensor([[3.0, 1.0], [2.0, 4.0]])
    both = ember.empty(2)
    with pytest.raises(RuntimeError, match="share memory"):
        ember.aminmax(x, dim=0, out=(both, both))
    memory = ember.empty(3)
    with pytest.raises(RuntimeError, match="share memory"):
        ember.aminmax(x, dim=0, out=(memory[:2], memory[1:]))
    with pytest.raises(RuntimeError, match="single memory location"):
        ember.aminmax(x, dim=0, out=(ember.empty(1).expand(2), ember.empty(2)))


def test_gradients_through_copies_of_operands() -> None:
    w = ember.arange(1.0, 10.0).requires_grad_()
    y = (w * 1).view(3, 3)
    y[:, 0].mul_(y[:, 1])
    (y.sum() * 2).backward()
    v = ember.arange(1.0, 10.0).requires_grad_()
    z = v.view(3, 3)
    ((z[:, 0] * z[:, 1] + z[:, 1] + z[:, 2]).sum() * 2).backward()
    assert ember.equal(w.grad, v.grad)
    w.grad = None
    y = (w * 1).view(3, 3)
    y.addmm_(y, y)
    y.sum().backward()
    v.grad = None
    z = v.view(3, 3)
    (z + z @ z).sum().backward()
    assert ember.allclose(w.grad, v.grad)
