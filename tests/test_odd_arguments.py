"""Arguments that PyTorch takes, or refuses, in its own way."""

import pytest

import ember
from ember.nn import functional as F


def test_a_tensor_with_another_geometry_gets_memory():
    x = ember.ones(1)
    x.set_(x.untyped_storage(), 0, (2, 3))
    assert x.shape == (2, 3) and x.untyped_storage().nbytes() == 24
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.set_(x.untyped_storage(), 5, (2, 3))
    shared = ember.zeros(3)
    view = ember.ones(1).set_(shared.untyped_storage(), 0, (2, 2), (3, 3))
    assert view.shape == (2, 2) and shared.untyped_storage().nbytes() == 28
    with pytest.raises(RuntimeError, match="overflowed"):
        ember.ones(1).set_(shared.untyped_storage(), 2**62, (9,))


def test_memory_of_others_does_not_grow():
    numpy = pytest.importorskip("numpy")
    storage = ember.from_numpy(numpy.zeros(3, "f")).untyped_storage()
    with pytest.raises(RuntimeError, match="not resizable"):
        ember.ones(1).set_(storage, 0, (9,))


class Speaks:
    """What another library's array is."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_tensor_takes_what_speaks_dlpack():
    x = ember.rand(2, 3).t()
    made = ember.tensor(Speaks(x))
    assert ember.equal(made, x) and made.data_ptr() != x.data_ptr()
    assert made.is_contiguous()
    assert ember.tensor(Speaks(x), dtype=ember.float64).dtype == ember.float64


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: ember.empty([0, 4, 2**61]), RuntimeError, "Stride calculation"),
        (lambda: ember.ones(1).resize_([0, 4, 2**61]), RuntimeError, "Stride calc"),
        (lambda: ember.view_as_complex(ember.tensor(1.0)), RuntimeError, "one or more"),
        (lambda: ember.broadcast_shapes((1, -1)), ValueError, "negative length"),
        (
            lambda: F.linear(ember.ones(4, 5), ember.ones(1, 1)),
            RuntimeError,
            "shapes cannot be multiplied",
        ),
        (lambda: F.interpolate(ember.ones(1, 1, 2), 2.0), TypeError, "one of int"),
        (
            lambda: F.interpolate(ember.ones(1, 1, 2), (ember.tensor(2.0),)),
            TypeError,
            "one of int",
        ),
    ],
)
def test_refusals(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_sizes_may_be_tensors_of_whole_numbers():
    assert F.interpolate(ember.ones(1, 1, 2), ember.tensor(4)).shape == (1, 1, 4)


def test_masks_of_other_keys_are_refused():
    layer = ember.nn.MultiheadAttention(4, 2)
    x = ember.rand(3, 2, 4)
    with pytest.raises(AssertionError, match="expecting key_padding_mask shape"):
        layer(x, x, x, key_padding_mask=ember.zeros(2, 9, dtype=ember.bool))


def test_the_old_order_of_embedding_bag():
    ids, rows = ember.tensor([0, 1]), ember.rand(2, 3)
    with pytest.warns(UserWarning, match="Argument order"):
        made = F.embedding_bag(rows, ids, ember.tensor([0]))
    assert ember.allclose(made, rows.mean(0, keepdim=True))


BEYOND = 1e60  # a number that float64 has and float32 has not


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.elu(x, BEYOND),
        lambda x: F.elu_(x, BEYOND),
        lambda x: F.celu(x, BEYOND),
        lambda x: F.celu(x, 1 / BEYOND),
        lambda x: F.leaky_relu(x, BEYOND),
        lambda x: F.leaky_relu_(x, -BEYOND),
        lambda x: F.softplus(x, BEYOND),
        lambda x: F.softplus(x, 1, BEYOND),
        lambda x: F.hardshrink(x, BEYOND),
        lambda x: F.threshold(x, BEYOND, 0),
        lambda x: F.hardtanh(x, -BEYOND, 0),
        lambda x: F.rrelu(x, 0, BEYOND),
        lambda x: x.logit(BEYOND),
        lambda x: x.lerp(x, BEYOND),
        lambda x: x.add(x, alpha=BEYOND),
        lambda x: x.addcmul(x, x, value=BEYOND),
        lambda x: x.index_add(0, ember.tensor([0]), x[:1], alpha=BEYOND),
    ],
)
def test_numbers_of_formulas_are_some_of_the_type(call):
    with pytest.raises(RuntimeError, match="without overflow"):
        call(ember.tensor([-1.0, 2.0]))
    assert call(ember.tensor([-1.0, 2.0], dtype=ember.float64)).shape == (2,)


def test_sides_of_padding_are_no_truth_values():
    with pytest.raises(TypeError, match="tuple of ints"):
        F.pad(ember.ones(2, 3), (True, 1))


def test_keys_and_values_of_attention_come_in_pairs():
    attention = ember.nn.MultiheadAttention(4, 2)
    q, two, one = ember.ones(1, 2, 4), ember.ones(3, 2, 4), ember.ones(1, 2, 4)
    with pytest.raises(AssertionError, match="does not match value"):
        attention(q, two, one)
