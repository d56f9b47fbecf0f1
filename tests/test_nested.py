"""Nested tensors: rows of parts of different lengths, in one dense tensor."""

from __future__ import annotations

import pytest

import ember
from ember import nested
from ember.nn import functional as F

A, B = ember.arange(6.0).view(2, 3), ember.arange(12.0).view(4, 3) / 7


def pair(requires_grad=False):
    return nested.nested_tensor(
        [A, B], layout=ember.jagged, requires_grad=requires_grad
    )


def parts(x):
    return [part.tolist() for part in x.unbind()]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: 2 - x * x,
        lambda x: x.sin().relu(),
        lambda x: F.gelu(x / 2),
        lambda x: x @ ember.ones(3, 2),
        lambda x: F.layer_norm(x, (3,)),
        lambda x: ember.softmax(x, -1),
        lambda x: ember.where(x > 1, x, 0.0),
        lambda x: x.unsqueeze(-1),
        lambda x: F.linear(x, ember.ones(4, 3), ember.ones(4)),
    ],
)
def test_ops_on_rows_are_those_on_each_part(function):
    got = function(pair())
    assert got.is_nested and isinstance(got, ember.Tensor)
    for found, part in zip(got.unbind(), (A, B), strict=True):
        # The parts alone: a leading axis where the nested tensor has its batch.
        assert ember.allclose(found, function(part[None])[0], atol=1e-6)


def test_what_it_is():
    x = pair()
    assert x.dim() == 3 and x.size(0) == 2 and x.size(-1) == 3 and len(x) == 2
    assert x.offsets().tolist() == [0, 2, 6] and x.values().shape == (6, 3)
    assert x.layout is ember.jagged and x.numel() == 18
    assert parts(x) == [A.tolist(), B.tolist()] and x[1].tolist() == B.tolist()
    irregular = nested.nested_tensor([A, B])
    with pytest.raises(RuntimeError, match="irregular"):
        irregular.size(1)


def test_padding_and_its_gradient():
    x = pair(requires_grad=True)
    dense = x.to_padded_tensor(-1.0)
    assert dense.shape == (2, 4, 3) and dense[0, 2:].eq(-1).all()
    (dense * ember.arange(4.0).view(1, 4, 1)).sum().backward()
    assert parts(x.grad) == [[[r] * 3 for r in range(n)] for n in (2, 4)]


def test_gradients_reach_tensors_and_weights():
    a, b = A.clone().requires_grad_(), B.clone().requires_grad_()
    layer = ember.nn.Linear(3, 2)
    (layer(nested.as_nested_tensor([a, b], layout=ember.jagged)) ** 2).sum().backward()
    want = a.grad.clone(), layer.weight.grad.clone()
    a.grad = layer.weight.grad = None
    sum((layer(t) ** 2).sum() for t in (a, b)).backward()
    for got, expected in zip(want, (a.grad, layer.weight.grad)):
        assert ember.allclose(got, expected)


def test_attention_stays_inside_of_parts():
    x = nested.nested_tensor([ember.randn(n, 8) for n in (2, 5)], layout=ember.jagged)
    heads = x.unflatten(-1, [2, 4]).transpose(1, 2)
    got = F.scaled_dot_product_attention(heads, heads, heads)
    got = got.transpose(1, 2).flatten(-2)
    for found, part in zip(got.unbind(), x.unbind(), strict=True):
        one = part.view(1, -1, 2, 4).transpose(1, 2)
        want = F.scaled_dot_product_attention(one, one, one)
        assert ember.allclose(found, want.transpose(1, 2).reshape(part.shape))


def test_reductions():
    x = pair()
    assert ember.allclose(x.sum(), A.sum() + B.sum())
    assert ember.allclose(x.mean(1), ember.stack([A.mean(0), B.mean(0)]))
    assert x.sum(-1).values().shape == (6,)


def test_other_ways_to_make_one():
    values, offsets = ember.arange(5.0), ember.tensor([0, 2, 5])
    assert parts(nested.nested_tensor_from_jagged(values, offsets)) == [
        [0, 1],
        [2, 3, 4],
    ]
    x = ember.arange(6.0).view(2, 3)
    some = nested.narrow(x, 1, ember.tensor([0, 1]), ember.tensor([1, 2]))
    assert parts(some) == [[0], [4, 5]]
    assert parts(nested.masked_select(x, x > 1)) == [[2], [3, 4, 5]]


def test_errors():
    with pytest.raises(RuntimeError, match="binary pointwise"):
        pair() + nested.nested_tensor([B, A], layout=ember.jagged)
    with pytest.raises(NotImplementedError, match=r"cumsum\(\).*nested"):
        pair().cumsum(1)
    with pytest.raises(RuntimeError, match="first dimension only"):
        nested.nested_tensor([A, ember.ones(2, 5)])


def test_strided_layouts_are_made_of_lists_alone():
    for given in ((ember.ones(2),), ember.ones(2, 2), range(2)):
        with pytest.raises(TypeError, match="Only lists"):
            ember.nested.nested_tensor(given)
