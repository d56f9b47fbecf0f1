"""The models of examples/ train to the same losses with ember and with torch.

Each example is loaded twice from one file: as it is, and with torch under the name of
ember. Both make the model, the data and every random number from the same seed and
train for 200 steps in float64, where the curves have no reason to differ by more than
rounding.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path

import numpy as np
import pytest

import ember

torch = pytest.importorskip("torch")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
STEPS = 200


def load(name: str, library):
    """The module of an example, `library` in place of ember."""
    names = {"ember": library, "ember.nn": library.nn}
    names["ember.nn.functional"] = library.nn.functional
    before = {key: sys.modules.get(key) for key in names}
    spec = importlib.util.spec_from_file_location(f"example_{name}", path(name))
    module = importlib.util.module_from_spec(spec)
    sys.modules.update(names)
    try:
        spec.loader.exec_module(module)
    finally:
        for key, value in before.items():
            if value is None:
                del sys.modules[key]
            else:
                sys.modules[key] = value
    return module


def path(name: str) -> Path:
    return EXAMPLES / f"{name}.py"


# --- for each example: a model, and the loss of step i --------------------------------


def cnn(m, lib):
    images, labels = m.load(EXAMPLES / "data" / "digits.npz")
    rows = lib.arange(len(images)).split(16)
    model = m.CNN(4)
    return model, lambda i: m.loss_of(
        model, (images[rows[i % 64]], labels[rows[i % 64]])
    )


def resnet(m, lib):
    model = m.ResNet([1, 1, 1, 1], classes=5, width=4)
    # Large enough that batch norm is well conditioned, or rounding would grow.
    data = [(lib.randn(6, 3, 48, 48), lib.randint(5, (6,))) for _ in range(4)]
    return model, lambda i: m.loss_of(model, data[i % 4])


def gpt(m, lib, dropout=0.1):
    text = lib.randint(20, (500,))
    model = m.GPT(20, context=12, width=16, layers=2, heads=2, dropout=dropout)
    return model, lambda i: m.loss_of(model, m.batch_of(text, 12, 4))


def lstm_lm(m, lib):
    pieces = m.batches(m.sentences(150), columns=4, length=10)
    model = m.LSTMModel(len(m.WORDS), width=8, hidden=12)
    kept = {"state": None}

    def loss(i):
        made, kept["state"] = m.loss_of(model, pieces[i % len(pieces)], kept["state"])
        return made

    return model, loss


def vae(m, lib):
    images = m.load(EXAMPLES / "data" / "digits.npz")
    model = m.VAE(hidden=24, code=4)
    return model, lambda i: m.loss_of(
        model, images[16 * (i % 100) : 16 * (i % 100) + 16]
    )


def dqn(m, lib):
    cart, pick, memory = m.CartPole(1), random.Random(2), []
    state = cart.reset()
    for _ in range(300):
        action = pick.randrange(2)
        following, fallen = cart.step(action)
        memory.append((state, action, following, fallen))
        state = cart.reset() if fallen else following
    model, target = m.QNetwork(16), m.QNetwork(16)
    target.load_state_dict(model.state_dict())
    return model, lambda i: m.loss_of(model, target, m.batch_of(memory, 16, pick))


def seq2seq(m, lib):
    model = m.Seq2Seq(width=8)
    return model, lambda i: m.loss_of(model, m.batch_of(4, 5))


def sgd(lib, p):
    return lib.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True)


RUNS = {
    "cnn-sgd": (cnn, sgd, None),
    "cnn-adam": (cnn, lambda lib, p: lib.optim.Adam(p, lr=3e-3), None),
    "resnet-sgd": (resnet, lambda lib, p: lib.optim.SGD(p, lr=3e-3), None),
    "gpt-adamw": (gpt, lambda lib, p: lib.optim.AdamW(p, lr=3e-3), 1.0),
    "gpt-nadam": (gpt, lambda lib, p: lib.optim.NAdam(p, lr=2e-3), 1.0),
    "lstm-adam": (lstm_lm, lambda lib, p: lib.optim.Adam(p, lr=3e-3), 0.5),
    "lstm-rmsprop": (lstm_lm, lambda lib, p: lib.optim.RMSprop(p, lr=1e-3), 0.5),
    "vae-adam": (vae, lambda lib, p: lib.optim.Adam(p, lr=2e-3), None),
    "dqn-adagrad": (dqn, lambda lib, p: lib.optim.Adagrad(p, lr=1e-2), None),
    "seq2seq-adam": (seq2seq, lambda lib, p: lib.optim.Adam(p, lr=3e-3), 1.0),
}


def curve(run: str, lib) -> np.ndarray:
    make, optimizer_of, clip = RUNS[run]
    before = lib.get_default_dtype()
    threads = lib.get_num_threads()
    lib.set_default_dtype(lib.float64)
    lib.set_num_threads(1)  # the models are tiny
    try:
        lib.manual_seed(0)
        model, loss_at = make(load(make.__name__, lib), lib)
        optimizer = optimizer_of(lib, model.parameters())
        schedule = lib.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
        losses = []
        for i in range(STEPS):
            loss = loss_at(i)
            optimizer.zero_grad()
            loss.backward()
            if clip is not None:
                lib.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        return np.array(losses)
    finally:
        lib.set_default_dtype(before)
        lib.set_num_threads(threads)


@pytest.mark.parametrize("run", RUNS)
def test_losses_are_torchs(run: str) -> None:
    ours, theirs = curve(run, ember), curve(run, torch)
    assert np.isfinite(theirs).all()
    assert theirs[-20:].mean() < theirs[:20].mean()  # it does learn something
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
