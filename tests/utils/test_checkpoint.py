"""Checkpoints: the same gradients with less kept."""

import pytest

import ember
from ember import nn
from ember.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

BOTH = pytest.mark.parametrize("reentrant", [True, False])


@pytest.fixture
def model():
    ember.manual_seed(0)
    layers = nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 2)
    return nn.Sequential(*layers)


def gradients(model, run):
    model.zero_grad()
    ember.manual_seed(1)
    x = ember.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
    run(x).pow(2).sum().backward()
    return [x.grad, *(p.grad for p in model.parameters())]


def same(a, b):
    return all(ember.allclose(x, y) for x, y in zip(a, b, strict=True))


@BOTH
def test_gradients_and_random_numbers(model, reentrant):
    plain = gradients(model, model)
    kept = gradients(model, lambda x: checkpoint(model, x, use_reentrant=reentrant))
    assert same(plain, kept)

    def parts(x):
        return checkpoint_sequential(model, 2, x, use_reentrant=reentrant)

    assert same(plain, gradients(model, parts))


@BOTH
def test_nested(reentrant):
    x = ember.tensor([0.5], requires_grad=True)

    def inner(x):
        return (x * x).exp()

    def outer(x):
        return checkpoint(inner, x, use_reentrant=reentrant).sin()

    checkpoint(outer, x, use_reentrant=reentrant).backward()
    got, x.grad = x.grad, None
    inner(x).sin().backward()
    assert ember.allclose(got, x.grad)


def test_runs_again_only_when_needed():
    calls = []

    def f(x):
        calls.append(1)
        return x.exp().exp()

    x = ember.ones(2, requires_grad=True)
    y = checkpoint(f, x, use_reentrant=False).sum()
    assert len(calls) == 1
    y.backward(retain_graph=True)
    assert len(calls) == 2
    y.backward()
    assert len(calls) == 3
    with ember.no_grad():
        checkpoint(f, x, use_reentrant=False)
    assert len(calls) == 4


def test_stops_early():
    reached = []

    def f(x):
        y = x.exp()
        reached.append("before")
        z = y + 1
        reached.append("after")
        return z

    x = ember.ones(2, requires_grad=True)
    checkpoint(f, x, use_reentrant=False).sum().backward()
    assert reached.count("after") == 1
    with set_checkpoint_early_stop(False):
        y = checkpoint(f, x, use_reentrant=False)
    y.sum().backward()
    assert reached.count("after") == 3


def test_second_derivatives_and_keywords():
    x = ember.tensor([2.0], requires_grad=True)
    y = checkpoint(lambda x, *, k: (x * 2) ** k, x, k=3, use_reentrant=False)
    (g,) = ember.autograd.grad(y, x, create_graph=True)
    (h,) = ember.autograd.grad(g, x)
    assert g.item() == 96.0 and h.item() == 96.0
    with pytest.raises(ValueError, match="Unexpected keyword"):
        checkpoint(lambda x: x, x, k=3, use_reentrant=True)


def test_a_function_that_differs_the_second_time():
    calls = []

    def f(x):
        calls.append(1)
        return x.exp() if len(calls) == 1 else x.sum().exp()

    x = ember.ones(2, requires_grad=True)
    with pytest.raises(CheckpointError, match="metadata"):
        checkpoint(f, x, use_reentrant=False).sum().backward()
    calls.clear()
    g = lambda x: x.exp() if not calls.append(1) and len(calls) == 1 else x + 1  # noqa: E731
    with pytest.raises(CheckpointError, match="number of tensors"):
        checkpoint(g, x, use_reentrant=False).sum().backward()


def test_warnings():
    x = ember.ones(1)
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoint(lambda x: x, x.requires_grad_())
    with pytest.warns(UserWarning, match="requires_grad=True"):
        checkpoint(lambda x: x * 2, x.detach(), use_reentrant=True)


def test_autocast_is_as_it_was():
    x = ember.randn(2, 2, requires_grad=True)
    seen = []

    def f(x):
        seen.append((x @ x).dtype)
        return x @ x

    with ember.autocast("cpu"):
        y = checkpoint(f, x, use_reentrant=False)
    y.sum().backward()
    assert seen == [ember.bfloat16, ember.bfloat16]


def test_selective_checkpoints_keep_what_they_are_told_to():
    from functools import partial

    from ember.utils.checkpoint import (
        CheckpointPolicy,
        checkpoint,
        create_selective_checkpoint_contexts,
    )

    runs = {"mm": 0, "tanh": 0}

    class Count(ember.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            name = getattr(func, "__name__", "")
            if name in runs:
                runs[name] += 1
            return func(*args, **(kwargs or {}))

    w = ember.randn(4, 4, requires_grad=True, dtype=ember.float64)

    def block(x):
        return ember.mm(x, w).tanh().mm(w).tanh()

    x = ember.randn(3, 4, requires_grad=True, dtype=ember.float64)
    wanted = ember.autograd.grad(block(x).sum(), (x, w))

    def policy(context, op, *args, **kwargs):
        saves = getattr(op, "__name__", "") == "mm"
        return CheckpointPolicy.MUST_SAVE if saves else CheckpointPolicy.MUST_RECOMPUTE

    context = partial(create_selective_checkpoint_contexts, policy)
    with Count():
        y = checkpoint(block, x, use_reentrant=False, context_fn=context).sum()
        assert runs == {"mm": 2, "tanh": 2}
        found = ember.autograd.grad(y, (x, w))
    assert runs["mm"] == 2
    assert runs["tanh"] > 2
    for a, b in zip(found, wanted, strict=True):
        assert ember.allclose(a, b)
    with pytest.raises(TypeError, match="expected ops"):
        create_selective_checkpoint_contexts([1])


def test_passes_of_a_group_share_one_run():
    from ember.utils.checkpoint import CheckpointError, GraphExecGroup

    runs = []

    def function(x):
        runs.append(1)
        return x.sin().exp(), x.cos().exp()

    x = ember.ones(3, requires_grad=True)
    a, b = checkpoint(function, x, use_reentrant=False)
    with GraphExecGroup():
        a.sum().backward(retain_graph=True)
        b.sum().backward(retain_graph=True)
        assert len(runs) == 2
        with pytest.raises(CheckpointError, match="must not overlap"):
            a.sum().backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="cannot be nested"):
            GraphExecGroup().__enter__()
    got = x.grad.clone()
    x.grad = None
    a, b = function(x)
    (a.sum() + b.sum()).backward()
    assert ember.allclose(got, x.grad)
    a, b = checkpoint(function, x, use_reentrant=False)
    for _ in range(2):  # without a group, as often as one likes
        a.sum().backward(retain_graph=True)
