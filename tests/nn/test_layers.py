"""Layers, containers, functions and initial values."""

import math

import numpy as np
import pytest

import ember
from ember import nn
from ember.nn import functional as F, init


def close(got, want, tolerance=1e-5):
    return np.allclose(np.array(got.tolist()), np.array(want), atol=tolerance)


def test_linear_computes_and_draws_as_pytorch_does():
    ember.manual_seed(0)
    m = nn.Linear(2, 2)
    assert close(m.weight, [[-0.0053, 0.3793], [-0.5820, -0.5204]], 1e-4)
    assert close(m.bias, [-0.2723, 0.1896], 1e-4)
    x = ember.tensor([[1.0, 2.0]])
    want = np.array([[1.0, 2.0]]) @ np.array(m.weight.tolist()).T + m.bias.tolist()
    assert close(m(x), want)
    assert nn.Linear(2, 3, bias=False).bias is None


def test_linear_with_a_replaced_weight():
    m = nn.Linear(2, 1, bias=False)
    del m._parameters["weight"]
    m.__dict__["weight"] = ember.ones(1, 2)
    assert m(ember.ones(1, 2)).tolist() == [[2.0]]


def test_lazy_linear():
    m = nn.LazyLinear(3)
    assert repr(m.weight) == "<UninitializedParameter>"
    other = nn.LazyLinear(3)
    assert m(ember.ones(2, 5)).shape == (2, 3)
    assert type(m) is nn.Linear and m.weight.shape == (3, 5)
    other.load_state_dict(m.state_dict())
    assert other.weight.tolist() == m.weight.tolist()


@pytest.mark.parametrize(
    ("function", "want"),
    [
        (F.relu, [0, 0, 2]),
        (F.leaky_relu, [-0.01, 0, 2]),
        (F.elu, [math.expm1(-1), 0, 2]),
        (F.gelu, [-0.158655, 0, 1.954500]),
        (F.silu, [-0.268941, 0, 1.761594]),
        (F.softplus, [0.313262, 0.693147, 2.126928]),
        (F.logsigmoid, [-1.313262, -0.693147, -0.126928]),
        (F.hardtanh, [-1, 0, 1]),
        (F.hardswish, [-1 / 3, 0, 5 / 3]),
        (F.softsign, [-0.5, 0, 2 / 3]),
        (F.softshrink, [-0.5, 0, 1.5]),
        (F.mish, [-0.303401, 0, 1.943959]),
    ],
)
def test_activations(function, want):
    x = ember.tensor([-1.0, 0.0, 2.0])
    assert close(function(x), want)


def test_activation_gradients_stay_finite():
    x = ember.tensor([-200.0, 0.0, 200.0], requires_grad=True)
    for f in (F.elu, F.celu, F.selu, F.softplus, F.logsigmoid, F.mish, F.gelu, F.silu):
        (g,) = ember.autograd.grad(f(x).sum(), x)
        assert all(math.isfinite(v) for v in g.tolist()), f.__name__


def test_cross_entropy():
    logits = ember.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    target = ember.tensor([2, 0])
    each = [0.407606, 1.098612]
    assert close(F.cross_entropy(logits, target, reduction="none"), each)
    assert close(F.cross_entropy(logits, target), np.mean(each))
    ignored = F.cross_entropy(logits, ember.tensor([2, -100]))
    assert close(ignored, each[0])
    weight = ember.tensor([3.0, 1.0, 1.0])
    weighted = F.cross_entropy(logits, target, weight)
    assert close(weighted, (each[0] + 3 * each[1]) / 4)
    onehot = F.one_hot(target, 3).float()
    assert close(F.cross_entropy(logits, onehot), np.mean(each))
    smooth = F.cross_entropy(logits, target, label_smoothing=0.3)
    soft = onehot * 0.7 + 0.1
    assert close(smooth, F.cross_entropy(logits, soft).item())


def test_binary_losses():
    x = ember.tensor([-100.0, 0.0, 100.0])
    y = ember.tensor([0.0, 1.0, 0.0])
    logits = F.binary_cross_entropy_with_logits(x, y, reduction="none")
    assert close(logits, [0, 0.693147, 100])
    probabilities = F.binary_cross_entropy(x.sigmoid(), y, reduction="none")
    assert close(probabilities, [0, 0.693147, 100])
    with pytest.raises(ValueError, match="Target size"):
        F.binary_cross_entropy_with_logits(x, y[:2])


def test_regression_losses():
    x, y = ember.tensor([0.0, 3.0]), ember.tensor([0.5, 1.0])
    assert close(F.mse_loss(x, y), 2.125)
    assert close(F.l1_loss(x, y, reduction="sum"), 2.5)
    assert close(F.smooth_l1_loss(x, y, reduction="none"), [0.125, 1.5])
    assert close(F.huber_loss(x, y, reduction="none", delta=2.0), [0.125, 2.0])
    with pytest.warns(UserWarning, match="different to the input size"):
        F.mse_loss(x, y[:1])
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        F.mse_loss(x, y, reduction="max")


def test_dropout():
    ember.manual_seed(1)
    x = ember.ones(1000)
    y = F.dropout(x, 0.25)
    kept = [v for v in y.tolist() if v]
    assert 700 < len(kept) < 800 and abs(kept[0] - 4 / 3) < 1e-6
    assert F.dropout(x, 0.25, training=False) is x
    assert F.dropout(x, 1.0).abs().sum().item() == 0
    rows = F.dropout2d(ember.ones(4, 8, 3, 3)).view(32, 9)
    assert all(len(set(row)) == 1 for row in rows.tolist())
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.Dropout(1.5)


def test_embedding():
    m = nn.Embedding(4, 2, padding_idx=0)
    assert m.weight[0].tolist() == [0, 0]
    m(ember.tensor([[0, 1], [1, 3]])).sum().backward()
    assert m.weight.grad.tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]
    fixed = nn.Embedding.from_pretrained(ember.eye(3))
    assert not fixed.weight.requires_grad
    assert fixed(ember.tensor(1)).tolist() == [0, 1, 0]


def test_layer_norm():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    want = (x - x.mean((1, 2), keepdims=True)) / np.sqrt(
        x.var((1, 2), keepdims=True) + 1e-5
    )
    assert close(nn.LayerNorm((3, 4))(ember.from_numpy(x)), want)
    with pytest.raises(RuntimeError, match="normalized_shape"):
        nn.LayerNorm(5)(ember.ones(2, 3))


def test_one_hot_and_normalize():
    assert F.one_hot(ember.tensor([1]), 3).tolist() == [[0, 1, 0]]
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        F.one_hot(ember.tensor([3]), 3)
    assert close(F.normalize(ember.tensor([[3.0, 4.0]])), [[0.6, 0.8]])


def test_sequential():
    a, b, c = nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 3)
    m = nn.Sequential(a, b, c)
    assert m[0] is a and m[-1] is c and len(m[1:]) == 2
    m.insert(1, nn.Tanh())
    assert [type(x).__name__ for x in m] == ["Linear", "Tanh", "ReLU", "Linear"]
    assert isinstance(m.pop(1), nn.Tanh) and list(m._modules) == ["0", "1", "2"]
    assert len(m + nn.Sequential(b)) == 4 and len(m * 2) == 6
    named = nn.Sequential({"first": a, "second": b})
    assert named.first is a
    with pytest.raises(IndexError):
        m[7]


def test_lists_and_dicts():
    m = nn.ModuleList([nn.ReLU()]).append(nn.Tanh())
    m.insert(0, nn.Identity())
    assert len(m) == 3 and len(m[1:]) == 2
    del m[0]
    assert list(m._modules) == ["0", "1"]
    d = nn.ModuleDict([("a", nn.ReLU())])
    d["b"] = nn.Tanh()
    assert list(d) == ["a", "b"] and "a" in d
    p = nn.ParameterList([ember.ones(1), nn.Parameter(ember.zeros(2))])
    assert len(list(p.parameters())) == 2 and p[-1].shape == (2,)
    q = nn.ParameterDict({"w": ember.ones(2)})
    assert isinstance(q["w"], nn.Parameter) and q.pop("w").shape == (2,)
    assert len(q) == 0


def test_init():
    w = ember.empty(50, 80)
    assert close(init.eye_(ember.empty(2, 3)), [[1, 0, 0], [0, 1, 0]])
    init.xavier_uniform_(w)
    assert w.abs().max().item() <= math.sqrt(6 / 130)
    init.trunc_normal_(w, std=2.0, a=-1.0, b=3.0)
    assert w.min().item() >= -1 and w.max().item() <= 3
    q = init.orthogonal_(ember.empty(3, 5), gain=2)
    assert close(q @ q.t(), 4 * np.eye(3))
    init.sparse_(w, 0.1)
    assert (w == 0).sum(0).tolist() == [5] * 80
    assert init.calculate_gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04)
    with pytest.raises(ValueError, match="fewer than 2"):
        init.xavier_normal_(ember.empty(3))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_lazy_batch_norm_takes_its_size_from_the_first_input(rank):
    lazy = getattr(ember.nn, f"LazyBatchNorm{rank}d")()
    x = ember.rand(2, 3, *[4] * rank)
    assert lazy(x).shape == x.shape
    assert type(lazy) is getattr(ember.nn, f"BatchNorm{rank}d")
    plain = type(lazy)(3)
    plain(x)
    assert lazy.running_mean.shape == (3,)
    assert ember.equal(lazy.running_var, plain.running_var)
    assert list(lazy.state_dict()) == list(plain.state_dict())
