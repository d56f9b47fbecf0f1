"""Torch7's modules and criterions against autograd on the same parameters."""

import pickle

import pytest

import ember
from ember import nn as modern
from ember.legacy import nn
from ember.nn import functional as F


def close(a, b):
    assert ember.allclose(a, b, rtol=1e-4, atol=1e-6), (a, b)


MODULES = [
    (nn.Linear(4, 3), (5, 4)),
    (nn.Add(4), (5, 4)),
    (nn.CMul(1, 4), (5, 4)),
    (nn.Cosine(4, 3), (5, 4)),
    (nn.Euclidean(4, 3), (5, 4)),
    (nn.Mul(), (5, 4)),
    (nn.PReLU(), (5, 4)),
    (nn.BatchNormalization(4), (5, 4)),
    (nn.SpatialConvolution(2, 3, 3, 2, 1, 2, 1), (2, 2, 5, 6)),
    (nn.SpatialDilatedConvolution(2, 3, 2, 2, 1, 1, 0, 0, 2, 2), (2, 2, 5, 6)),
    (nn.SpatialFullConvolution(2, 3, 3, 3, 2, 2, 1, 1, 1, 1), (2, 2, 4, 4)),
    (nn.TemporalConvolution(3, 4, 2), (2, 5, 3)),
    (nn.VolumetricConvolution(1, 2, 2, 2, 2), (1, 1, 3, 4, 4)),
    (nn.SpatialMaxPooling(2, 2), (1, 2, 4, 4)),
    (nn.SpatialAveragePooling(2, 2, 2, 2), (1, 2, 4, 4)),
    (nn.LogSoftMax(), (3, 4)),
    (nn.SoftPlus(), (3, 4)),
    (nn.HardTanh(-0.5, 0.5), (3, 4)),
    (nn.Normalize(), (3, 4)),
    (nn.Padding(1, 2), (3, 4)),
    (nn.Padding(1, -2), (3, 4)),
    (nn.Transpose((0, 1)), (3, 4)),
    (nn.Reshape(2, 2), (3, 4)),
    (nn.View(2, 6), (3, 4)),
    (nn.Replicate(3, 1), (2, 2)),
    (nn.Sum(1), (3, 4)),
    (nn.Max(1), (3, 4)),
    (nn.Bottle(nn.Linear(4, 2)), (2, 3, 4)),
    (nn.Concat(1).add(nn.Linear(4, 2)).add(nn.Linear(4, 3)), (5, 4)),
    (
        nn.DepthConcat(1)
        .add(nn.SpatialConvolution(1, 2, 3, 3))
        .add(nn.SpatialConvolution(1, 1, 1, 1)),
        (2, 1, 5, 5),
    ),
    (nn.Parallel(0, 0).add(nn.Linear(4, 2)).add(nn.Linear(4, 3)), (2, 4)),
    (nn.Sequential().add(nn.Linear(4, 3)).add(nn.Tanh()).add(nn.Linear(3, 2)), (5, 4)),
]


@pytest.mark.parametrize("module, shape", MODULES, ids=lambda m: type(m).__name__)
def test_gradients_are_those_of_finite_differences(module, shape):
    module = module.clone().double()
    ember.manual_seed(0)
    x = ember.randn(shape, dtype=ember.float64)
    y = module.forward(x)
    g = ember.randn_like(y)
    module.zeroGradParameters()
    dx = module.backward(x, g).clone()
    values, grads = module.parameters()
    grads = [grad.clone() for grad in grads]

    def loss():
        return (module.forward(x) * g).sum().item()

    step = 1e-6
    for tensor, grad in [(x, dx), *zip(values, grads, strict=True)]:
        flat, flat_grad = tensor.view(-1), grad.reshape(-1)
        for i in range(0, flat.numel(), max(1, flat.numel() // 5)):
            old = flat[i].item()
            flat[i] = old + step
            above = loss()
            flat[i] = old - step
            below = loss()
            flat[i] = old
            assert flat_grad[i].item() == pytest.approx(
                (above - below) / (2 * step), rel=1e-4, abs=1e-7
            )


def test_gradients_accumulate_with_a_scale():
    layer = nn.Linear(3, 2)
    x, g = ember.randn(4, 3), ember.randn(4, 2)
    layer.forward(x)
    layer.zeroGradParameters()
    layer.accGradParameters(x, g, 1.0)
    once = layer.gradWeight.clone()
    layer.accGradParameters(x, g, 0.5)
    close(layer.gradWeight, 1.5 * once)
    before = layer.weight.clone()
    layer.updateParameters(0.1)
    close(layer.weight, before - 0.15 * once)
    with pytest.raises(RuntimeError, match="forward"):
        nn.Linear(2, 2).updateGradInput(x, g)


def test_one_vector_of_parameters():
    model = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Linear(2, 1))
    x = ember.randn(5, 3)
    before = model.forward(x).clone()
    parameters, gradients = model.flattenParameters()
    assert parameters.shape == gradients.shape == (11,)
    close(model.forward(x), before)
    model.zeroGradParameters()
    model.backward(x, ember.ones(5, 1))
    assert gradients.norm() > 0
    parameters.zero_()
    close(model.forward(x), ember.zeros(5, 1))


def test_tables():
    a, b = ember.randn(3, 4), ember.randn(3, 4)
    close(nn.CAddTable().forward([a, b]), a + b)
    close(nn.CMulTable().forward([a, b]), a * b)
    close(nn.JoinTable(1).forward([a, b]), ember.cat([a, b], 1))
    assert [t.shape for t in nn.SplitTable(0).forward(a)] == [(4,)] * 3
    assert len(nn.FlattenTable().forward([a, [b, [a]]])) == 3
    both = nn.ConcatTable().add(nn.Identity()).add(nn.MulConstant(2.0))
    y = both.forward(a)
    close(
        both.backward(a, [ember.ones_like(a), ember.ones_like(a)]),
        ember.full((3, 4), 3.0),
    )
    close(y[1], 2 * a)
    parallel = nn.ParallelTable().add(nn.Tanh()).add(nn.Sigmoid())
    close(parallel.forward([a, b])[1], b.sigmoid())
    each = nn.MapTable(nn.Linear(4, 2))
    ys = each.forward([a, b])
    close(ys[1], F.linear(b, each.get(0).weight, each.get(0).bias))
    assert len(each.parameters()[0]) == 2
    close(nn.MM().forward([a, b.t().contiguous()]), a @ b.t())


CRITERIONS = [
    (
        nn.MSECriterion(),
        modern.MSELoss(),
        lambda: (ember.randn(4, 3), ember.randn(4, 3)),
    ),
    (
        nn.MSECriterion(False),
        modern.MSELoss(reduction="sum"),
        lambda: (ember.randn(4), ember.randn(4)),
    ),
    (
        nn.ClassNLLCriterion(),
        modern.NLLLoss(),
        lambda: (ember.randn(4, 3).log_softmax(1), ember.tensor([0, 1, 2, 1])),
    ),
    (
        nn.CrossEntropyCriterion(),
        modern.CrossEntropyLoss(),
        lambda: (ember.randn(4, 3), ember.tensor([0, 1, 2, 1])),
    ),
    (nn.AbsCriterion(), modern.L1Loss(), lambda: (ember.randn(4), ember.randn(4))),
    (
        nn.BCECriterion(),
        modern.BCELoss(),
        lambda: (ember.rand(4), ember.tensor([0.0, 1, 1, 0])),
    ),
    (
        nn.MultiMarginCriterion(),
        modern.MultiMarginLoss(),
        lambda: (ember.randn(4, 3), ember.tensor([0, 1, 2, 1])),
    ),
    (
        nn.HingeEmbeddingCriterion(0.5),
        modern.HingeEmbeddingLoss(0.5),
        lambda: (ember.rand(4), ember.tensor([1.0, -1, 1, -1])),
    ),
]


@pytest.mark.parametrize("old, new, inputs", CRITERIONS, ids=lambda c: type(c).__name__)
def test_criterions(old, new, inputs):
    ember.manual_seed(1)
    x, target = inputs()
    x = x.detach().requires_grad_()
    loss = new(x, target)
    loss.backward()
    assert old.forward(x.detach(), target) == pytest.approx(loss.item(), rel=1e-5)
    close(old.backward(x.detach(), target), x.grad)


def test_criterions_together():
    x, t = ember.randn(3), ember.randn(3)
    both = nn.MultiCriterion().add(nn.MSECriterion()).add(nn.AbsCriterion(), 0.5)
    wanted = F.mse_loss(x, t) + 0.5 * F.l1_loss(x, t)
    assert both.forward(x, t) == pytest.approx(wanted.item(), rel=1e-5)
    parallel = nn.ParallelCriterion().add(nn.MSECriterion()).add(nn.MSECriterion(), 2.0)
    wanted = F.mse_loss(x, t) + 2 * F.mse_loss(t, x)
    assert parallel.forward([x, t], [t, x]) == pytest.approx(wanted.item(), rel=1e-5)
    assert [g.shape for g in parallel.backward([x, t], [t, x])] == [(3,), (3,)]
    with pytest.raises(TypeError, match="sizeAverage"):
        nn.MSECriterion(nonsense=1)


def test_training_and_evaluation():
    model = nn.Sequential().add(nn.Dropout(0.5)).add(nn.BatchNormalization(4))
    x = ember.ones(64, 4)
    assert (model.get(0).forward(x) == 0).any()
    model.evaluate()
    close(model.get(0).forward(x), x)
    assert model.training() is model
    assert model.get(1).train


def test_copies_and_files():
    model = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh())
    x = ember.randn(4, 3)
    y = model.forward(x)
    copy = model.clone()
    copy.get(0).weight.zero_()
    close(model.forward(x), y)
    close(pickle.loads(pickle.dumps(model)).forward(x), y)
    assert model.double().forward(x.double()).dtype == ember.float64
    assert [type(m).__name__ for m in model.findModules("Linear")] == ["Linear"]
    assert "Linear(3 -> 2)" in repr(model)
    with pytest.raises(TypeError, match=r"nn\.Power"):
        nn.Power()
