"""Optimizers: they minimize, keep state, save and load it, and run hooks."""

import io
import math

import numpy as np
import pytest

import ember
from ember import optim

ALL = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "Adam": {"lr": 0.3},
    "AdamW": {"lr": 0.3},
    "Adamax": {"lr": 0.3},
    "NAdam": {"lr": 0.3},
    "RAdam": {"lr": 0.3},
    "RMSprop": {"lr": 0.1, "centered": True, "momentum": 0.5},
    "Adagrad": {"lr": 1.0},
    "Adadelta": {"lr": 50.0},
    "ASGD": {"lr": 0.1},
    "Rprop": {"lr": 0.1},
    "Adafactor": {"lr": 0.3},
    "LBFGS": {"line_search_fn": "strong_wolfe"},
}


def problem():
    p = ember.nn.Parameter(ember.tensor([[3.0, -2.0], [0.5, 4.0]]))

    def loss():
        return ((p - 1) ** 2).sum() + (p[0, 0] - p[1, 1]) ** 2

    return p, loss


def run(optimizer, loss, steps):
    def closure():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    return [optimizer.step(closure).item() for _ in range(steps)]


@pytest.mark.parametrize("name", ALL)
def test_minimizes(name):
    p, loss = problem()
    losses = run(getattr(optim, name)([p], **ALL[name]), loss, 60)
    assert losses[-1] < 0.05 * losses[0]


@pytest.mark.parametrize("name", ALL)
def test_state_moves_to_a_new_optimizer(name):
    p, loss = problem()
    first = getattr(optim, name)([p], **ALL[name])
    run(first, loss, 3)
    q, other = problem()
    q.data.copy_(p.data)
    second = getattr(optim, name)([q], **ALL[name])
    buffer = io.BytesIO()
    ember.save(first.state_dict(), buffer)
    buffer.seek(0)
    second.load_state_dict(ember.load(buffer))
    assert run(first, loss, 3) == pytest.approx(run(second, other, 3), rel=1e-5)
    assert p.tolist() == q.tolist()


def test_sgd_by_hand():
    p = ember.nn.Parameter(ember.tensor([1.0]))
    optimizer = optim.SGD([p], lr=0.1, momentum=0.5, weight_decay=0.1)
    for want in (1 - 0.1 * 2.1, 0.79 - 0.1 * (0.5 * 2.1 + 2.079)):
        p.grad = ember.tensor([2.0])
        optimizer.step()
        assert p.item() == pytest.approx(want, rel=1e-6)


def test_adam_by_hand():
    p = ember.nn.Parameter(ember.tensor([1.0], dtype=ember.float64))
    optimizer = optim.Adam([p], lr=0.1)
    m = v = 0.0
    want = 1.0
    for step, g in enumerate([2.0, -1.0, 0.5], 1):
        p.grad = ember.tensor([g], dtype=ember.float64)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        root = math.sqrt(v / (1 - 0.999**step)) + 1e-8
        want -= 0.1 * m / (1 - 0.9**step) / root
        assert p.item() == pytest.approx(want, rel=1e-12)
    assert optimizer.state[p]["step"].item() == 3


def test_groups():
    a, b = (ember.nn.Parameter(ember.ones(1)) for _ in range(2))
    optimizer = optim.SGD([{"params": [a], "lr": 1.0}], lr=0.5)
    optimizer.add_param_group({"params": b})
    a.grad, b.grad = ember.ones(1), ember.ones(1)
    optimizer.step()
    assert (a.item(), b.item()) == (0.0, 0.5)
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [a]})
    saved = optimizer.state_dict()["param_groups"]
    assert [g["params"] for g in saved] == [[0], [1]]


@pytest.mark.parametrize(
    ("make", "kind", "match"),
    [
        (lambda p: optim.SGD([]), ValueError, "empty parameter list"),
        (lambda p: optim.SGD(p), TypeError, "iterable of Tensors or dicts"),
        (lambda p: optim.SGD([p], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda p: optim.SGD([p * 2]), ValueError, "non-leaf"),
        (lambda p: optim.SGD([1]), TypeError, "can only optimize Tensors"),
        (lambda p: optim.Adam([p], betas=(1, 0)), ValueError, "index 0: 1"),
        (lambda p: optim.SGD([p], nesterov=True), ValueError, "Nesterov"),
        (lambda p: optim.Muon([p]), ValueError, "only supports 2D"),
    ],
)
def test_errors(make, kind, match):
    with pytest.raises(kind, match=match):
        make(ember.nn.Parameter(ember.ones(2)))


def test_load_checks_the_shape_of_groups():
    a, b = (ember.nn.Parameter(ember.ones(1)) for _ in range(2))
    with pytest.raises(ValueError, match="doesn't match the size"):
        optim.SGD([a, b]).load_state_dict(optim.SGD([a]).state_dict())


def test_hooks():
    p, seen = ember.nn.Parameter(ember.ones(1)), []
    optimizer = optim.SGD([p], lr=1.0)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("pre"))
    handle = optimizer.register_step_post_hook(lambda *a: seen.append("post"))
    with optim.optimizer.register_optimizer_step_pre_hook(lambda *a: seen.append("g")):
        optimizer.step()
    handle.remove()
    optimizer.step()
    assert seen == ["g", "pre", "post", "pre"]


def test_zero_grad():
    p = ember.nn.Parameter(ember.ones(1))
    optimizer = optim.SGD([p])
    p.grad = ember.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.item() == 0
    optimizer.zero_grad()
    assert p.grad is None


def test_repr():
    text = repr(optim.SGD([ember.nn.Parameter(ember.ones(1))], lr=0.1))
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n")
    assert "    lr: 0.1\n" in text and text.endswith("    weight_decay: 0\n)")


def test_a_step_leaves_the_gradient_mode_alone():
    p = ember.nn.Parameter(ember.ones(1))
    optim.Adam([p]).step()
    assert ember.is_grad_enabled()


def test_muon_steps_are_orthogonal():
    ember.manual_seed(0)
    p = ember.nn.Parameter(ember.zeros(4, 4))
    p.grad = ember.randn(4, 4)
    optim.Muon([p], lr=1.0, weight_decay=0.0).step()
    values = np.linalg.svd(p.detach().numpy(), compute_uv=False)
    assert values.min().item() > 0.4 and values.max().item() < 1.4


def test_hooks_get_the_arguments_of_the_step():
    optimizer = optim.SGD([ember.ones(1, requires_grad=True)], lr=0.1)
    seen = []

    def change(o, args, kwargs):
        seen.append((o, args, kwargs))
        return (o, lambda: 7), kwargs

    optimizer.register_step_pre_hook(change)
    optimizer.register_step_post_hook(lambda *call: seen.append(call))
    assert optimizer.step() == 7
    assert seen[0] == (optimizer, (optimizer,), {})
    assert seen[1][1][0] is optimizer and len(seen[1][1]) == 2


def test_any_method_can_have_the_hooks_of_a_step():
    class Half(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        @optim.Optimizer.profile_hook_step
        def halve(self, by=2):
            return by

    optimizer, seen = Half([ember.ones(1, requires_grad=True)]), []
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(kwargs))
    assert optimizer.halve(by=3) == 3 and seen == [{"by": 3}]


def test_rprop_of_complex_parameters_moves_both_parts():
    p = ember.nn.Parameter(ember.tensor([1 + 2j, 3 - 1j]))
    p.grad = ember.tensor([1 + 1j, 1 - 1j])
    optim.Rprop([p], lr=0.1).step()
    want = [0.9 + 1.9j, 2.9 - 0.9j]
    assert p.detach().tolist() == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW, optim.Adagrad])
def test_fused_steps_follow_the_scale_a_scaler_leaves_to_them(kind):
    def stepped(grad, **scaler):
        p = ember.nn.Parameter(ember.ones(2))
        p.grad = ember.full((2,), grad)
        optimizer = kind([p], lr=0.1, fused=True)
        for name, value in scaler.items():
            setattr(optimizer, name, value)
        optimizer.step()
        return p.tolist(), optimizer.state[p]

    no, yes, scale = ember.tensor(0.0), ember.tensor(1.0), ember.tensor(4.0)
    value, state = stepped(8.0, found_inf=yes, grad_scale=scale)
    assert value == [1, 1] and not state.get("step")
    assert stepped(8.0, found_inf=no, grad_scale=scale)[0] == stepped(2.0)[0]


@pytest.mark.parametrize("dims", [0, 1, 2])
def test_lbfgs_takes_its_rate_as_a_tensor_of_one_element(dims):
    w = ember.tensor([1.0, 2.0], requires_grad=True)
    rate = ember.full((1,) * dims, 0.5)
    optimizer = ember.optim.LBFGS([w], lr=rate)

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    first = float(optimizer.step(closure))
    assert float(closure()) < first


def test_options_may_be_numbers_of_numpy():
    half = np.float32(0.5)
    p = ember.nn.Parameter(ember.ones(3))
    q = ember.nn.Parameter(ember.ones(3))
    for x, number in ((p, half), (q, 0.5)):
        optimizer = ember.optim.RMSprop([x], number, number, momentum=number)
        for _ in range(3):
            x.grad = ember.ones(3)
            optimizer.step()
    assert ember.equal(p, q)
