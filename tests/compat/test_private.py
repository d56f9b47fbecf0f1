"""Private functions that libraries call: they compute what they say."""

import pytest

import ember
from ember._compat import small
from ember._higher_order_ops import associative_scan


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, -1])
def test_associative_scan_is_a_cumulative_op(n, reverse, dim):
    x = ember.arange(1.0, 3 * n + 1).reshape((n, 3) if dim == 0 else (3, n))
    x.requires_grad_()
    found = associative_scan(lambda a, b: a + b, x, dim, reverse=reverse)
    expected = x.flip(dim).cumsum(dim).flip(dim) if reverse else x.cumsum(dim)
    assert ember.equal(found, expected)
    found.sum().backward()


def test_associative_scan_of_pairs_composes_functions():
    a, b = ember.tensor([2.0, 3.0, 4.0]), ember.tensor([1.0, 1.0, 1.0])

    def compose(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    slopes, shifts = associative_scan(compose, (a, b), 0)
    assert slopes.tolist() == [2, 6, 24] and shifts.tolist() == [1, 4, 17]


def test_parse_to_reads_the_arguments_of_to():
    parse = ember._C._nn._parse_to
    assert parse("meta", ember.float64)[:2] == (ember.device("meta"), ember.float64)
    assert parse(ember.int8) == (None, ember.int8, False, None)
    assert parse(ember.ones(1), True) == (
        ember.device("cpu"),
        ember.float32,
        True,
        None,
    )
    assert parse(memory_format=ember.channels_last)[3] == ember.channels_last


def test_rows_as_starts_and_back():
    rows = ember.tensor([0, 0, 2])
    starts = ember._convert_indices_from_coo_to_csr(rows, 3)
    assert starts.tolist() == [0, 2, 2, 3]
    back = ember._convert_indices_from_csr_to_coo(starts, ember.tensor([1, 2, 0]))
    assert back.tolist() == [[0, 0, 2], [1, 2, 0]]


def test_checks_raise_what_they_are_asked_to():
    ember._check(True)
    with pytest.raises(RuntimeError, match="too long"):
        ember._check(False, lambda: "too long")
    with pytest.raises(IndexError):
        ember._check_index(False)
    with pytest.raises(TypeError, match="bool"):
        ember._check(1)
    with pytest.raises(RuntimeError):
        ember._check_tensor_all(ember.tensor([True, False]))
    with pytest.raises(AssertionError, match="why"):
        ember._assert(ember.tensor(0), "why")


def test_swapped_tensors_exchange_values_and_attributes():
    a, b = ember.nn.Parameter(ember.ones(2)), ember.nn.Parameter(ember.zeros(3), False)
    a.mark = 1
    ember.utils.swap_tensors(a, b)
    assert a.shape == (3,) and b.tolist() == [1, 1] and b.mark == 1
    assert b.requires_grad and not a.requires_grad


def test_sum_rightmost_and_fans():
    assert small.sum_rightmost(ember.ones(2, 3, 4), 2).tolist() == [12, 12]
    assert ember.nn.init._calculate_correct_fan(ember.ones(2, 3), "fan_out") == 2
    with pytest.raises(ValueError, match="fan_in"):
        ember.nn.init._calculate_correct_fan(ember.ones(2, 3), "both")


def test_fake_tensors_are_those_without_memory():
    from ember._subclasses import FakeTensor, FakeTensorMode

    with FakeTensorMode() as mode:
        made = ember.ones(2, 3)
    assert isinstance(made, FakeTensor) and not isinstance(ember.ones(1), FakeTensor)
    assert mode.from_tensor(ember.ones(4)).is_meta


def test_excluded_keys_switch_autocast_off():
    keys = ember._C.DispatchKeySet(ember._C.DispatchKey.AutocastCPU)
    assert keys.has(ember._C.DispatchKey.AutocastCPU)
    with ember.autocast("cpu"), ember._C._ExcludeDispatchKeyGuard(keys):
        assert not ember.is_autocast_enabled("cpu")


def test_file_check_finds_in_order():
    check = ember.testing.FileCheck
    check().check("a").check_not("z").check("c").run("a b c")
    with pytest.raises(RuntimeError, match="find"):
        check().check("c").check("a").run("a b c")
    with pytest.raises(RuntimeError, match="not to find"):
        check().check("a").check_not("b").check("c").run("a b c")


def test_dtypes_that_are_names_only_make_no_tensors():
    assert repr(ember.uint4) == "torch.uint4"
    with pytest.raises(TypeError):
        ember.ones(2, dtype=ember.uint4)
