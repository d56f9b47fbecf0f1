"""Parameters made of tensors of subclasses."""

import copy

import pytest

import ember
from ember import nn


class Marked(ember.Tensor):
    pass


@pytest.fixture
def parameter():
    return nn.Parameter(ember.rand(2, 2).as_subclass(Marked))


def test_the_class_stays(parameter):
    assert type(parameter) is Marked and isinstance(parameter, nn.Parameter)
    assert parameter.requires_grad and parameter.is_leaf
    assert not isinstance(ember.rand(2).as_subclass(Marked), nn.Parameter)
    assert not isinstance(ember.rand(2), nn.Parameter)
    assert isinstance(nn.Parameter(nn.Buffer(ember.ones(1))), nn.Parameter)


def test_modules_and_optimizers_know_it(parameter):
    model = nn.Linear(2, 2, bias=False)
    model.weight = parameter
    assert dict(model.named_parameters()) == {"weight": parameter}
    before = parameter.detach().clone()
    model(ember.ones(1, 2)).sum().backward()
    ember.optim.SGD(model.parameters(), lr=1.0).step()
    assert not ember.equal(before, parameter.detach())
    copied = copy.deepcopy(model)
    assert type(copied.weight) is Marked and isinstance(copied.weight, nn.Parameter)


def test_sparse_ones():
    made = nn.Parameter(ember.eye(2).to_sparse())
    assert isinstance(made, nn.Parameter) and made.is_sparse and made.requires_grad


def test_a_detach_that_forgets_the_class_is_refused():
    class Forgetful(ember.Tensor):
        def detach(self):
            return super().detach().as_subclass(ember.Tensor)

    with pytest.raises(RuntimeError, match="detach\\(\\) returns an instance"):
        nn.Parameter(ember.ones(1).as_subclass(Forgetful))


def test_what_stands_for_the_elements():
    assert ember.ones(2).__repr__(tensor_contents="two") == "tensor(two)"
    made = nn.Parameter(ember.ones(1).as_subclass(Marked))
    assert repr(made) == "Parameter(Marked([1.], requires_grad=True))"
