"""Operators by PyTorch's private names, made of others here."""

import warnings

import pytest

import ember
from ember import _C
from ember._compat import jacobians, private_ops, small_modules
from ember._compat.device_mode import set_device


def test_softmax_of_what_a_mask_leaves():
    x = ember.rand(2, 3, 4, 4)
    mask = ember.zeros(2, 4, dtype=ember.bool)
    mask[0, 1:] = True
    made = ember._masked_softmax(x, mask, 3, 1)
    assert ember.allclose(made[1], x[1].softmax(-1))
    assert (made[0][..., 0] == 1).all() and (made[0][..., 1:] == 0).all()
    square = ember.ones(4, 4, dtype=ember.bool)
    assert (ember._masked_softmax(x, square, None, 0) == 0).all()
    with pytest.raises(RuntimeError, match="match input"):
        ember._masked_softmax(x, square, None, 2)


def test_half_softmax_in_float_is_for_other_devices():
    x = ember.ones(2, 3, dtype=ember.half)
    assert ember._softmax(x.to("meta"), 1, True).dtype == ember.float32
    with pytest.raises(RuntimeError, match="half_to_float"):
        ember._softmax(x, 1, True)
    assert ember._log_softmax(x, 1, False).dtype == ember.half


def test_memory_at_an_address():
    data = ember.arange(6.0)
    over = ember._from_blob(data.data_ptr(), [2, 2], [1, 2])
    assert over.tolist() == [[0, 2], [1, 3]]
    data[0] = 9
    assert over[0, 0] == 9
    assert ember._from_blob(data.data_ptr(), [0]).shape == (0,)
    with pytest.raises(RuntimeError, match="host"):
        ember._from_blob(data.data_ptr(), [1], device="meta")


def test_sums_and_products():
    a, b, c = ember.randn(2, 3), ember.randn(3, 4), ember.randn(4)
    made = ember._addmm_activation(c, a, b, use_gelu=True)
    expected = ember.nn.functional.gelu(ember.addmm(c, a, b))
    assert ember.equal(made, expected)
    out = ember.ones(2, 5)
    x, k = ember.rand(3, 5), ember.rand(2, 3)
    assert ember.allclose(
        ember._compute_linear_combination(x, k, out=out), 1 + k @ x, atol=1e-6
    )
    assert ember.linalg._powsum(ember.tensor([-2.0, 3.0]), 3) == 35
    assert _C._add_relu(ember.tensor([-3.0, 1.0]), 1).tolist() == [0, 2]


def test_rows_that_a_mask_marks():
    x, mask = ember.rand(2, 3, 4), ember.ones(2, 3, dtype=ember.bool)
    mask[1, 1:] = False
    made = ember._nested_tensor_from_mask(x, mask).to_padded_tensor(0.0)
    assert ember.equal(made, x * mask.unsqueeze(-1))
    mask[0, 0] = False
    with pytest.raises(RuntimeError, match="left aligned"):
        ember._nested_tensor_from_mask(x, mask)


def test_padding_by_the_names_of_operators():
    x = ember.arange(4.0).view(1, 1, 4)
    assert ember.ops.aten.reflection_pad1d(x, (1, 0)).flatten()[0] == 1
    assert _C._nn.replication_pad1d(x, (1, 0)).flatten()[0] == 0
    with pytest.raises(RuntimeError, match="expected to be 6, but got: 5"):
        ember.ops.aten.reflection_pad3d(ember.rand(1, 1, 3, 3, 3), (1,) * 5)
    with pytest.raises(RuntimeError, match="2D or 3D"):
        ember.ops.aten.reflection_pad1d(ember.rand(3, 3, 3, 3), (1, 1))


def test_convolutions_that_check_their_kernels():
    x, w = ember.rand(1, 1, 3, 3, 3), ember.rand(2, 1, 2, 2, 2)
    made = _C._nn.slow_conv3d(x, w, 2)
    assert ember.equal(made, ember.nn.functional.conv3d(x, w))
    with pytest.raises(RuntimeError, match="stride equals to 3"):
        _C._nn.slow_conv3d(x, w, (2, 2, 2), stride=[])
    with pytest.raises(RuntimeError, match="2D padding expected"):
        _C._nn.thnn_conv2d(x[0], w[0], (2, 2), padding=[])


@pytest.mark.parametrize(
    "tensor, answer",
    [
        (ember.rand(3, 3), 0),
        (ember.rand(3, 4).t(), 0),
        (ember.rand(1, 3).expand(4, 3), 1),
        (ember.rand(10)[::2], 2),
    ],
)
def test_overlap(tensor, answer):
    assert private_ops.debug_has_internal_overlap(tensor) == answer


def test_bytes_of_storages_are_exchanged():
    a, b = ember.zeros(3), ember.ones(3)
    part = a[1:]
    a.untyped_storage()._swap_data_ptr_(b.untyped_storage())
    assert (a == 1).all() and (part == 1).all() and (b == 0).all()
    a.untyped_storage().resize_(0)
    a.untyped_storage()._swap_data_ptr_(b.untyped_storage())
    assert (a == 0).all() and b.untyped_storage().nbytes() == 0
    with pytest.raises(RuntimeError, match="same nbytes"):
        a.untyped_storage()._swap_data_ptr_(ember.ones(4).untyped_storage())


def test_jacobians_that_gradcheck_had():
    x = ember.rand(2, dtype=ember.float64, requires_grad=True)
    with pytest.warns(FutureWarning, match="private API"):
        (found,) = jacobians.get_numerical_jacobian(lambda v: v[0] ** 2, (x,))
    with pytest.warns(FutureWarning, match="private API"):
        (exact,), same, *_ = jacobians.get_analytical_jacobian((x,), x**2)
    assert ember.allclose(found, exact) and same


def test_generators_make_tensors_on_a_device():
    @set_device("meta")
    def two():
        yield ember.ones(1)
        yield ember.ones(1)

    assert [t.device.type for t in two()] == ["meta", "meta"]
    assert ember.ones(1).device.type == "cpu"


def test_calls_and_places_as_text():
    made = small_modules.render_call(ember.sum, [ember.ones(9)], {"dim": 0})
    assert made.endswith("sum(tensor([...], size=(9,)), dim=0)")
    try:
        raise ValueError
    except ValueError as error:
        place = small_modules.format_traceback_short(error.__traceback__)
    assert place.endswith("in test_calls_and_places_as_text")


def test_warnings_for_tests():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _C._warn()
        _C._warn_deprecation()
    assert [w.category for w in seen] == [UserWarning, DeprecationWarning]


def test_checks_take_text():
    with pytest.raises(RuntimeError, match="plain words"):
        ember._check(False, "plain words")
