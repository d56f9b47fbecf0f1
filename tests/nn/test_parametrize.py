"""Parametrized weights: chains, caches, ready-made parametrizations, older forms."""

import copy
import pickle
import warnings

import pytest

import ember
from ember import nn
from ember.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, a):
        return a.triu()


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(ember.tensor(2.0))

    def forward(self, x):
        return x * self.scale

    def right_inverse(self, a):
        return a / self.scale


@pytest.fixture(autouse=True)
def seed():
    ember.manual_seed(0)


def test_value_state_and_repr():
    layer = nn.Linear(3, 3)
    original = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert (layer.weight == layer.weight.t()).all()
    assert layer.parametrizations.weight.original is original
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert repr(layer).startswith("ParametrizedLinear(")
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    layer(ember.ones(1, 3)).sum().backward()
    assert original.grad is not None


def test_assignment_goes_through_the_inverse():
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Scaled())
    parametrize.register_parametrization(layer, "weight", Symmetric())
    layer.weight = ember.tensor([[1.0, 3.0], [3.0, 4.0]])
    assert layer.weight.tolist() == [[1.0, 3.0], [3.0, 4.0]]
    assert layer.parametrizations.weight.original.tolist() == [[0.5, 1.5], [0.0, 2.0]]


def test_cached_reads_once():
    layer = parametrizations.weight_norm(nn.Linear(2, 2))
    assert layer.weight is not layer.weight
    with parametrize.cached():
        assert layer.weight is layer.weight


@pytest.mark.parametrize("leave", [True, False])
def test_removal(leave):
    layer = nn.Linear(3, 3)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Scaled())
    with ember.no_grad():
        layer.parametrizations.weight[0].scale.fill_(6.0)
    value = layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter)
    assert ember.allclose(layer.weight, value if leave else before / 2)
    assert not parametrize.is_parametrized(layer)


def test_copies_and_pickles():
    layer = parametrizations.weight_norm(nn.Linear(2, 2))
    other = copy.deepcopy(layer)
    assert ember.equal(other.weight, layer.weight)
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)


class Wrong(nn.Module):
    def __init__(self, result):
        super().__init__()
        self.result = result

    def forward(self, x):
        return self.result


@pytest.mark.parametrize("result", [3, ember.ones(1), ember.ones(2, 2).double()])
def test_a_parametrization_keeps_shape_and_dtype(result):
    with pytest.raises(ValueError):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Wrong(result))


def test_unknown_names():
    with pytest.raises(ValueError, match="does not have a parameter"):
        parametrize.register_parametrization(nn.Linear(2, 2), "nothing", Symmetric())
    with pytest.raises(ValueError, match="does not have a parametrization"):
        parametrize.remove_parametrizations(nn.Linear(2, 2), "weight")


def test_weight_norm_keeps_the_value_and_takes_old_keys():
    plain = nn.Linear(3, 2)
    weight = plain.weight.detach().clone()
    layer = parametrizations.weight_norm(plain)
    assert ember.allclose(layer.weight, weight, atol=1e-6)
    old = {"bias": ember.zeros(2), "weight_g": ember.ones(2, 1)}
    layer.load_state_dict({**old, "weight_v": ember.ones(2, 3)})
    assert ember.allclose(layer.weight, ember.full((2, 3), 3**-0.5))


def test_spectral_norm_is_the_largest_singular_value():
    layer = parametrizations.spectral_norm(nn.Linear(6, 4), n_power_iterations=30)
    x = ember.randn(6)
    for _ in range(200):
        x = layer.weight.t() @ (layer.weight @ x)
        x = x / x.norm()
    assert (layer.weight @ x).norm().item() == pytest.approx(1.0, abs=1e-4)


def test_older_forms_and_their_removal():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = nn.utils.weight_norm(nn.Linear(3, 2))
    weight = layer.weight.detach().clone()
    assert sorted(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    layer(ember.ones(1, 3)).sum().backward()
    assert layer.weight_g.grad.shape == (2, 1)
    nn.utils.remove_weight_norm(layer)
    assert ember.allclose(layer.weight, weight) and not layer._forward_pre_hooks
    layer = nn.utils.spectral_norm(nn.Conv2d(1, 2, 3))
    assert sorted(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    layer(ember.ones(1, 1, 3, 3)).sum().backward()
    assert layer.weight_orig.grad is not None
    nn.utils.remove_spectral_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="not found"):
        nn.utils.remove_spectral_norm(layer)


@pytest.mark.skipif(
    not hasattr(ember.linalg, "householder_product"), reason="needs more of linalg"
)
@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
def test_orthogonal(how, shape):
    layer = parametrizations.orthogonal(nn.Linear(*shape), orthogonal_map=how)
    ember.optim.SGD(layer.parameters(), lr=0.1)
    layer(ember.randn(2, shape[0])).pow(2).sum().backward()
    q = layer.weight if shape[1] >= shape[0] else layer.weight.t()
    assert ember.allclose(q.t() @ q, ember.eye(q.shape[1]), atol=1e-5)
