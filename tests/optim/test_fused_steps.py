"""Fused steps: the same numbers as one tensor at a time, and nothing else changed."""

import numpy as np
import pytest

import ember
from ember import optim

CONFIGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.2}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.2, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.1, "betas": (0.3, 0.6), "eps": 1e-3}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.2, "amsgrad": True}),
    ("RMSprop", {"lr": 0.1}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.2, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.5, "centered": True, "maximize": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.2, "maximize": True}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1, "betas": (0.3, 0.6), "weight_decay": 0.2, "maximize": True}),
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.2, "momentum_decay": 0.1}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.5, 0.99), "weight_decay": 0.2, "maximize": True}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True}),
    ("Adadelta", {"lr": 0.5, "weight_decay": 0.2}),
    ("Adadelta", {"lr": 0.5, "rho": 0.5, "eps": 1e-3, "maximize": True}),
    ("Rprop", {"lr": 0.1}),
    ("Rprop", {"lr": 0.1, "etas": (0.2, 4.0), "step_sizes": (0.05, 0.2)}),
    ("ASGD", {"lr": 0.1, "weight_decay": 0.2}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 2, "maximize": True}),
]
OPS = [name for name in dir(ember._C) if name.startswith("_fused_")]


@pytest.fixture
def calls(monkeypatch):
    """What the fused ops returned."""
    results = []

    def watched(op):
        def call(*args, **kwargs):
            results.append(op(*args, **kwargs))
            return results[-1]

        return call

    for name in OPS:
        monkeypatch.setattr(ember._C, name, watched(getattr(ember._C, name)))
    return results


def train(name, options, params, steps=4, seed=0):
    rng = np.random.default_rng(seed)
    optimizer = getattr(optim, name)(params, **options)
    for _ in range(steps):
        for p in params:
            grad = ember.tensor(rng.normal(size=tuple(p.shape)), dtype=p.dtype)
            p.grad = grad if p.is_contiguous() else grad.t().contiguous().t()
        optimizer.step()
    return optimizer


def parameters(dtype, transposed=False, shapes=((3, 4), (1, 70_000), (5, 1), (0, 2))):
    rng = np.random.default_rng(1)
    made = []
    for shape in shapes:
        values = ember.tensor(rng.normal(size=shape), dtype=dtype)
        if transposed and values.numel() and min(shape) > 1:
            values = values.t().contiguous().t()
        made.append(ember.nn.Parameter(values))
    return made


def test_every_row_is_the_step_of_an_optimizer(calls, monkeypatch):
    """An optimizer above for each row of core/optim_formulas.h."""
    called = []
    for name in OPS:
        op = getattr(ember._C, name)
        monkeypatch.setattr(
            ember._C,
            name,
            lambda *a, op=op, name=name, **k: called.append(name) or op(*a, **k),
        )
    for name, options in CONFIGS:
        train(name, options, parameters(ember.float32, shapes=((2, 2),)), steps=1)
    assert set(called) == set(OPS)
    assert all(calls)


@pytest.mark.parametrize(("name", "options"), CONFIGS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_as_one_by_one(name, options, dtype, calls):
    dtype = getattr(ember, dtype)
    fused, plain = parameters(dtype), parameters(dtype, transposed=True)
    a = train(name, options, fused)
    assert calls and all(calls)
    calls.clear()
    b = train(name, options, plain)
    assert calls and not any(calls)  # the first is not contiguous
    tolerance = 2e-5 if dtype == ember.float32 else 1e-12
    for p, q in zip(fused, plain):
        np.testing.assert_allclose(p.tolist(), q.tolist(), tolerance, tolerance)
        assert a.state[p].keys() == b.state[q].keys()
        for key, value in a.state[p].items():
            other = b.state[q][key].tolist()
            np.testing.assert_allclose(value.tolist(), other, tolerance, tolerance)


@pytest.mark.parametrize(("name", "options"), CONFIGS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(name, options, dtype):
    """Near the result in float64: each step rounds once."""
    exact = parameters(ember.float64, shapes=((3, 4),))
    halves = [ember.nn.Parameter(p.detach().to(getattr(ember, dtype))) for p in exact]
    train(name, options, exact, steps=2)
    train(name, options, halves, steps=2)
    assert halves[0].dtype == getattr(ember, dtype)
    np.testing.assert_allclose(
        halves[0].float().tolist(), exact[0].tolist(), rtol=0.05, atol=0.05
    )


def test_a_parameter_twice_changes_twice(calls):
    p = ember.nn.Parameter(ember.ones(3))
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer = optim.SGD([p, p], lr=0.5)
    p.grad = ember.ones(3)
    optimizer.step()
    assert calls == [False]
    assert p.tolist() == [0.0] * 3


def test_parameters_that_share_memory_go_one_by_one(calls):
    memory = ember.ones(4)
    params = [ember.nn.Parameter(memory[:3]), ember.nn.Parameter(memory[1:])]
    for p in params:
        p.grad = ember.ones(3)
    optim.SGD(params, lr=0.25).step()
    assert calls == [False]
    assert memory.tolist() == [0.75, 0.5, 0.5, 0.75]


def test_neighbours_in_one_memory_are_fused(calls):
    memory = ember.ones(4)
    params = [ember.nn.Parameter(memory[:2]), ember.nn.Parameter(memory[2:])]
    for p in params:
        p.grad = ember.ones(2)
    optim.SGD(params, lr=0.25).step()
    assert calls == [True]
    assert memory.tolist() == [0.75] * 4


def test_a_momentum_that_starts_later():
    """A parameter without a gradient at first gets its buffer when it has one."""
    a, b = (ember.nn.Parameter(ember.zeros(1)) for _ in range(2))
    optimizer = optim.SGD([a, b], lr=1.0, momentum=0.5, dampening=0.5)
    a.grad = ember.ones(1)
    optimizer.step()
    b.grad = ember.ones(1)
    optimizer.step()
    assert (a.item(), b.item()) == (-2.0, -1.0)


def test_a_stale_saved_parameter_is_noticed():
    p = ember.nn.Parameter(ember.ones(2))
    loss = (p * p).sum()
    p.grad = ember.ones(2)
    optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_differentiable_steps_are_recorded(calls):
    start = ember.ones(2, requires_grad=True)
    p = start.clone()
    p.retain_grad()
    p.grad = ember.full((2,), 3.0)
    optimizer = optim.SGD([p], lr=0.5, differentiable=True)
    optimizer.step()
    assert not any(calls)
    (p * p).sum().backward()
    assert start.grad.tolist() == [-1.0, -1.0]


def test_the_meta_device():
    p = ember.nn.Parameter(ember.empty(3, device="meta"))
    p.grad = ember.empty(3, device="meta")
    optimizer = optim.Adam([p])
    optimizer.step()
    assert optimizer.state[p]["exp_avg"].device.type == "meta"


@pytest.mark.parametrize(
    ("name", "key", "options"),
    [("SGD", "momentum_buffer", {"momentum": 0.9}), ("Adam", "exp_avg", {})],
)
def test_state_of_another_shape_is_refused(name, key, options):
    p = ember.nn.Parameter(ember.ones(4))
    p.grad = ember.ones(4)
    optimizer = getattr(optim, name)([p], lr=0.1, **options)
    optimizer.step()
    optimizer.state[p][key] = ember.ones(2, 2)
    with pytest.raises(RuntimeError, match=r"size of tensor|shape|broadcast"):
        optimizer.step()
