"""Training with Trainer: logs, resuming, stopping, accumulation."""

import csv

import pytest

import ember
from ember import nn
from ember.utils.data import DataLoader, TensorDataset
from ember.utils.trainer import Callback, EarlyStopping, Trainer


def setting(out, **options):
    """A small problem with everything random in it: shuffling and dropout."""
    ember.manual_seed(3)
    x = ember.randn(60, 5)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = nn.Sequential(
        nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1)
    )
    optimizer = ember.optim.Adam(model.parameters(), lr=0.01)
    scheduler = ember.optim.lr_scheduler.CosineAnnealingLR(optimizer, 24)
    options = {"quiet": True, "scheduler": scheduler, **options}
    return Trainer(model, optimizer, nn.MSELoss(), out=out, **options), loader


class Crash(Exception):
    pass


class CrashAt(Callback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, trainer):
        if trainer.step == self.step:
            raise Crash


def weights(trainer):
    return ember.cat([p.detach().flatten() for p in trainer.model.parameters()])


@pytest.mark.parametrize("crash", [3, 5, 8, 9, 16, 22])
def test_resumed_training_ends_with_the_same_bits(tmp_path, crash):
    whole, loader = setting(tmp_path / "whole", checkpoint_every=2)
    whole.fit(loader, epochs=3, validation=loader)

    broken, loader = setting(
        tmp_path / "broken", checkpoint_every=2, callbacks=[CrashAt(crash)]
    )
    with pytest.raises(Crash):
        broken.fit(loader, epochs=3, validation=loader)
    resumed, loader = setting(
        tmp_path / "broken", checkpoint_every=2, callbacks=[CrashAt(-1)]
    )
    ember.manual_seed(99)  # what a new process would have
    resumed.fit(loader, epochs=3, validation=loader, resume=True)

    assert ember.equal(weights(whole), weights(resumed))
    assert whole.history == resumed.history
    assert whole.losses == resumed.losses


def test_fit_learns_and_writes_its_logs(tmp_path):
    trainer, loader = setting(
        tmp_path, metrics={"mae": lambda y, t: (y - t).abs().mean()}, tensorboard=True
    )
    history = trainer.fit(loader, epochs=4, validation=loader)
    assert history[-1]["val_loss"] < history[0]["val_loss"]
    with open(tmp_path / "metrics.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["val_mae"]) for row in rows] == [r["val_mae"] for r in history]
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.glob("events.out.tfevents.*"))
    assert trainer.predict(loader).shape == (60, 1)


def test_accumulation_equals_large_batches(tmp_path):
    results = []
    for size, accumulate in ((8, 2), (16, 1)):
        ember.manual_seed(0)
        x = ember.randn(64, 3)
        loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=size)
        model = nn.Linear(3, 1)
        optimizer = ember.optim.SGD(model.parameters(), lr=0.1)
        trainer = Trainer(
            model,
            optimizer,
            nn.MSELoss(),
            accumulate=accumulate,
            out=tmp_path,
            quiet=True,
        )
        trainer.fit(loader, epochs=2)
        results.append(weights(trainer))
    assert ember.allclose(*results, rtol=1e-5, atol=1e-6)


def test_early_stopping(tmp_path):
    stopping = EarlyStopping("val_loss", patience=2)
    trainer, loader = setting(tmp_path, callbacks=[stopping], scheduler=None)
    for group in trainer.optimizer.param_groups:
        group["lr"] = 0.0
    ordered = DataLoader(loader.dataset, batch_size=60)
    history = trainer.fit(loader, epochs=50, validation=ordered)
    assert len(history) == 3

    trainer, loader = setting(tmp_path, callbacks=[EarlyStopping("nothing")])
    with pytest.raises(KeyError, match="nothing"):
        trainer.fit(loader, epochs=1)


def test_clipping_and_a_loss_that_is_not_finite(tmp_path):
    trainer, loader = setting(tmp_path, clip_norm=1e-8, scheduler=None)
    before = weights(trainer)
    trainer.optimizer = ember.optim.SGD(trainer.model.parameters(), lr=1.0)
    trainer.fit(loader, epochs=1)
    assert (weights(trainer) - before).norm() < 1e-6

    trainer, loader = setting(tmp_path)
    trainer.loss = lambda y, t: (y / 0).sum()
    with pytest.raises(RuntimeError, match="loss is"):
        trainer.fit(loader, epochs=1)
