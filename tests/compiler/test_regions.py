"""Regions: what runs in one, put off and in groups, computes what it computes outside,
bit for bit, whatever the program does in between.
"""

import gc
import sys
import threading

import numpy as np
import pytest

import ember
from ember import _C
from ember.compiler._regions import region

from .regions import SIZE, bits, check, needs_compiler, stats, vector


@pytest.fixture(autouse=True)
def nothing_known():
    _C._lazy_reset()


# --- that it happens at all -----------------------------------------------------------


@needs_compiler
def test_a_chain_is_one_kernel():
    x = vector()()
    for _ in range(2):
        with region(key=1, wait=True):
            y = ((x * 2 + 1).exp() - x).abs()
    found = stats(1)
    assert found["primitives"] == 10
    assert found["kernels"] == 1
    assert found["groups"] == [(5, 1, 1, SIZE, "ready")]
    assert bits(y) == bits(((x * 2 + 1).exp() - x).abs())


def test_values_that_nobody_has_are_not_computed():
    x = vector()()
    with region(key=2, wait=True):
        x.exp().log()
        y = x + 1
    assert stats(2)["groups"] == [(1, 1, 1, SIZE, "new")]
    assert bits(y) == bits(x + 1)


def test_memory_of_values_in_between_is_never_asked_for():
    x = ember.ones(1 << 20)
    with region(wait=True):
        y = x
        for _ in range(4):
            y = y * 1.5
            gc.collect()
        before = _C._memory_stats()["allocated"]
    after = _C._memory_stats()["allocated"]
    assert before - after <= 0  # only now there is one, or none of the others is left
    assert float(y[0]) == 1.5**4


def test_small_results_are_computed_at_once():
    x = ember.ones(10)
    with region(key=3):
        x + 1
    assert stats(3)["primitives"] == 0


@needs_compiler
def test_numbers_are_no_part_of_the_code():
    x = vector()()
    for step in range(4):
        with region(key=4, wait=True):
            y = x * (0.1 * step + 0.05) + step
        assert bits(y) == bits(x * (0.1 * step + 0.05) + step)
    assert stats(4)["kernels"] == 3


@needs_compiler
def test_equal_programs_of_other_sizes_share_their_code():
    asked = []
    hook = ember.compiler._regions._compile

    def count(*program):
        asked.append(program)
        return hook(*program)

    _C._lazy_compile_hook(count)
    try:
        for n in (SIZE, 2 * SIZE, 3 * SIZE, SIZE):
            x = ember.rand(n)
            with region(wait=True):
                y = (x + 1) * x
            assert bits(y) == bits((x + 1) * x)
    finally:
        _C._lazy_compile_hook(hook)
    assert len(asked) == 1


def test_without_a_compiler_groups_run_op_by_op():
    hook = ember.compiler._regions._compile
    _C._lazy_compile_hook(None)
    try:
        check(lambda x: (x * 2).exp() + x, vector())
    finally:
        _C._lazy_compile_hook(hook)


def test_a_compiler_that_fails_leaves_the_program_as_it_was(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda u: told.append(u.exc_value))
    error = ValueError("no such thing")

    def fail(*program):
        raise error

    hook = ember.compiler._regions._compile
    _C._lazy_compile_hook(fail)
    try:
        check(lambda x: (x * 2).exp() + x, vector())
    finally:
        _C._lazy_compile_hook(hook)
    assert told == [error]


# --- the nine cases -------------------------------------------------------------------


def test_branch():
    def f(x):
        y = x * 2
        return y + 1 if y.sum() > 0 else y - 1

    check(f, vector(1))
    check(f, vector(2))


def test_counter():
    calls = []

    def f(x):
        calls.append(len(calls))
        return x * 2 + 1

    check(f, vector())
    assert calls == [0, 1, 2, 3]


def test_append():
    def f(x):
        kept = []
        for i in range(5):
            kept.append(x * i)
        return kept

    check(f, vector())


def test_item():
    def f(x):
        y = x * 3
        return y * y[7].item(), y.max().item()

    check(f, vector())


def test_random_numbers():
    def f(x):
        noise = ember.randn(SIZE)
        y = x + noise * 2
        return y * ember.rand(SIZE), ember.get_rng_state()

    check(f, vector())


def test_print(capsys):
    def f(x):
        y = x + 1
        print(y[:3], y.mean())
        return y * 2

    check(f, vector())
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 4 and len(set(told)) == 1


def test_in_place():
    def f(x, y):
        z = x + y
        z.mul_(2).add_(y)
        y.sub_(z)
        z += 1
        return x, y, z

    check(f, vector(1), vector(2))


def test_boolean_index():
    def f(x):
        y = x * 2
        big = y[y > 1]
        y[y < -1] = 0
        return big, y, y.nonzero()

    check(f, vector())


def test_numpy_inside():
    def f(x):
        y = x * 2
        a = y.numpy()
        z = y + 1
        a[:] = 3
        w = y + 1
        return a.tolist(), y, z, w

    check(f, vector())


def test_arrays_that_change_under_a_tensor():
    def f(x):
        a = np.array(x.numpy())
        t = ember.from_numpy(a)
        y = t * 2
        a[:] = 7
        return y, t * 2

    check(f, vector())


def test_addresses_that_were_asked_for():
    import ctypes

    def f(x):
        y = x + 1
        at = ctypes.cast(y.data_ptr(), ctypes.POINTER(ctypes.c_float))
        first = at[0]
        y.mul_(2)
        second = at[0]
        return first, second

    check(f, vector())


# --- memory ---------------------------------------------------------------------------


def test_views_and_what_they_share():
    def f(x):
        m = x.view(50, 100)
        y = m * 2
        top, bottom = y[:25], y[25:]
        top.add_(bottom)
        bottom.mul_(top)
        z = y.t() + 1
        y.t()[3] = 7.0
        return x, y, z, y[:, ::2] - 1, y.flip(0) + y

    check(f, vector())


def test_reads_come_before_later_writes():
    def f(x):
        y = x + 1
        a = y.view(50, 100).t() * 2  # reads y otherwise than it is written
        y.zero_()
        b = y + a.reshape(-1)
        y.fill_(3)
        return a, b, y

    check(f, vector())


def test_overlapping_shifts():
    def f(x):
        y = x * 1
        for _ in range(4):
            y[1:] = y[:-1] * 0.5 + y[1:]
        return y

    check(f, vector())


def test_slices_of_a_new_tensor():
    def f(x, y):
        out = ember.empty(3, SIZE)
        out[0] = x + y
        out[1] = x - y
        out[2] = out[0] * out[1]
        return out, ember.cat([x * 2, y * 3]), ember.stack([x + 1, y + 1])

    check(f, vector(1), vector(2))


def test_data_and_detach():
    def f(x):
        y = x * 2
        y.data.add_(1)
        z = y * 3
        y.detach().mul_(2)
        return y, z, y._version

    check(f, vector())


def test_memory_that_is_not_there_is_told_at_its_line():
    with region(), pytest.raises(RuntimeError, match="allocate memory"):
        ember.empty(1 << 50)


def test_resize_and_set():
    def f(x):
        y = x + 1
        z = y * 2
        y.resize_(10)
        w = ember.empty(0)
        w.set_(z)
        z.mul_(2)
        return y, z, w

    check(f, vector())


def test_storages_and_buffers():
    def f(x):
        y = x + 1
        a = bytes(memoryview(y.untyped_storage()))[:40]
        y += 1
        return a, y, y.untyped_storage().tolist()[:40], (x * 3).tolist()[:5]

    check(f, vector())


def test_versions():
    def f(x):
        y = x * 1
        versions = [y._version]
        y.add_(1)
        versions.append(y._version)
        y[3:] = 0
        versions.append(y._version)
        return versions

    check(f, vector())


def test_inputs_that_die_inside():
    def f(x):
        for i in range(6):
            x = ember.sin(x) + ember.rand(SIZE) * i
        return x

    check(f, vector())


def test_long_traces_are_cut():
    def f(x):
        for i in range(5000):
            x = x * 0.999 + (i % 7)
        return x

    check(f, vector())


# --- dtypes and numbers ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "uint8"])
def test_dtypes(dtype):
    d = getattr(ember, dtype)

    def f(x, y):
        a = (x * 20).to(d)
        b = a + 3
        return b * a, b > a, b.float() + y, a.bool() & (b == 3), b.clamp(2, 30)

    check(f, vector(1), vector(2))


def test_division_by_zero_is_told_at_its_line():
    x = ember.arange(SIZE)
    with region(), pytest.raises(RuntimeError, match="ZeroDivisionError"):
        y = x + 1
        y // (x * 0)


def test_complex_numbers_pass_by():
    def f(x):
        z = ember.complex(x * 2, x + 1)
        return ember.view_as_real(z * z).sum(1) + x, z.abs() + 1

    check(f, vector())


def test_other_rows_with_parameters():
    f = ember.nn.functional

    def g(x):
        y = x * 2
        a = f.elu(y, 0.7) + f.leaky_relu(y, 0.1) + f.hardtanh(y, -0.5, 0.5)
        b = f.softplus(y, 2.0, 3.0) * ember.nan_to_num(y / 0, 1.0, 2.0, 3.0)
        return a, b, y**3, (y + 9) ** 1.7, ember.addcmul(y, a, b, value=0.3)

    check(g, vector())


# --- regions themselves ---------------------------------------------------------------


def test_an_error_closes_the_region():
    x = vector()()
    with pytest.raises(ZeroDivisionError), region():
        y = x + 1
        raise ZeroDivisionError
    assert not _C._lazy_is_open()
    assert bits(y) == bits(x + 1)


def test_nested_regions():
    x = vector()()
    with region():
        y = x + 1
        with region():
            z = y * 2
        w = z - x
        assert _C._lazy_is_open()
    assert bits(w) == bits((x + 1) * 2 - x)


def test_to_close_what_is_not_open():
    with pytest.raises(RuntimeError, match="no region is open"):
        _C._lazy_close()


def test_breaks_are_told_with_their_lines():
    x = vector()()
    with region(key=5):
        y = x + 1
        y[0].item()
    ((file, line, times),) = stats(5)["breaks"]
    assert file == __file__ and times == 1
    assert line == test_breaks_are_told_with_their_lines.__code__.co_firstlineno + 4


def test_a_full_graph_does_not_break():
    x = vector()()
    told = pytest.raises(RuntimeError, match=r"fullgraph=True.*test_regions\.py:")
    with told, region(fullgraph=True):
        (x + 1)[0].item()
    with region(fullgraph=True):
        y = (x + 1).sum()
    assert bits(y) == bits((x + 1).sum())


def test_other_threads_find_values():
    x = vector()()
    found = []
    with region():
        y = x + 1
        thread = threading.Thread(target=lambda: found.append(bits(y * 2)))
        thread.start()
        thread.join()
        y += 1
    assert found == [bits((x + 1) * 2)]


def test_regions_on_several_threads():
    x = vector(n=200_000)()
    wanted = [x]
    for _ in range(10):
        wanted.append(wanted[-1] * 1.01 + x.sin())
    failed = []

    def work():
        for _ in range(10):
            with region():
                y = x
                for i in range(10):
                    y = y * 1.01 + x.sin()
                    if i == 5 and bits(y) != bits(wanted[6]):
                        failed.append(i)
            if bits(y) != bits(wanted[10]):
                failed.append("end")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


def test_nothing_is_left_behind():
    x = ember.rand(100_000)

    def once():
        with region(wait=True):
            y = (x * 2).exp() + 1
            (y * y).sum()

    for _ in range(3):
        once()
    gc.collect()
    before = _C._memory_stats()["allocated"]
    for _ in range(5):
        once()
    gc.collect()
    assert _C._memory_stats()["allocated"] <= before


def test_kernels_that_ask_for_memory_on_their_own_threads():
    pool = ember.nn.functional.avg_pool2d
    x = ember.rand(64, 16, 16, 16)
    wanted = bits(pool(x * 2 + 1, 3, 2, 1))
    for _ in range(20):
        with region():
            found = pool(x * 2 + 1, 3, 2, 1)
        assert bits(found) == wanted
    v = x.clone().requires_grad_()
    for _ in range(20):
        with region(wait=True):
            y = ((v * 2).sin() * (v + 1).exp()).sum()
        # What stays pending for the pass reads v.
        assert bits(pool(v.detach() + 0, 3, 2, 1)) == bits(pool(x, 3, 2, 1))
        assert bits(pool(v.detach(), 3, 2, 1)) == bits(pool(x, 3, 2, 1))
        y.backward()
