"""Pruning: masks by size, at random, by channel; several on top of each other."""

import pytest

import ember
from ember import nn
from ember.nn.utils import prune


@pytest.fixture
def layer():
    ember.manual_seed(0)
    made = nn.Linear(4, 3)
    with ember.no_grad():
        made.weight.copy_(ember.arange(1.0, 13.0).reshape(3, 4))
    return made


def zeros(layer):
    return (layer.weight == 0).sum().item()


def test_smallest_go_first(layer):
    prune.l1_unstructured(layer, "weight", 0.25)
    assert layer.weight.flatten()[:4].tolist() == [0, 0, 0, 4]
    assert sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    layer(ember.ones(1, 4)).sum().backward()
    assert layer.weight_orig.grad.flatten()[:4].tolist() == [0, 0, 0, 1]


def test_methods_add_up(layer):
    prune.l1_unstructured(layer, "weight", 3)
    prune.random_unstructured(layer, "weight", 2)
    assert zeros(layer) == 5
    prune.ln_structured(layer, "weight", 1, n=2, dim=0)
    assert zeros(layer) >= 5 and prune.is_pruned(layer)
    hook = next(iter(layer._forward_pre_hooks.values()))
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 3


@pytest.mark.parametrize("dim, size", [(0, 4), (1, 3)])
def test_channels(layer, dim, size):
    prune.random_structured(layer, "weight", 1, dim)
    gone = (layer.weight == 0).all(1 - dim).sum().item()
    assert gone == 1 and zeros(layer) == size


def test_removal_keeps_the_value(layer):
    original = layer.weight
    prune.custom_from_mask(layer, "weight", ember.eye(3, 4))
    value = layer.weight.detach().clone()
    prune.remove(layer, "weight")
    assert layer.weight is original and ember.equal(layer.weight.detach(), value)
    assert not prune.is_pruned(layer)
    with pytest.raises(ValueError, match="has to be pruned"):
        prune.remove(layer, "weight")


def test_across_modules(layer):
    small = nn.Linear(4, 3)
    places = [(layer, "weight"), (small, "weight")]
    prune.global_unstructured(places, prune.L1Unstructured, amount=12)
    assert zeros(layer) == 0 and zeros(small) == 12


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: prune.L1Unstructured("much"), TypeError),
        (lambda: prune.L1Unstructured(-1), ValueError),
        (lambda: prune.L1Unstructured(1.5), ValueError),
        (lambda: prune.l1_unstructured(nn.Linear(2, 2), "weight", 9), ValueError),
        (lambda: prune.ln_structured(nn.Linear(2, 2), "bias", 1, 2, 0), ValueError),
    ],
)
def test_amounts_are_checked(make, error):
    with pytest.raises(error):
        make()
