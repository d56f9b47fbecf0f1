"""`vmap` of every registered op gives what one sample after the other gives, and runs
it once for the whole batch, but for what LOOPS lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ember
from ember.func import _batched
from ember.utils._pytree import tree_flatten, tree_unflatten
from tests.ops import bridge
from tests.ops.checks import Case
from tests.ops.entry import Entry, S, T, load
from tools.schemas import registered

OPS = registered()
ENTRIES = load()
SIZE = 3
# They return memory that nobody has written to, are refused, or say (_foreach_fused)
# that they do not like the strides of a sample.
LEFT_OUT = set(
    "empty_like new_empty new_empty_strided resize_ resize_as_ set_ as_strided_ "
    "_foreach_fused".split()
)
# A tensor that is the same for all samples is not changed by what differs.
REFUSALS = ("more elements than `self`", "will be updated in place, were not batched")
# Ops that run once for each sample, and why.
LOOPS = {
    **{
        name: "steps of optimizers, whose lists are not mapped"
        for name in OPS
        if name.startswith("_fused_")
    },
    "_csr_mm": "parts of sparse tensors, which are not mapped",
    "_csr_sample": "parts of sparse tensors, which are not mapped",
}
# The same, where an argument after the first differs between samples.
LOOPS_BY_OTHERS = {
    "repeat_interleave": "how often each is repeated tells the size of the result",
    "tensor_split": "the places to cut at tell the sizes of the results",
    "index_put": "masks that differ take different numbers of values",
    "index_put_": "masks that differ take different numbers of values",
    "gru": "packed rows: how many there are at each step is read from a tensor",
    "lstm": "packed rows: how many there are at each step is read from a tensor",
    "rnn_relu": "packed rows: how many there are at each step is read from a tensor",
    "rnn_tanh": "packed rows: how many there are at each step is read from a tensor",
    "gradient": "coordinates that differ: its steps are numbers of the host",
    "stft": "windows that differ: one transform has one window",
    "istft": "windows that differ: one transform has one window",
}


def kinds(name: str) -> set[str]:
    return set().union(*(schema.traits for schema in OPS[name]))


# Ops of halves alone that sum in float32: in another order, a sum may be rounded the
# other way.
SUMS_OF_HALVES = {"_weight_int8pack_mm", "_weights_mm"}

REFUSED = {name for name in OPS if "data_dependent" in kinds(name)} - {
    "repeat_interleave"
}
TESTED = [name for name in sorted(OPS) if name in ENTRIES and name not in LEFT_OUT]
NAMES = [n for n in TESTED if not ENTRIES[n].random and n not in REFUSED]
RANDOM = [n for n in TESTED if ENTRIES[n].random and "random" in kinds(n)]


@pytest.fixture
def looped(monkeypatch) -> list[str]:
    """The names of the ops that ran once for each sample."""
    names: list[str] = []
    loop = _batched._loop

    def noted(func, name, *args):
        made = loop(func, name, *args)
        names.append(name)  # not those that are errors
        return made

    monkeypatch.setattr(_batched, "_loop", noted)
    return names


@pytest.mark.parametrize("name", NAMES)
def test_vmap_is_the_loop(name: str, looped: list[str]) -> None:
    case = Case(ENTRIES[name], OPS[name])
    for sample in [*case.entry.samples, *numbers_of(case.entry)]:
        for mapped in Mapped.all_of(case, sample):
            listed = name in LOOPS or (name in LOOPS_BY_OTHERS and mapped.others)
            mapped.check(empty=not listed)
            if listed:
                looped.clear()
            else:
                assert not looped, (
                    f"{sample}, mapped over {mapped.places}: {looped[0]} ran once for "
                    "each sample. Write a rule (ember/func/_*rules.py), or list it in "
                    "LOOPS with the reason"
                )


def numbers_of(entry: Entry) -> Iterator[S]:
    """The samples with a number for each tensor, where values can be made of one."""
    for sample in entry.samples:
        number = sample.map(lambda t: t.with_shape(()) if isinstance(t, T) else t)
        try:
            bridge.tensors(number, entry.names[0], seed=0)
        except (ValueError, IndexError, TypeError, StopIteration, RuntimeError):
            continue  # `make` wants a matrix
        yield number


class Mapped:
    """One call of an op with some of its tensors mapped."""

    def __init__(self, case: Case, rows: list[list], spec, places: list[int], sample):
        self.case, self.spec, self.places, self.sample = case, spec, places, sample
        self.rows = [
            [x if i in places else rows[0][i] for i, x in enumerate(row)]
            for row in rows
        ]

    @classmethod
    def all_of(cls, case: Case, sample: S) -> list[Mapped]:
        """All tensors mapped, and each by itself."""
        rows, spec = [], None
        for seed in range(SIZE):
            call = bridge.tensors(sample, case.entry.names[0], seed=seed)
            leaves, spec = tree_flatten((call.args, call.kwargs))
            rows.append(leaves)
        places = [i for i, x in enumerate(rows[0]) if isinstance(x, ember.Tensor)]
        chosen = [places] if places else []
        chosen += [[i] for i in places] if len(places) > 1 else []
        return [cls(case, rows, spec, some, sample) for some in chosen]

    def run(self, *values):
        leaves = list(self.rows[0])
        for i, value in zip(self.places, values, strict=True):
            leaves[i] = value
        args, kwargs = tree_unflatten(leaves, self.spec)
        return bridge.outputs(self.case.call(S(*args, **kwargs)))

    @property
    def others(self) -> bool:
        """Whether more than the first tensor is mapped."""
        first = next(
            i for i, x in enumerate(self.rows[0]) if isinstance(x, ember.Tensor)
        )
        return self.places != [first]

    def columns(self, rows: list[list]) -> list[list[ember.Tensor]]:
        """Copies of the mapped tensors, those of one argument together."""
        return [[row[i].clone() for row in rows] for i in self.places]

    def check(self, empty: bool) -> None:
        try:
            wanted = [self.run(*column) for column in zip(*self.columns(self.rows))]
        except (RuntimeError, ValueError, IndexError, TypeError):
            return  # other values make the call an error of the op's own
        shapes = [[t.shape for t in row] for row in wanted]
        if not wanted[0] or any(s != shapes[0] for s in shapes):
            return  # nothing to stack
        for dim in (0, -1):
            given = [ember.stack(column, dim) for column in self.columns(self.rows)]
            try:
                got = ember.vmap(self.run, dim)(*given)
            except RuntimeError as error:
                assert any(text in str(error) for text in REFUSALS), str(error)
                return
            self.compare(got, wanted, f"{self.sample}, over {self.places} at {dim}")
        one = [ember.stack(column[:1]) for column in self.columns(self.rows)]
        self.compare(ember.vmap(self.run)(*one), wanted[:1], f"{self.sample}, only one")
        twice = [t.unsqueeze(1) for t in map(ember.stack, self.columns(self.rows))]
        got = ember.vmap(ember.vmap(self.run))(*twice)
        rows = [[t.unsqueeze(0) for t in row] for row in wanted]
        self.compare(got, rows, f"{self.sample}, over {self.places}, twice")
        none = [ember.stack(column)[:0] for column in self.columns(self.rows)]
        if empty:
            for t, want in zip(ember.vmap(self.run)(*none), wanted[0], strict=True):
                assert t.shape == (0, *want.shape), f"{self.sample}, empty batch"
                assert t.dtype == want.dtype

    def rounding(self, want: ember.Tensor) -> float:
        halves = want.dtype in (ember.float16, ember.bfloat16)
        other_order = self.case.entry.name in SUMS_OF_HALVES
        return ember.finfo(want.dtype).eps if halves and other_order else 3e-6

    def compare(self, got, wanted, what: str) -> None:
        double = self.case.entry.names[0] == "float64"
        for i, column in enumerate(zip(*wanted, strict=True)):
            want = ember.stack(column)
            assert got[i].dtype == want.dtype, f"{what}: output {i}"
            np.testing.assert_allclose(
                bridge.array(got[i]),
                bridge.array(want),
                rtol=1e-12 if double else self.rounding(want),
                atol=1e-5,
                err_msg=f"{what}, output {i}",
            )


@pytest.mark.parametrize("name", RANDOM)
def test_random_ops_draw_once_for_the_batch(name: str, looped: list[str]) -> None:
    case = Case(ENTRIES[name], OPS[name])
    for sample in case.entry.samples:
        for mapped in Mapped.all_of(case, sample):
            columns = mapped.columns(mapped.rows)
            try:
                want = mapped.run(*(column[0] for column in columns))
            except (RuntimeError, ValueError, IndexError, TypeError):
                continue
            given = [ember.stack(column) for column in mapped.columns(mapped.rows)]
            try:
                got = ember.vmap(mapped.run, randomness="different")(*given)
            except RuntimeError as error:
                assert "same for all samples" in str(error)
                continue
            assert [t.shape[1:] for t in got] == [t.shape for t in want]
            assert name in LOOPS or not looped, f"{sample}: {looped} looped"


@pytest.mark.parametrize("name", sorted(REFUSED & set(ENTRIES)))
def test_what_depends_on_data_is_refused(name: str) -> None:
    case = Case(ENTRIES[name], OPS[name])
    mapped = Mapped.all_of(case, case.entry.samples[0])[0]
    given = [ember.stack(column) for column in mapped.columns(mapped.rows)]
    with pytest.raises(RuntimeError, match="vmap"):
        ember.vmap(mapped.run)(*given)


def test_docs_say_what_runs_sample_by_sample() -> None:
    text = (Path(__file__).parents[2] / "docs/func.md").read_text(encoding="utf-8")
    told: dict[str, str] = {}
    for row in re.findall(r"^\| (`.*`) \| (.*) \|$", text, re.M):
        told.update(dict.fromkeys(re.findall(r"`(\w+)`", row[0]), row[1]))
    assert told == {**LOOPS, **LOOPS_BY_OTHERS}
    refused = re.search(r"depends on the elements: (.*?)\.\n", text, re.S)
    assert refused is not None
    assert set(re.findall(r"`(\w+)`", refused[1])) == REFUSED


def test_every_op_says_what_it_does() -> None:
    first = _schemas_kinds()
    for overloads in OPS.values():
        for schema in overloads:
            found = first & schema.traits
            assert len(found) == 1, (
                f"{schema.text}: {sorted(found)} where one of {sorted(first)} is "
                "wanted. Add what it does to the forms on its EMBER_OP line: Note "
                "[Traits] in core/ops/schema.h tells which is which"
            )


def _schemas_kinds() -> set[str]:
    return set(
        "pointwise along leading entries whole factory query data_dependent".split()
    )
