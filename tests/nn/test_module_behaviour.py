"""What libraries rely on in modules: signatures, attributes, formats, checkpoints."""

from __future__ import annotations

import copy
import inspect
import io
import pickle

import pytest

import ember
from ember import nn


class Logged(nn.Module):
    def __init__(self) -> None:
        self.seen: list[str] = []
        super().__init__()
        self.weight = nn.Parameter(ember.ones(2))
        self.inner = nn.Linear(2, 2)
        self.register_buffer("mean", ember.zeros(1))

    def __getattr__(self, name):
        self.__dict__["seen"].append(name)
        return super().__getattr__(name)


def test_a_getattr_of_a_subclass_is_asked_for_members():
    m = Logged()
    m.seen.clear()
    assert m.weight.shape == (2,) and isinstance(m.inner, nn.Linear)
    assert m.mean.item() == 0
    assert m.seen == ["weight", "inner", "mean"]
    with pytest.raises(AttributeError, match="nothing"):
        _ = m.nothing


def test_signature_of_modules_and_of_classes():
    assert str(inspect.signature(nn.ReLU())) == "(*args, **kwargs)"
    assert "in_features" in inspect.signature(nn.Linear).parameters


class Mixin:
    def hi(self) -> str:
        return "hi"


def test_an_object_changes_to_a_class_with_a_mixin_in_front():
    m = nn.Linear(2, 3)
    m.__class__ = type("Both", (Mixin, nn.Linear), {})
    assert m.hi() == "hi" and m(ember.ones(1, 2)).shape == (1, 3)


def test_channels_last_is_for_images_only():
    m = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2))
    m.to(memory_format=ember.channels_last)
    assert m[0].weight.stride() == (27, 1, 9, 3) and m[2].weight.stride() == (4, 1)


@pytest.mark.parametrize("kind", [nn.Conv2d, nn.Conv3d])
def test_initialization_does_not_depend_on_the_format(kind):
    m = kind(2, 3, 2)
    ember.manual_seed(1)
    m.reset_parameters()
    before = m.weight.detach().clone()
    last = ember.channels_last if kind is nn.Conv2d else ember.channels_last_3d
    m.to(memory_format=last)
    ember.manual_seed(1)
    m.reset_parameters()
    assert ember.equal(m.weight, before) and not m.weight.is_contiguous()


@pytest.mark.parametrize("size", [1, 2])
def test_pixels_and_channels_stay_in_their_format(size):
    x = ember.rand(2, 8, 4, 4).to(memory_format=ember.channels_last)
    f = nn.functional
    for y in (
        f.pixel_shuffle(x, 2),
        f.pixel_unshuffle(x, 2),
        f.channel_shuffle(x, 2),
        f.group_norm(x, size),
    ):
        assert y.is_contiguous(memory_format=ember.channels_last)


def test_global_hooks_run_before_those_of_the_module():
    seen = []
    handle = nn.modules.module.register_module_full_backward_hook(
        lambda *given: seen.append("all")
    )
    m = nn.Linear(2, 2)
    m.register_full_backward_hook(lambda *given: seen.append("own"))
    m(ember.ones(1, 2, requires_grad=True)).sum().backward()
    handle.remove()
    assert seen == ["all", "own"]


@pytest.mark.parametrize(
    "make", [lambda: nn.LazyLinear(3), nn.LazyBatchNorm2d, lambda: nn.LazyConv2d(3, 2)]
)
def test_lazy_modules_survive_pickle(make):
    m = pickle.loads(pickle.dumps(make()))
    m(ember.ones(2, 3, 4, 4))
    assert not hasattr(m, "has_uninitialized_params")
    assert type(copy.deepcopy(m)) is type(m)


def test_uninitialized_parameters_refuse_to_be_used():
    p = nn.LazyLinear(3).weight
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        _ = p.shape
    with pytest.raises(ValueError, match="uninitialized parameter"):
        p + 1
    with pytest.raises(RuntimeError, match="share memory"):
        p.share_memory_()


def test_an_lstm_uses_the_weights_it_is_given():
    m = nn.LSTM(2, 3)
    m._flat_weights = [ember.zeros_like(w) for w in m._flat_weights]
    assert m(ember.ones(1, 1, 2))[0].eq(0).all()
    m._flat_weights = [getattr(m, name) for name in m._flat_weights_names]
    assert m(ember.ones(1, 1, 2))[0].ne(0).any()


@pytest.mark.parametrize("old", [False, True])
def test_attributes_of_tensors_are_saved(old):
    t, p = ember.ones(2), nn.Parameter(ember.ones(2))
    t.note, p.note = "t", "p"
    file = io.BytesIO()
    ember.save([t, p, type(None)], file, _use_new_zipfile_serialization=not old)
    file.seek(0)
    t, p, none = ember.load(file, weights_only=False)
    assert (t.note, p.note, none) == ("t", "p", type(None))
    assert pickle.loads(pickle.dumps(p)).note == "p"


def test_buffers_do_not_replace_other_attributes():
    m = nn.Module()
    m.x = 5
    with pytest.raises(KeyError, match="x"):
        m.x = nn.Buffer(ember.ones(1))
    m.y = nn.Buffer(ember.ones(1))
    m.y = nn.Buffer(ember.ones(1), persistent=False)
    assert not m.state_dict()


def test_batches_of_nothing():
    empty = ember.zeros(0, 3, 4)
    layers = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    assert layers(empty).shape == (0, 3, 4)
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    assert attention(empty, empty, empty)[1].shape == (0, 3, 3)
    image = ember.zeros(0, 2, 4, 4, requires_grad=True)
    nn.functional.grid_sample(image, ember.zeros(0, 3, 3, 2)).sum().backward()
    assert image.grad.shape == image.shape


def test_lanczos_resampling():
    x = ember.arange(4.0).view(1, 1, 1, 4)
    got = nn.functional.interpolate(x, size=(1, 4), mode="lanczos", antialias=True)
    assert ember.allclose(got, x)
    for wrong in ({}, {"antialias": True, "align_corners": True}):
        with pytest.raises(ValueError, match="Lanczos"):
            nn.functional.interpolate(x, size=(2, 2), mode="lanczos", **wrong)


@pytest.mark.parametrize("value", ["1", "0"])
def test_loading_by_environment(monkeypatch, value):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", value)
    file = io.BytesIO()
    ember.save(inspect.Parameter, file)
    file.seek(0)
    if value == "1":
        assert ember.load(file) is inspect.Parameter
    else:
        with pytest.raises(pickle.UnpicklingError):
            ember.load(file)
