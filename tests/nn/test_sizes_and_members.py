"""Sizes that pools refuse, and what modules take as members."""

import numpy as np
import pytest

import ember

F, nn = ember.nn.functional, ember.nn


@pytest.mark.parametrize("dims", [2, 3])
def test_sizes_of_fractional_pools(dims):
    pool = getattr(F, f"fractional_max_pool{dims}d")
    x = ember.rand(1, 2, *[7] * dims)
    assert pool(x, 2, output_size=3).shape == (1, 2, *[3] * dims)
    for bad in ((), (1,)):
        with pytest.raises(RuntimeError, match="kernel_size must either"):
            pool(x, bad, output_size=3)
        with pytest.raises(RuntimeError, match="output_size must either"):
            pool(x, 2, output_size=bad)
    with pytest.raises(RuntimeError, match="too large relative to input width"):
        pool(x, 2, output_size=(*[3] * (dims - 1), 9))
    with pytest.raises(ValueError, match="requires output_ratio"):
        pool(x, 2, output_ratio=[0.5] * (dims + 1))


def test_sizes_of_unpooling():
    x, places = ember.rand(1, 1, 2, 2), ember.zeros(1, 1, 2, 2, dtype=ember.int64)
    with pytest.raises(ValueError, match="non-negative spatial dimensions"):
        F.max_unpool2d(x, places, [1, 1], stride=5, padding=[3, 4])
    with pytest.raises(RuntimeError, match="There should be exactly"):
        F.max_unpool2d(x, places, ())


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_strides_are_positive(dims, kind):
    pool, x = getattr(F, f"{kind}_pool{dims}d"), ember.rand(1, 1, *[4] * dims)
    with pytest.raises(RuntimeError, match="stride should not be zero"):
        pool(x, 2, stride=0)
    with pytest.raises(RuntimeError, match="stride should be greater than zero"):
        pool(x, 2, stride=-1)


def test_buffers_may_be_what_acts_as_a_tensor():
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError

    m, value = nn.Module(), Like()
    m.register_buffer("b", Like())
    m.b = value
    assert m.b is value and m.get_buffer("b") is value
    with pytest.raises(TypeError):
        m.register_buffer("c", 1)


def test_buffers_of_a_module_that_knows_no_flag():
    class Old(nn.Module):
        def __init__(self):
            super().__init__()
            self.bar = nn.Buffer(ember.ones(2))

        def register_buffer(self, name, value):
            super().register_buffer(name, value, True)

    assert Old().bar.tolist() == [1, 1]


def test_members_of_the_right_kind():
    m = nn.Module()
    m.a = nn.Linear(1, 1)
    with pytest.raises(ValueError, match=r"not an nn\.Module"):
        m.set_submodule("a", "text")
    with pytest.raises(RuntimeError, match="copy"):
        m.to("cpu", copy=True)


def test_parameters_of_a_dict_come_by_name():
    parameters = nn.ParameterDict()
    parameters.update({k: nn.Parameter(ember.ones(1)) for k in ("b", "a")})
    parameters.update([("d", ember.ones(1)), ("c", ember.ones(1))])
    assert list(parameters) == ["a", "b", "d", "c"]
    assert list(parameters.copy()) == list(parameters)
    assert list(parameters | nn.ParameterDict()) == list(parameters)


def test_cosine_of_mixed_dtypes():
    x = ember.tensor([3.0, 4.0])
    assert F.cosine_similarity(x.to(ember.int8), x, dim=-1).item() == pytest.approx(1)


@pytest.mark.parametrize("stack", [nn.TransformerEncoder, nn.TransformerDecoder])
def test_only_modules_are_stacked(stack):
    with pytest.raises(TypeError, match="Generator is not a Module"):
        stack(ember.Generator(), 2**62)


def test_only_modules_are_replicated():
    with pytest.raises(TypeError, match="int is no Module"):
        nn.parallel.replicate(3, range(2**62))


def test_sizes_of_numpy_are_sizes():
    two = np.int64(2)
    x = ember.rand(1, 2, 6, 6)
    assert nn.Conv2d(two, two, two, two, padding=two)(x).shape == (1, 2, 5, 5)
    assert nn.ConvTranspose2d(two, 1, two)(x).shape == (1, 1, 7, 7)
    assert nn.LayerNorm(np.int64(6)).normalized_shape == (6,)
    assert nn.RMSNorm(np.int64(6))(x).shape == x.shape
    assert nn.ZeroPad2d(two)(x).shape == (1, 2, 10, 10)
    assert F.adaptive_avg_pool2d(x, two).shape == (1, 2, 2, 2)
    assert nn.FractionalMaxPool2d(two, output_size=3)(x).shape == (1, 2, 3, 3)
