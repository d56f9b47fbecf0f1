"""Fusion, functional calls, skipped initial values, parallel modules on one device."""

import pytest

import ember
from ember import nn
from ember.nn.utils import stateless


@pytest.fixture(autouse=True)
def seed():
    ember.manual_seed(0)


@pytest.mark.parametrize("transposed", [False, True])
def test_conv_and_batch_norm_become_one(transposed):
    conv = (nn.ConvTranspose2d if transposed else nn.Conv2d)(2, 3, 3)
    norm = nn.BatchNorm2d(3)
    x = ember.randn(4, 2, 5, 5)
    norm(conv(x))
    conv.eval(), norm.eval()
    fused = nn.utils.fuse_conv_bn_eval(conv, norm, transpose=transposed)
    assert ember.allclose(fused(x), norm(conv(x)), atol=1e-5)


def test_linear_and_batch_norm_become_one():
    linear, norm = nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4)
    x = ember.randn(8, 3)
    norm(linear(x))
    with pytest.raises(AssertionError, match="eval"):
        nn.utils.fuse_linear_bn_eval(linear, norm)
    linear.eval(), norm.eval()
    fused = nn.utils.fuse_linear_bn_eval(linear, norm)
    assert ember.allclose(fused(x), norm(linear(x)), atol=1e-5)


def test_functional_call_leaves_the_module_alone():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    weight = ember.ones(2, 2, requires_grad=True)
    tensors = {"0.weight": weight, "1.running_mean": ember.zeros(2)}
    own = model[0].weight
    y = ember.func.functional_call(model, tensors, (ember.randn(3, 2),))
    y.pow(2).sum().backward()
    assert weight.grad is not None and own.grad is None and model[0].weight is own
    assert tensors["1.running_mean"].abs().sum() > 0
    assert model[1].running_mean.abs().sum() == 0


def test_functional_call_of_tied_weights():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    call = ember.func.functional_call
    x = ember.ones(1, 2)
    twice = call(model, {"0.weight": ember.eye(2) * 3}, x)
    assert twice.tolist() == [[9.0, 9.0]]
    with pytest.raises(ValueError, match="tied"):
        call(model, {"0.weight": ember.eye(2), "1.weight": ember.ones(2, 2)}, x)
    with pytest.raises(RuntimeError, match="Unexpected key"):
        call(model, {"0.weight": ember.eye(2), "other": x}, x, strict=True)
    with pytest.raises(RuntimeError, match="Missing key"):
        call(model, {}, x, strict=True)
    with pytest.warns(FutureWarning, match="deprecated"):
        stateless.functional_call(model, {}, x)


def test_skip_init():
    layer = nn.utils.skip_init(nn.Linear, 3, 2)
    assert layer.weight.shape == (2, 3) and layer.weight.device.type == "cpu"
    with pytest.raises(RuntimeError, match="'device' arg"):
        nn.utils.skip_init(nn.Sequential)


def test_data_parallel_is_the_module():
    model = nn.Linear(2, 3)
    wrapped = nn.DataParallel(model)
    x = ember.randn(5, 2)
    assert ember.equal(wrapped(x), model(x))
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    assert ember.equal(nn.parallel.data_parallel(model, x), model(x))


def test_scatter_and_gather():
    x = {"a": ember.arange(4), "b": (ember.arange(4.0), "text")}
    parts = nn.parallel.scatter(x, ["cpu", "cpu"])
    assert parts[1]["a"].tolist() == [2, 3] and parts[0]["b"][1] == "text"
    back = nn.parallel.gather([p["b"][0] for p in parts], "cpu")
    assert back.tolist() == [0, 1, 2, 3]


def test_sync_batch_norm_is_batch_norm_alone():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    other = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert isinstance(other[1], nn.SyncBatchNorm) and other[0] is model[0]
    x = ember.randn(6, 2)
    assert ember.allclose(other(x), model(x))


def test_factory_kwargs():
    with pytest.raises(TypeError, match="unexpected"):
        nn.factory_kwargs({"size": 3})
    with pytest.raises(TypeError, match="twice"):
        nn.factory_kwargs({"dtype": None, "factory_kwargs": {"dtype": None}})


def test_sdpa_kernel():
    from ember.nn.attention import SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel

    before = _cur_sdpa_kernel_backends()
    with sdpa_kernel([SDPBackend.MATH]):
        assert _cur_sdpa_kernel_backends() == [SDPBackend.MATH]
    assert _cur_sdpa_kernel_backends() == before
    with pytest.raises(AssertionError), sdpa_kernel([3]):
        pass
