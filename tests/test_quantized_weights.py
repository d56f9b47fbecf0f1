"""Weights of 8 and 4 bits: their products, and models that have them."""

import copy
import io

import pytest

import ember
from ember import nn
from ember.ao.quantization import (
    QuantizedTensor,
    int4_weight_only,
    int8_dynamic,
    int8_weight_only,
    quantize_,
    quantize_dynamic,
)

RECIPES = {
    "int8": (int8_weight_only, 0.01),
    "int4": (lambda: int4_weight_only(32), 0.15),
    "dynamic": (int8_dynamic, 0.02),
}


def weights(rows, columns, groups, bits, offsets):
    if bits == 8:
        q = ember.randint(-128, 128, (rows, columns), dtype=ember.int8)
    else:
        q = ember.randint(0, 256, (rows, columns // 2), dtype=ember.uint8)
    scales = ember.rand(rows, groups) + 0.5
    return q, scales, ember.randn(rows, groups) if offsets else None


@pytest.mark.parametrize("dtype", [ember.float32, ember.float16, ember.bfloat16])
@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize(
    "rows, columns, groups, bits",
    [
        (1, 1, 1, 8),
        (3, 31, 1, 8),
        (7, 32, 1, 8),
        (9, 77, 1, 8),
        (130, 256, 4, 8),
        (5, 0, 1, 8),
        (0, 8, 1, 8),
        (1, 32, 1, 4),
        (6, 96, 3, 4),
        (131, 256, 2, 4),
    ],
)
def test_products_are_those_of_wide_weights(
    rows, columns, groups, bits, offsets, dtype
):
    ember.manual_seed(0)
    parts = weights(rows, columns, groups, bits, offsets)
    wide = ember._widened_weights(*parts).double()
    for few in (0, 1, 2, 4, 5, 17, 40):
        x = (ember.randn(few, columns) / max(columns, 1)).to(dtype)
        got = ember._weights_mm(x, *parts)
        assert got.dtype == dtype and got.shape == (few, rows)
        expected = x.double() @ wide.t()
        tolerance = 4 * ember.finfo(dtype).eps
        ember.testing.assert_close(
            got.double(), expected, rtol=tolerance, atol=tolerance * 100
        )
        strided = x.t().contiguous().t()
        assert ember.equal(ember._weights_mm(strided, *parts), got)


def test_four_bits_lie_in_halves_of_units():
    q = ember.arange(16, dtype=ember.uint8).reshape(1, 16) * 16 + 15
    wide = ember._widened_weights(q, ember.ones(1, 1))
    assert wide.tolist() == [[15.0] * 16 + [float(i) for i in range(16)]]


@pytest.mark.parametrize("name", RECIPES)
def test_layers_stay_near(name):
    recipe, error = RECIPES[name]
    ember.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 32, bias=False))
    small = quantize_(copy.deepcopy(model), recipe())
    for shape in ((64,), (1, 64), (3, 5, 64), (40, 64), (0, 64)):
        x = ember.randn(*shape)
        wide, near = model(x), small(x)
        assert near.shape == wide.shape
        assert (near - wide).norm() <= error * wide.norm() + 1e-6
    assert isinstance(small[0], nn.Linear) and type(model[0].weight) is nn.Parameter


@pytest.mark.parametrize("name", RECIPES)
def test_gradients_pass_to_the_input(name):
    recipe, _ = RECIPES[name]
    layer = quantize_(nn.Linear(64, 8), recipe())
    x = ember.randn(3, 64, requires_grad=True)
    g = ember.randn(3, 8)
    layer(x).backward(g)
    ember.testing.assert_close(x.grad, g @ layer.weight.dequantize())
    ember.testing.assert_close(layer.bias.grad, g.sum(0))
    assert layer.weight.grad is None and not layer.weight.requires_grad


@pytest.mark.parametrize("name", RECIPES)
def test_models_are_saved_and_loaded(name):
    recipe, _ = RECIPES[name]
    ember.manual_seed(0)
    model = quantize_(nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 4)), recipe())
    x = ember.randn(2, 64)
    file = io.BytesIO()
    ember.save(model.state_dict(), file)
    assert len(file.getvalue()) < 64 * 32 * 3
    file.seek(0)
    with ember.serialization.safe_globals([QuantizedTensor]):
        state = ember.load(file)
    assert isinstance(state["0.weight"], QuantizedTensor)
    fresh = quantize_(nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 4)), recipe())
    fresh.load_state_dict(state)
    assert ember.equal(fresh(x), model(x))
    plain = nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 4))
    plain.load_state_dict(state, assign=True)
    assert ember.equal(plain(x), model(x))
    assert ember.equal(copy.deepcopy(model)(x), model(x))


@pytest.mark.parametrize("name", RECIPES)
def test_models_move(name):
    recipe, error = RECIPES[name]
    ember.manual_seed(0)
    model = quantize_(nn.Linear(64, 32), recipe())
    x = ember.randn(2, 64)
    wide = model(x)
    model.to(ember.bfloat16)
    assert model.weight.dtype == ember.bfloat16 == model.bias.dtype
    near = model(x.bfloat16())
    assert near.dtype == ember.bfloat16
    assert (near.float() - wide).norm() < (error + 0.02) * wide.norm()
    model.to("meta")
    assert model.weight.device.type == "meta" == model.weight.q.device.type
    assert model(x.to("meta", ember.bfloat16)).shape == (2, 32)


def test_everything_else_sees_wide_weights():
    layer = quantize_(nn.Linear(64, 8), int8_weight_only())
    w = layer.weight
    assert (w.shape, w.dtype, w.device.type) == ((8, 64), ember.float32, "cpu")
    assert ember.equal(w + 1, w.dequantize() + 1)
    assert ember.equal(w.t(), w.dequantize().t())
    assert ember.equal(ember.ones(2, 8) @ w, ember.ones(2, 8) @ w.dequantize())
    wide = layer.double()(ember.ones(2, 64).double())
    assert wide.dtype == ember.float64 == w.dequantize().dtype
    assert ember.equal(
        wide, ember.ones(2, 64).double() @ w.dequantize().t() + layer.bias
    )
    assert "bits=8" in repr(w)
    with pytest.raises(RuntimeError, match="in place"):
        w.mul_(2)
    with pytest.raises(RuntimeError, match="cannot be made"):
        w.to(ember.int64)


def test_what_is_chosen():
    model = nn.ModuleDict(
        {"a": nn.Linear(128, 8), "b": nn.Linear(100, 8), "c": nn.Embedding(4, 128)}
    )
    quantize_(model, int4_weight_only())
    kinds = {k: type(m.weight).__name__ for k, m in model.items()}
    assert kinds == {"a": "QuantizedTensor", "b": "Parameter", "c": "Parameter"}
    with pytest.raises(ValueError, match="100 columns are no groups of 128"):
        quantize_(model, int4_weight_only(), filter_fn=lambda m, name: name == "b")
    quantize_(
        model, int8_weight_only(), filter_fn=lambda m, name: name in "bc" and name
    )
    assert ember.nn.functional.linear(ember.ones(1, 128), model["c"].weight).shape == (
        1,
        4,
    )
    with pytest.raises(ValueError, match="multiple of 32"):
        int4_weight_only(48)


def test_dynamic_is_a_copy():
    model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 4)))
    small = quantize_dynamic(model)
    assert isinstance(small[1][0].weight, QuantizedTensor)
    assert type(model[0].weight) is nn.Parameter
    by_name = quantize_dynamic(model, {"1"}, dtype=ember.qint8)
    assert type(by_name[0].weight) is nn.Parameter
    assert isinstance(by_name[1][0].weight, QuantizedTensor)
    with pytest.raises(NotImplementedError, match="LSTM"):
        quantize_dynamic(model, {nn.LSTM})
    with pytest.raises(ValueError, match="qint8"):
        quantize_dynamic(model, dtype=ember.float16)


def test_a_trained_model_stays_as_good():
    ember.manual_seed(0)
    centers = ember.randn(8, 64)
    labels = ember.randint(0, 8, (512,))
    points = centers[labels] + 0.7 * ember.randn(512, 64)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    optimizer = ember.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(30):
        loss = nn.functional.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def perplexity(model):
        with ember.no_grad():
            return nn.functional.cross_entropy(model(points), labels).exp().item()

    wide = perplexity(model)
    for recipe, _ in RECIPES.values():
        small = quantize_(copy.deepcopy(model), recipe())
        assert perplexity(small) < 1.02 * wide
