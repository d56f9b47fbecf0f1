"""The programs of examples/ train on the device to the loss curve of the CPU."""

import importlib.util
import io
from pathlib import Path

import pytest

import ember
from ember import nn
from ember.testing import assert_close
from ember.utils.data import DataLoader, TensorDataset
from ember.utils.trainer import Trainer

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = EXAMPLES / "data" / "digits.npz"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cnn():
    program = example("cnn")
    model = program.CNN(8)
    model.dropout.p = 0.0  # random numbers of a device need not be those of the CPU
    images, labels = program.load(DIGITS)
    batches = [(images[i : i + 64], labels[i : i + 64]) for i in range(0, 640, 64)]
    return model, batches, program.loss_of


def gpt():
    program = example("gpt")
    text = ember.tensor(list(Path(__file__).read_bytes()[:4000]))
    model = program.GPT(128, context=16, width=32, layers=2)
    batches = [program.batch_of(text, 16, 4) for _ in range(10)]
    return model, batches, program.loss_of


def lstm():
    program = example("lstm_lm")
    model = program.LSTMModel(len(program.WORDS), 16, 32, dropout=0.0)
    batches = program.batches(program.sentences(300), 10, 10)[:10]
    return model, batches, lambda model, batch: program.loss_of(model, batch)[0]


def train(make, device, rounds=2):
    """The losses, and counters of the device after each round."""
    ember.manual_seed(0)
    model, batches, loss_of = make()
    model.to(device)
    optimizer = ember.optim.Adam(model.parameters(), lr=1e-2)
    losses = ember.zeros(rounds, len(batches), device=device)
    counters = []
    for row in losses:
        for i, batch in enumerate(batches):
            batch = [t.to(device, non_blocking=True) for t in batch]
            loss = loss_of(model, batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            row[i] = loss.detach()  # read later: nothing waits in the loop
        if device == "opencl":
            counters.append(ember.opencl.memory_stats())
    return losses.flatten().tolist(), counters


@pytest.mark.parametrize("make", [cnn, gpt, lstm])
def test_the_curve_is_that_of_the_cpu(make):
    expected, _ = train(make, "cpu")
    actual, _ = train(make, "opencl")
    assert expected[-1] < 0.9 * expected[0]
    assert actual == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("make", [cnn, gpt, lstm])
def test_steady_training_takes_no_memory_and_does_not_wait(make):
    _, counters = train(make, "opencl", rounds=3)
    for name in ("device_allocations", "host_waits", "programs_built"):
        assert counters[2][name] == counters[1][name], name
    assert counters[2]["requests"] > counters[1]["requests"]


def test_a_trainer_on_the_device(tmp_path):
    images, labels = example("cnn").load(DIGITS)
    data = TensorDataset(images[:256], labels[:256])
    results = []
    for device in ("cpu", "opencl"):
        ember.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU())
        model.append(nn.Linear(32, 10)).to(device)
        trainer = Trainer(
            model,
            ember.optim.AdamW(model.parameters(), lr=1e-2),
            nn.CrossEntropyLoss(),
            device=device,
            checkpoint_every=2,
            out=tmp_path / device,
            quiet=True,
        )
        loader = DataLoader(data, batch_size=64, shuffle=True)
        history = trainer.fit(loader, 3)
        results.append([epoch["loss"] for epoch in history])
    assert results[1] == pytest.approx(results[0], rel=1e-3)
    assert results[0][-1] < results[0][0]


def test_optimizers_go_on_from_a_checkpoint_on_another_device():
    ember.manual_seed(0)
    model = nn.Linear(4, 3).to("opencl")
    optimizer = ember.optim.Adam(model.parameters(), lr=0.1)
    x = ember.randn(8, 4)

    def step(model, optimizer, x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    step(model, optimizer, x.to("opencl"))
    file = io.BytesIO()
    ember.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    step(model, optimizer, x.to("opencl"))
    for where in ("cpu", ember.device("opencl"), lambda storage, tag: storage):
        file.seek(0)
        state = ember.load(file, map_location=where)
        device = state["model"]["weight"].device
        again = nn.Linear(4, 3).to(device)
        again.load_state_dict(state["model"])
        other = ember.optim.Adam(again.parameters(), lr=0.1)
        other.load_state_dict(state["optimizer"])
        step(again, other, x.to(device))
        assert_close(again.weight.detach().cpu(), model.weight.detach().cpu())
