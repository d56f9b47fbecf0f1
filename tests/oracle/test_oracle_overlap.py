"""Outputs over operands: where torch gives the right numbers, so does ember, and where
torch refuses the overlap, ember does."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest

import ember
from tests.ops import overlap
from tests.ops.checks import Case
from tests.ops.entry import S, load
from tools.schemas import IN_PLACE, OUT, registered

torch = pytest.importorskip("torch")
if not hasattr(os, "fork"):
    pytest.skip("torch is asked in children", allow_module_level=True)

ALIGNED, APART = 32, 64  # in core/ops/schema.h
OPS, ENTRIES = registered(), load()
CASES = {
    name: Case(ENTRIES[name], OPS[name])
    for name in OPS
    if name in ENTRIES and not ENTRIES[name].random
}


def function_of(m: Any, name: str) -> Any:
    for part in name.split("."):
        m = getattr(m, part, None)
    return m


def call_for(m: Any, sample: S, dtype: str) -> S:
    """The call with tensors of `m`."""

    def build(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return m.from_numpy(value.copy())
        if isinstance(value, ember.dtype):
            return getattr(m, str(value).rpartition(".")[2])
        if isinstance(value, (list, tuple)):
            return type(value)(build(v) for v in value)
        return value

    arrays = sample.arrays(dtype)
    return S(
        *(build(a) for a in arrays.args),
        **{name: build(a) for name, a in arrays.kwargs.items()},
    )


def tensors_of(m: Any, result: Any) -> list[Any]:
    if isinstance(result, m.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [t for r in result for t in tensors_of(m, r)]
    return []


def verdict(got: Any, values: list[Any], want: list[Any]) -> str:
    if isinstance(got, RuntimeError) and "unsupported operation" in str(got):
        return "overlap refused"
    if isinstance(got, Exception):
        return "refused"
    arrays = [[t.resolve_conj().numpy() for t in ts] for ts in (values, want)]
    return "right" if overlap.agree(*arrays) else "wrong"


def out_verdicts(m: Any, name: str, sample: S, dtype: str) -> dict[str, str]:
    function = function_of(m, name)
    given = call_for(m, sample, dtype)
    result = overlap.quiet(lambda: function(*given.args, **given.kwargs))
    want = tensors_of(m, result)
    if isinstance(result, Exception) or not want:
        return {}
    verdicts = {}
    for layout, call, outs in overlap.with_out(m, call_for(m, sample, dtype), want):
        out = outs[0] if isinstance(result, m.Tensor) else tuple(outs)
        got = overlap.quiet(lambda c=call, o=out: function(*c.args, **c.kwargs, out=o))
        verdicts[layout] = verdict(got, outs, want)
    return verdicts


def in_place_verdicts(m: Any, name: str, sample: S, dtype: str) -> dict[str, str]:
    method = getattr(m.Tensor, name.rpartition(".")[2] + "_", None)
    given = call_for(m, sample, dtype)
    if method is None or not given.args or not isinstance(given.args[0], m.Tensor):
        return {}
    verdicts = {}
    for layout, call in overlap.in_place(m, given):
        apart = overlap.cloned(call)
        want = overlap.quiet(lambda c=apart: method(*c.args, **c.kwargs))
        if isinstance(want, Exception):
            continue
        got = overlap.quiet(lambda c=call: method(*c.args, **c.kwargs))
        verdicts[layout] = verdict(got, [call.args[0]], [want])
    return verdicts


def asked(verdicts: Any, *args: Any) -> dict[str, str]:
    """What torch does, in a child: some overlaps make it crash."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            torch.set_num_threads(1)
            os.write(write, json.dumps(verdicts(torch, *args)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {}


def refuses(case: Case, layout: str) -> bool:
    """Whether it must be refused; where it need not be, operands are copied."""
    forms = case.schemas[0].forms
    changed = "('args', 0)" in layout and forms & IN_PLACE
    return layout.endswith(("shifted", "turned")) and bool(
        forms & ALIGNED or (forms & APART and not changed)
    )


# Refused in all places, where torch refuses some and reads before it writes in others.
REFUSED = {"_int_mm", "kthvalue"}


def compare(name: str, verdicts: Any) -> None:
    case = CASES[name]
    wrong = []
    for sample in case.entry.samples:
        dtype = case.entry.names[0]
        ours = verdicts(ember, name, sample, dtype)
        theirs = asked(verdicts, name, sample, dtype)
        for layout, want in theirs.items():
            got = ours.get(layout)
            if got is None:
                continue
            if (
                got == "wrong"
                or (want == "right" and got != want and name not in REFUSED)
                or (
                    want == "overlap refused"
                    and got == "right"
                    and refuses(case, layout)
                )
            ):
                wrong.append(f"{sample} {layout}: {got}, torch: {want}")
    assert not wrong, "\n".join([name, *wrong])


@pytest.mark.parametrize("name", sorted(n for n, c in CASES.items() if c.has(OUT)))
def test_out(name: str) -> None:
    if function_of(torch, name) is None:
        pytest.skip("torch has none")
    compare(name, out_verdicts)


@pytest.mark.parametrize("name", sorted(n for n, c in CASES.items() if c.has(IN_PLACE)))
def test_in_place(name: str) -> None:
    compare(name, in_place_verdicts)
