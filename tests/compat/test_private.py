"""Private functions that libraries call: they compute what they say."""

import os
import warnings

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


def test_options_of_kernels_are_patched_for_a_block():
    from ember._inductor import config

    with config.patch(max_autotune=True), config.patch({"freezing": True}):
        assert config.max_autotune is True and config.freezing is True
    assert config.max_autotune is False and config.freezing is False
    with pytest.raises(AttributeError, match="no_such_option"):
        config.patch(no_such_option=1)


def test_warnings_of_the_compiler_are_said_once():
    from ember._dynamo.utils import warn_once

    with pytest.warns(UserWarning, match="only this time"):
        warn_once("only this time")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_once("only this time")


def test_marks_raise_when_they_are_reached_not_where_they_decorate():
    @ember.cuda.nvtx.range("step {}", 1)
    def step():
        raise AssertionError("not reached")

    with pytest.raises(NotImplementedError, match="NVTX"):
        step()


def test_modules_are_not_shadowed_by_names_of_their_package():
    import ember.cuda.amp.common
    import ember.quantization.observer

    assert ember.jit.annotations.List.__origin__ is list
    assert ember._ops.OpOverload is not None
    assert ember.cuda.amp.common.amp_definitely_not_available()
    assert ember.quantization.observer.MinMaxObserver


def test_fake_modes_are_known_while_they_are_on():
    from ember._guards import detect_fake_mode
    from ember._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily

    with FakeTensorMode() as mode:
        assert detect_fake_mode() is mode and ember.ones(2).is_meta
        with unset_fake_temporarily():
            assert not ember.ones(2).is_meta
    assert detect_fake_mode() is None


def test_out_dtype_computes_in_the_dtype_of_the_result():
    from ember._higher_order_ops.out_dtype import out_dtype

    a = ember.full((1, 2), 100, dtype=ember.int8)
    product = out_dtype(ember.ops.aten.mm.default, ember.int32, a, a.T)
    assert product.dtype == ember.int32 and product.item() == 20000


def test_suggested_order_of_elements():
    from ember._prims_common import suggest_memory_format

    x = ember.zeros(2, 3, 4, 5)
    last = x.to(memory_format=ember.channels_last)
    assert suggest_memory_format(x) == ember.contiguous_format
    assert suggest_memory_format(last) == ember.channels_last
    assert suggest_memory_format(last[0]) == ember.contiguous_format


def test_parts_of_jacobians():
    from ember.autograd import functional

    basis = functional._construct_standard_basis_for
    a, b, c = basis([ember.ones(1), ember.ones(2), ember.ones(1).double()], [1, 2, 1])
    assert ember.equal(ember.cat([a, b, c.float()], 1), ember.eye(4))
    assert c.dtype == ember.float64
    with pytest.raises(ValueError, match="1 tensors and 2 sizes"):
        basis([ember.ones(1)], [1, 2])
    x = ember.ones(1, requires_grad=True) * 2
    (kept,), ((cut,),) = (
        functional._grad_postprocess((x,), True),
        functional._grad_postprocess(((x,),), False),
    )
    assert kept is x and cut.grad_fn is None
    unpack = functional._tuple_postprocess
    assert unpack((1,), False) == 1 and unpack((1,), True) == (1,)
    assert unpack(((1, 2), (3, 4)), (True, False)) == (1, 3)
    assert unpack(((1, 2),), (False, True)) == (1, 2)


def test_what_an_attention_is_asked_with():
    q = ember.ones(1, 2, 3, 4)
    params = ember.backends.cuda.SDPAParams(q, q, q, None, 0.5, True, False)
    assert params.query is q and params.dropout == 0.5 and params.is_causal
    assert not ember.backends.cuda.can_use_flash_attention(params, False)
    with pytest.raises(TypeError, match="key must be Tensor, not int"):
        ember._C._SDPAParams(q, 1, q, None, 0.5, True, False)


def test_marks_for_compilers_leave_functions_as_they_are():
    assert ember._disable_dynamo(abs) is abs
    assert ember._disable_dynamo(recursive=False)(abs) is abs
    assert not ember.jit._state._enabled
    ember.jit._state._script_classes.clear()
    assert not isinstance(3, ember._C._distributed_rpc.PyRRef)


def test_all_divergences_are_in_the_table():
    from ember.distributions import Gamma, Normal, Uniform
    from ember.distributions.kl import _KL_REGISTRY

    assert (Normal, Normal) in _KL_REGISTRY and (Uniform, Gamma) in _KL_REGISTRY


def test_shapes_of_attentions_are_checked():
    check = ember.nn.functional._mha_shape_check
    one, many, mask = ember.ones(3, 4), ember.ones(2, 3, 4), ember.ones(2, 3)
    assert check(many, many, many, mask, None, 2) is True
    assert check(one, one, one, ember.ones(3), ember.ones(2, 3, 3), 2) is False
    for bad, message in (
        ((one[0], one, one, None, None, 2), "1-D query"),
        ((many, one, many, None, None, 2), "`key` and `value` to be 3-D"),
        ((one, one, one, mask, None, 2), "`None` or 1-D"),
        ((one, one, one, None, one[0], 2), "2-D or 3-D"),
        ((one, one, one, None, many, 2), r"shape to be \(2, 3, 3\)"),
    ):
        with pytest.raises(AssertionError, match=message):
            check(*bad)
    ember.nn.functional._check_key_padding_mask(mask, 3, 2)
    with pytest.raises(AssertionError, match=r"shape\[1\] to be 4"):
        ember.nn.functional._check_key_padding_mask(mask, 4, 2)


def test_the_folder_of_an_extension(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    folder = ember.utils.cpp_extension._get_build_directory("a/b", verbose=True)
    assert os.path.isdir(folder) and folder.startswith(str(tmp_path))
    assert folder in capsys.readouterr().out
    with pytest.raises(AttributeError, match="no attribute '_nothing'"):
        ember.utils.cpp_extension._nothing
