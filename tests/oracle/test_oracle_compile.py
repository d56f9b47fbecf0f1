"""`ember.compile` beside torch.compile: arguments, modules, and what compiled programs
give. torch runs op by op (backend "eager"), as it takes minutes to compile."""

import importlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")


def libraries():
    return [importlib.import_module(name) for name in ("torch", "ember")]


def outcome(call):
    """What a call gives, or the kind of its error and what it says."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


def double(x):
    return x * 2


@pytest.mark.parametrize(
    "given",
    [
        {"backend": "fast"},
        {"mode": "fastest"},
        {"mode": "default", "options": {}},
        {"options": {"max_autotune": "yes"}},
    ],
)
def test_errors(given):
    theirs, ours = (
        outcome(lambda t=t: t.compile(double, **given)) for t in libraries()
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "given", [{"options": {"speed": 1}}, {"dynamic": 3}, {"speed": 1}]
)
def test_kinds_of_errors(given):
    theirs, ours = (
        outcome(lambda t=t: t.compile(double, **given)) for t in libraries()
    )
    assert ours[0] == theirs[0]


@pytest.mark.parametrize("model", [3, "text"])
def test_what_is_not_called(model):
    theirs, ours = (outcome(lambda t=t: t.compile(model)) for t in libraries())
    assert ours == theirs


def test_modules():
    found = []
    for t in libraries():
        model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.BatchNorm1d(4))
        compiled = t.compile(model, backend="eager")
        compiled.eval()
        compiled.extra = 1
        inplace = t.nn.Linear(2, 2)
        found.append(
            (
                str(compiled),
                list(compiled.state_dict()),
                [name for name, _ in compiled.named_parameters()],
                len(compiled),
                (model.training, model.extra, compiled.extra),
                outcome(lambda c=compiled: c.missing),
                type(compiled).__name__,
                inplace.compile(backend="eager"),
                list(inplace.state_dict()),
            )
        )
    assert found[1] == found[0]


def test_names():
    theirs, ours = libraries()
    assert set(theirs.compiler.__all__) <= {*ours.compiler.__all__, "config"}
    assert hasattr(ours.compiler, "config")


PROGRAMS = {
    "branch": lambda t, x: x.exp() if x.sum() > 0 else x * 2 - 1,
    "item": lambda t, x: x * x.max().item(),
    "index": lambda t, x: (x * 2)[x > 0],
    "in place": lambda t, x: x.mul_(2).add_(1)[10:20].clone(),
    "list": lambda t, x: [x.sin(), (x.cos() * 2).tolist()[:3]],
    "loss": lambda t, x: ((x - x.mean()) ** 2).mean().sqrt(),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("sign", [1, -1])
def test_programs(name, sign):
    numbers = sign * np.linspace(-1, 2, 5000, dtype="float32")
    found = []
    for t in libraries():
        f = t.compile(
            lambda x, t=t: PROGRAMS[name](t, x),
            backend="eager" if t is torch else "inductor",
        )
        results = []
        for _ in range(3):
            out = f(t.tensor(numbers))
            parts = out if isinstance(out, list) else [out]
            results += [
                p.numpy() if hasattr(p, "numpy") else np.array(p) for p in parts
            ]
        found.append(results)
    for ours, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)
