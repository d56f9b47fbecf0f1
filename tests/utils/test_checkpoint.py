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

    class Count(ember.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
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
    with pytest.raises(ValueError, match="Expected op in"):
        create_selective_checkpoint_contexts([1])
    with pytest.raises(TypeError, match="either a function or a list"):
        create_selective_checkpoint_contexts(2)


@pytest.mark.parametrize("op", ["mm", "addmm", "linear"])
def test_selective_checkpoints_know_ops_by_the_names_of_pytorch(op):
    from functools import partial

    from ember.utils.checkpoint import create_selective_checkpoint_contexts

    calls = []

    class Count(ember.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return func(*args, **(kwargs or {}))

    layer = ember.nn.Linear(3, 3)
    chosen = [getattr(ember.ops.aten, op).default]
    for policy in (chosen, lambda context, op, *args, **kwargs: op in chosen):
        keep = partial(create_selective_checkpoint_contexts, policy)
        calls.clear()
        with Count():
            y = checkpoint(
                lambda x: layer(x).tanh().exp(),
                ember.randn(2, 3),
                use_reentrant=False,
                context_fn=keep,
            )
            y.sum().backward()
        assert (calls.count("linear"), calls.count("tanh")) == (1, 2)


def test_a_kept_result_that_was_changed_is_noticed():
    from functools import partial

    from ember.utils.checkpoint import create_selective_checkpoint_contexts

    def function(x):
        return x.sin().mul_(2).cos().exp()

    def run(**options):
        keep = partial(
            create_selective_checkpoint_contexts, [ember.ops.aten.sin], **options
        )
        x = ember.randn(3, requires_grad=True)
        checkpoint(function, x, use_reentrant=False, context_fn=keep).sum().backward()

    with pytest.raises(RuntimeError, match="has been mutated"):
        run()
    run(allow_cache_entry_mutation=True)


# Ops of which several rules, or the rule of several inputs, need the same tensor.
SHARED = {
    "div": lambda x, y: x.exp() / y.exp(),
    "atan2": lambda x, y: ember.atan2(x.exp(), y.exp()),
    "hypot": lambda x, y: ember.hypot(x.exp(), y.exp()),
    "pow": lambda x, y: x.exp() ** y.exp(),
    "addcdiv": lambda x, y: ember.addcdiv(x, x.exp(), y.exp()),
    "matmul": lambda x, y: x.exp() @ y.exp(),
    "layer_norm": lambda x, y: ember.nn.functional.layer_norm(
        x.exp(), (3,), y[0].exp()
    ),
    "softmax": lambda x, y: (x.exp() * y.exp()).softmax(0),
    "bilinear": lambda x, y: ember.nn.functional.bilinear(
        x.exp(), y.exp(), (x * y).exp().reshape(1, 3, 3)
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_several_rules_need_is_computed_again_once(name):
    runs = []

    def function(x, y):
        runs.append(1)
        return SHARED[name](x, y)

    x = ember.randn(3, 3, requires_grad=True, dtype=ember.float64)
    y = ember.rand(3, 3, requires_grad=True, dtype=ember.float64)
    wanted = ember.autograd.grad(SHARED[name](x, y).sum(), (x, y))
    out = checkpoint(function, x, y, use_reentrant=False)
    for _ in range(2):
        runs.clear()
        found = ember.autograd.grad(out.sum(), (x, y), retain_graph=True)
        assert len(runs) == 1
        for a, b in zip(found, wanted, strict=True):
            assert ember.equal(a, b)


def test_a_context_that_hides_an_error_is_refused():
    import contextlib

    class Hides(contextlib.nullcontext):
        def __exit__(self, *error):
            return True

    def fails(x):
        raise ValueError("no")

    with pytest.raises(RuntimeError, match="context_fn suppressed"):
        checkpoint(
            fails,
            ember.ones(1, requires_grad=True),
            use_reentrant=False,
            context_fn=lambda: (Hides(), contextlib.nullcontext()),
        )


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
