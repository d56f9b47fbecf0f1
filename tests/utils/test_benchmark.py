"""ember.utils.benchmark: times, tables, drawn inputs, counted instructions."""

import os
import shutil

import numpy as np
import pytest

import ember
from ember.utils.benchmark import (
    CallgrindStats,
    Compare,
    CopyIfCallgrind,
    FunctionCount,
    FunctionCounts,
    FuzzedParameter,
    FuzzedSparseTensor,
    FuzzedTensor,
    Fuzzer,
    Measurement,
    ParameterAlias,
    TaskSpec,
    Timer,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
)

# --- times and tables ---


def test_timer():
    m = Timer("x + 1", "x = ember.ones(3)").blocked_autorange(min_run_time=0.02)
    assert sum(m.raw_times) >= 0.02
    assert 0 < m.median < 1e-3
    assert "Median" in repr(m)
    assert Timer("pass").timeit(10).number_per_run == 10
    with pytest.raises(ValueError, match="Python"):
        Timer("x", language="c++")
    with pytest.raises(ValueError, match="Measurement"):
        Compare([1])


def test_threads_are_set_for_a_while():
    before = ember.get_num_threads()
    with pytest.raises(KeyError), set_torch_threads(1):
        assert ember.get_num_threads() == 1
        raise KeyError
    assert ember.get_num_threads() == before


def measured(times, **spec):
    return Measurement(10, times, TaskSpec("f()", **spec))


def test_comparison_table():
    spec = Timer("f()", label="calls", sub_label="f", description="new")._task_spec
    table = str(Compare([Measurement(10, [1e-5, 1.2e-5, 1.1e-5], spec)]))
    assert "calls" in table
    assert "1.1" in table
    assert select_unit(2e-5) == ("us", 1e-6)
    assert trim_sigfig(0.012345, 2) == pytest.approx(0.012)


def test_a_table_has_a_row_per_task_and_a_column_per_description():
    table = Compare(
        measured([1e-5 * time], label="calls", sub_label=row, description=column)
        for row, column, time in [("f", "old", 2), ("f", "new", 1), ("g", "old", 3)]
    )
    lines = str(table).splitlines()
    assert lines[0].startswith("[-") and " calls " in lines[0]
    assert [cell.strip() for cell in lines[1].split("|")] == ["", "old", "new"]
    assert lines[2].startswith("1 threads: ---")
    assert [cell.strip() for cell in lines[3].split("|")] == ["f", "2", "1"]
    assert [cell.strip() for cell in lines[4].split("|")] == ["g", "3", ""]
    assert "Times are in microseconds (us)." in lines


def test_colours_and_warnings_of_a_table():
    runs = [
        measured([1e-5, 1e-5, 2e-5, 2e-5], description="a"),
        measured([9e-5] * 4, description="b"),
    ]
    table = Compare(runs)
    assert "\033" not in str(table) and "!" not in str(table)
    table.highlight_warnings()
    assert "(! 67%)" in str(table)
    table.colorize()
    assert str(table).count("\033[92m\033[1m") == 2  # each the best of its column
    table.colorize(rowwise=True)
    assert str(table).count("\033[92m\033[1m") == 1
    assert str(table).count("\033[91m\033[1m") == 1


def test_what_a_task_says_of_itself():
    task = TaskSpec("f()", "import f", label="calls", description="new")
    assert task.summarize() == "calls\nnew\nsetup: import f"
    assert TaskSpec("f()", "a\nb").setup_str() == "setup:\n  a\n  b"
    assert TaskSpec("f()", "pass").setup_str() == ""
    assert ordered_unique([3, 1, 3, 2, 1]) == [3, 1, 2]


# --- drawn inputs ---


def draws(parameter, count=200):
    state = np.random.RandomState(0)
    return [parameter.sample(state) for _ in range(count)]


def test_parameters_follow_their_distribution():
    assert set(draws(FuzzedParameter("n", 1, 4, "uniform"))) == {1, 2, 3, 4}
    real = draws(FuzzedParameter("n", 0.0, 1, "uniform"))
    assert all(isinstance(x, float) and 0 <= x <= 1 for x in real)
    sizes = draws(FuzzedParameter("n", 1, 1024, "loguniform"))
    assert all(isinstance(n, int) and 1 <= n <= 1024 for n in sizes)
    assert 60 < sum(n < 32 for n in sizes) < 140  # as many below the middle power
    words = draws(FuzzedParameter("n", distribution={"a": 0.9, "b": 0.1}))
    assert words.count("a") > words.count("b") > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distribution": "normal"}, "normal"),
        ({"distribution": "uniform", "minval": 1}, "minval and maxval"),
        ({"distribution": {1: 0.5}}, "add up to 0.5"),
        ({"distribution": {1: 1.5, 2: -0.5}}, "negative"),
        ({"distribution": {1: 1.0}, "minval": 1}, "no minval"),
    ],
)
def test_wrong_parameters_are_refused(arguments, message):
    with pytest.raises(AssertionError, match=message):
        FuzzedParameter("n", **arguments)


def test_tensors_have_the_drawn_shape():
    fuzzer = Fuzzer(
        [
            FuzzedParameter("dim", distribution={1: 0.3, 2: 0.3, 3: 0.4}, strict=True),
            [FuzzedParameter(f"n{i}", 1, 6, "uniform") for i in range(3)],
            FuzzedParameter("step", distribution={1: 0.5, 2: 0.5}),
        ],
        [
            FuzzedTensor(
                "x",
                ("n0", "n1", "n2"),
                steps=("step", 1, "step"),
                dim_parameter="dim",
                min_elements=4,
                max_elements=60,
                dtype=ember.int64,
            ),
        ],
        constraints=[lambda params: params["n0"] != 5],
        seed=3,
    )
    assert fuzzer.rejection_rate == 0
    contiguous = set()
    for tensors, properties, params in fuzzer.take(40):
        x = tensors["x"]
        assert x.shape == tuple(params[f"n{i}"] for i in range(params["dim"]))
        assert x.dtype == ember.int64 and x.min() >= 1 and x.max() < 127
        assert 4 <= x.numel() <= 60 and params["n0"] != 5
        assert properties["x"]["numel"] == x.numel()
        contiguous.add(properties["x"]["is_contiguous"])
    assert contiguous == {True, False}
    assert 0 < fuzzer.rejection_rate < 1


def test_the_same_seed_draws_the_same():
    def once(seed):
        sizes = FuzzedParameter("n", 2, 50, "loguniform")
        fuzzer = Fuzzer([sizes], [FuzzedTensor("x", ("n", 3))], seed=seed)
        return [tensors["x"].tolist() for tensors, _, _ in fuzzer.take(3)]

    assert once(1) == once(1)
    assert once(1) != once(2)


def test_aliases():
    names = {"a": ParameterAlias("b"), "b": ParameterAlias("c"), "c": 7}
    parameters = [FuzzedParameter(n, distribution={v: 1.0}) for n, v in names.items()]
    _, _, params = next(Fuzzer(parameters, [], seed=0).take(1))
    assert params == {"a": 7, "b": 7, "c": 7}
    circle = FuzzedParameter("c", distribution={ParameterAlias("a"): 1.0})
    with pytest.raises(ValueError, match="circle"):
        next(Fuzzer([*parameters[:2], circle], [], seed=0).take(1))


def test_what_cannot_be_drawn_is_refused():
    one = FuzzedParameter("n", 1, 1, "uniform")
    large = FuzzedTensor("x", ("n", 4), max_allocation_bytes=15)
    with pytest.raises(ValueError, match="1000 draws"):
        next(Fuzzer([one], [large]).take(1))
    with pytest.raises(ValueError, match="n: both"):
        Fuzzer([one], [FuzzedTensor("n", (1,))])


@pytest.mark.parametrize("coalesced", [True, False])
def test_sparse_tensors(coalesced):
    fuzzer = Fuzzer(
        [
            FuzzedParameter("density", 0.2, 0.4, "uniform"),
            FuzzedParameter("coalesced", distribution={coalesced: 1.0}),
            FuzzedParameter("sparse_dim", distribution={1: 0.5, 2: 0.5}),
        ],
        [FuzzedSparseTensor("x", (30, 20), sparse_dim="sparse_dim")],
        seed=0,
    )
    for tensors, properties, params in fuzzer.take(4):
        x = tensors["x"]
        assert x.is_sparse and x.shape == (30, 20)
        assert x.is_coalesced() == properties["x"]["is_coalesced"] == coalesced
        assert x.sparse_dim() == params["sparse_dim"]
        assert properties["x"]["is_hybrid"] == (params["sparse_dim"] == 1)
        assert 0 < x.coalesce()._nnz() <= 50 * params["density"] + 1


# --- counted instructions ---


def counts(inclusive=False, **functions):
    rows = [FunctionCount(n, name) for name, n in functions.items()]
    return FunctionCounts(tuple(sorted(rows, reverse=True)), inclusive)


def test_counts_are_added_subtracted_and_scaled():
    a, b = counts(f=9, g=2), counts(f=5, g=2, h=1)
    assert list(a + b) == [(14, "f"), (4, "g"), (1, "h")]
    assert list(a - b) == [(4, "f"), (-1, "h")]
    assert list(a * 0.5) == [(4, "f"), (1, "g")]
    assert a.sum() == 11
    with pytest.raises(AssertionError, match="inclusive"):
        a + counts(inclusive=True, f=1)


def test_counts_are_renamed_filtered_and_sliced():
    a = counts(f1=9, g=7, f2=2)
    assert list(a.transform(lambda name: name[0])) == [(11, "f"), (7, "g")]
    assert list(a.filter(lambda name: "f" in name)) == [(9, "f1"), (2, "f2")]
    assert a[1] == FunctionCount(7, "g")
    assert list(a[1:]) == [(7, "g"), (2, "f2")]
    noisy = counts(**{"Objects/dictobject.c:lookdict_unicode": 4, "f": 1})
    assert list(noisy.denoise()) == [(1, "f")]


def test_counts_are_printed_as_a_table():
    many = counts(**{f"function{i}": i + 1 for i in range(30)})
    lines = repr(many).splitlines()
    assert lines[-1] == "Total: 465"
    assert len(lines) == 1 + 9 + 1 + 9 + 2
    assert len(repr(many[:25]).splitlines()) == 1 + 25 + 2
    name = "x" * 200
    row = repr(FunctionCounts((FunctionCount(1, name),), True, _linewidth=60))
    assert len(row.splitlines()[1]) == 60


def test_names_of_two_builds_become_the_same():
    here = counts(**{"/a/build/../core/ops/sum.cpp:sum [/a/ember/_C.so]": 4})
    there = counts(**{"/b/c/core/ops/sum.cpp:sum [/b/c/ember/_C.so]": 1})
    none = counts()
    a, b = (
        CallgrindStats(TaskSpec("f()"), 1, True, none, none, c, c, "file")
        for c in (here, there)
    )
    assert len(a.delta(b)) == 2
    plain = a.as_standardized()
    assert list(plain.delta(b.as_standardized())) == [(3, "core/ops/sum.cpp:sum")]
    assert plain.stmt_callgrind_out is None
    assert "Instructions:" in repr(a)


def test_only_simple_values_are_copied():
    assert CopyIfCallgrind.unwrap_all({"a": CopyIfCallgrind("b"), "c": 1}) == {
        "a": "b",
        "c": 1,
    }
    with pytest.raises(ValueError, match=r"nn\.Module, got Tensor"):
        CopyIfCallgrind(ember.ones(1))


def test_callgrind_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(OSError, match="valgrind is not installed"):
        Timer("1 + 1").collect_callgrind()


needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None or "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="valgrind is not installed, or a sanitizer is at work, which it cannot run",
)


@needs_valgrind
def test_callgrind_refuses_globals_that_are_not_wrapped():
    with pytest.raises(ValueError, match=r"CopyIfCallgrind\(n\)"):
        Timer("n + 1", globals={"n": 1}).collect_callgrind()
    with pytest.raises(ValueError, match="repeats"):
        Timer("1").collect_callgrind(repeats=0)
    with pytest.raises(NameError):
        Timer("no_such_name").collect_callgrind()


@needs_valgrind
@pytest.mark.slow
def test_callgrind_counts_instructions():
    timer = Timer(
        "for _ in range(n): model(x)",
        "x = ember.ones(1, 4)",
        globals={"n": CopyIfCallgrind(3), "model": CopyIfCallgrind(ember.nn.ReLU())},
    )
    try:
        few, again = timer.collect_callgrind(5, repeats=2, retain_out_file=True)
    except OSError as error:
        if "headers" in str(error):
            pytest.skip("built without valgrind's headers")
        raise
    assert few.stmt_callgrind_out.startswith("# callgrind format")
    assert few.counts() > 20 * few.baseline_exclusive_stats.sum() > 0
    assert few.counts() == pytest.approx(again.counts(), rel=0.05)
    names = [row.function for row in few.stats(inclusive=True)]
    assert any("_C" in name for name in names)
    assert few.stats(inclusive=True).sum() > few.counts() == few.stats().sum()
