"""The library end to end in a few seconds; run it before each commit."""

from __future__ import annotations

import io

import numpy as np
import pytest

import ember
from ember import nn
from ember.nn import functional as F


def test_arithmetic_with_broadcasting() -> None:
    a, b = ember.tensor([[1.0], [2.0]]), ember.tensor([10, 20])
    assert (a + b).tolist() == [[11, 21], [12, 22]]
    assert (a + b).dtype == ember.float32
    assert (a @ b[None].float()).shape == (2, 2)


def test_numpy_shares_memory_both_ways() -> None:
    array = np.arange(6.0).reshape(2, 3)
    t = ember.from_numpy(array)
    t[0, 0] = 7
    array[1, 1] = 9
    assert array[0, 0] == 7 and t[1, 1].item() == 9
    assert t.numpy().base is not None


def test_views_and_indices() -> None:
    x = ember.arange(12).reshape(3, 4)
    assert x[1:, ::2].tolist() == [[4, 6], [8, 10]]
    assert x.t()[0].tolist() == [0, 4, 8]
    assert x[x % 5 == 0].tolist() == [0, 5, 10]
    x[:, 0] = -1
    assert x.view(-1)[4].item() == -1


def test_gradients_of_first_and_second_order() -> None:
    x = ember.tensor([1.0, 2.0], requires_grad=True)
    (g,) = ember.autograd.grad((x**3).sum(), x, create_graph=True)
    g.sum().backward()
    assert g.tolist() == [3, 12]
    assert x.grad.tolist() == [6, 12]


def test_in_place_changes_of_views_reach_the_gradient() -> None:
    x = ember.ones(3, requires_grad=True)
    y = x * 2
    y[1:].mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [2, 6, 6]


def test_a_saved_tensor_that_changed_is_an_error() -> None:
    x = ember.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_errors_name_the_op_and_the_values() -> None:
    with pytest.raises(RuntimeError, match=r"3.*4"):
        ember.ones(3) + ember.ones(4)
    with pytest.raises(IndexError, match="out of range"):
        ember.ones(2, 3).sum(5)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_network_learns(optimizer: str) -> None:
    ember.manual_seed(0)
    x = ember.randn(64, 2)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    chosen = getattr(ember.optim, optimizer)(model.parameters(), lr=0.05)
    losses = []
    for _ in range(80):
        loss = F.cross_entropy(model(x), y)
        chosen.zero_grad()
        loss.backward()
        chosen.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_weights_survive_saving() -> None:
    model = nn.Linear(3, 2)
    file = io.BytesIO()
    ember.save(model.state_dict(), file)
    file.seek(0)
    other = nn.Linear(3, 2)
    other.load_state_dict(ember.load(file))
    x = ember.ones(1, 3)
    assert ember.equal(model(x), other(x))


def test_same_seed_same_numbers() -> None:
    ember.manual_seed(7)
    first = ember.randn(4)
    ember.manual_seed(7)
    assert ember.equal(first, ember.randn(4))
