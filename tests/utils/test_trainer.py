"""Training with Trainer: logs, resuming, stopping, accumulation."""

import csv
import random

import pytest

import ember
from ember import nn
from ember.utils._progress import save_curves
from ember.utils.data import DataLoader, TensorDataset
from ember.utils.summary import summary
from ember.utils.trainer import BestModel, Callback, EarlyStopping, Trainer

np = pytest.importorskip("numpy")


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


# --- random state ---------------------------------------------------------------------


class Noisy(ember.utils.data.Dataset):
    """Augmentation that draws from Python's, NumPy's and ember's generators."""

    def __init__(self):
        self.x = ember.arange(40.0).view(20, 2) / 40

    def __len__(self):
        return 20

    def __getitem__(self, i):
        shift = random.random() + float(np.random.randn()) + ember.rand(()).item()
        return self.x[i] + shift, self.x[i].sum().view(1)


@pytest.mark.parametrize("crash", [3, 5, 7, 11])
def test_augmentation_goes_on_as_if_nothing_had_happened(tmp_path, crash):
    def run(out, **options):
        ember.manual_seed(1)
        random.seed(1)
        np.random.seed(1)
        model = nn.Linear(2, 1)
        optimizer = ember.optim.SGD(model.parameters(), lr=0.01)
        trainer = Trainer(
            model, optimizer, nn.MSELoss(), out=out, quiet=True, **options
        )
        return trainer, DataLoader(Noisy(), batch_size=5, shuffle=True)

    whole, loader = run(tmp_path / "whole", checkpoint_every=2)
    whole.fit(loader, epochs=3)
    broken, loader = run(
        tmp_path / "broken", checkpoint_every=2, callbacks=[CrashAt(crash)]
    )
    with pytest.raises(Crash):
        broken.fit(loader, epochs=3)
    resumed, loader = run(
        tmp_path / "broken", checkpoint_every=2, callbacks=[CrashAt(-1)]
    )
    random.seed(99)
    np.random.seed(99)
    resumed.fit(loader, epochs=3, resume=True)
    assert whole.losses == resumed.losses
    assert ember.equal(weights(whole), weights(resumed))


# --- schedules, the best model --------------------------------------------------------


def test_plateau_lowers_the_rate(tmp_path):
    trainer, loader = setting(tmp_path, scheduler=None)
    plateau = ember.optim.lr_scheduler.ReduceLROnPlateau
    trainer.optimizer = ember.optim.SGD(trainer.model.parameters(), lr=1e-6)
    trainer.scheduler = plateau(trainer.optimizer, patience=1, threshold=0.5, eps=0)
    history = trainer.fit(loader, 6, validation=loader)
    rates = [row["lr"] for row in history]
    assert rates[0] == 1e-6 and rates[-1] < 1e-6

    trainer.monitor, trainer.epoch = "nothing", 0
    with pytest.raises(KeyError, match=r"no 'nothing' to monitor among .*val_loss"):
        trainer.fit(loader, 1, validation=loader)


def test_best_model_is_kept_and_restored(tmp_path):
    class Spoil(Callback):
        """After epoch 2, the weights get worse and worse."""

        kept: ember.Tensor

        def on_epoch_start(self, trainer):
            if trainer.epoch == 2:
                self.kept = weights(trainer)
                trainer.optimizer.param_groups[0]["lr"] = 0.0
            if trainer.epoch >= 2:
                with ember.no_grad():
                    trainer.model[0].weight.add_(3.0)

    spoil, best = Spoil(), BestModel(restore=True)
    trainer, loader = setting(tmp_path, scheduler=None, callbacks=[spoil, best])
    trainer.fit(loader, 4, validation=loader)
    assert best.epoch == 2
    assert ember.equal(weights(trainer), spoil.kept)
    assert (tmp_path / "best.pt").exists()


# --- batches and losses ---------------------------------------------------------------


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, first, second):
        return self.layer(ember.cat([first, second], 1))


def rows(count=12):
    ember.manual_seed(0)
    a, b = ember.randn(count, 2), ember.randn(count, 2)
    return a, b, (a + b).sum(1, keepdim=True)


def trainer_of(model, loss, out, **options):
    optimizer = ember.optim.Adam(model.parameters(), lr=0.05)
    return Trainer(model, optimizer, loss, out=out, quiet=True, **options)


@pytest.mark.parametrize("form", ["tuple", "dict"])
def test_models_of_several_inputs(tmp_path, form):
    a, b, y = rows()
    if form == "tuple":
        loader = DataLoader(TensorDataset(a, b, y), batch_size=4)
    else:
        items = [{"first": a[i], "second": b[i], "goal": y[i]} for i in range(len(a))]
        loader = DataLoader(items, batch_size=4)
    trainer = trainer_of(Two(), nn.MSELoss(), tmp_path, target="goal")
    history = trainer.fit(loader, 20)
    assert history[-1]["loss"] < history[0]["loss"] / 2
    assert trainer.predict(loader).shape == (12, 1)


def test_dict_without_target_is_named(tmp_path):
    trainer = trainer_of(Two(), nn.MSELoss(), tmp_path)
    with pytest.raises(KeyError, match=r"no 'labels' in a batch with first, second"):
        trainer.fit([{"first": ember.ones(1, 2), "second": ember.ones(1, 2)}], 1)
    with pytest.raises(TypeError, match="this one is a Tensor"):
        trainer.fit([ember.ones(1, 2)], 1)


def test_models_that_bring_their_loss(tmp_path):
    class WithLoss(Two):
        def forward(self, first, second, labels):
            scores = super().forward(first, second)
            return {"loss": nn.functional.mse_loss(scores, labels), "scores": scores}

    a, b, y = rows()
    batch = {"first": a, "second": b, "labels": y}
    history = trainer_of(WithLoss(), None, tmp_path).fit([batch], 10)
    assert history[-1]["loss"] < history[0]["loss"]


def test_several_losses_are_summed_and_logged(tmp_path):
    a, b, y = rows()
    losses = {"square": nn.MSELoss(), "far": lambda out, y: 0.5 * (out - y).abs().max()}
    trainer = trainer_of(Two(), losses, tmp_path)
    (row,) = trainer.fit([(a, b, y)], 1, validation=[(a, b, y)])
    assert row["loss"] == pytest.approx(row["square"] + row["far"])
    assert row["val_loss"] == pytest.approx(row["val_square"] + row["val_far"])


@pytest.mark.parametrize("dtype", [ember.bfloat16, ember.float16])
def test_autocast(tmp_path, dtype):
    seen = []
    a, b, y = rows()
    model = Two()
    model.layer.register_forward_hook(lambda m, args, out: seen.append(out.dtype))
    trainer = trainer_of(
        model, nn.MSELoss(), tmp_path, amp=dtype, accumulate=2, clip_norm=1.0
    )
    history = trainer.fit([(a, b, y)] * 2, 10)
    assert set(seen) == {dtype} and model.layer.weight.dtype is ember.float32
    assert history[-1]["loss"] < history[0]["loss"]
    assert trainer.scaler.is_enabled() == (dtype is ember.float16)
    again = trainer_of(Two(), nn.MSELoss(), tmp_path, amp=dtype)
    again.load(trainer.checkpoint_path)
    assert again.scaler.get_scale() == trainer.scaler.get_scale()


# --- loaders that can't be trained on -------------------------------------------------


def test_empty_and_one_shot_loaders(tmp_path):
    trainer, loader = setting(tmp_path)
    with pytest.raises(ValueError, match="the loader gave no batch"):
        trainer.fit([], 1)
    with pytest.raises(ValueError, match="the validation gave no batch"):
        trainer.evaluate([])
    with pytest.raises(TypeError, match="is a generator, which can be read once"):
        trainer.fit((batch for batch in loader), 2)
    trainer, loader = setting(tmp_path)
    trainer.fit((batch for batch in loader), 1)  # one pass is what it has


def test_resuming_on_other_data_is_noticed(tmp_path):
    broken, loader = setting(tmp_path, checkpoint_every=2, callbacks=[CrashAt(5)])
    with pytest.raises(Crash):
        broken.fit(loader, 1)
    resumed, loader = setting(tmp_path, callbacks=[CrashAt(-1)])
    with pytest.raises(ValueError, match=r"ended after 1 batches.*is it other data"):
        resumed.fit(list(loader)[:1], 1, resume=True)


# --- what is shown --------------------------------------------------------------------


def test_lines_that_are_piped_are_not_broken(tmp_path, capsys):
    metrics = {f"quite_a_long_name_{i}": lambda y, t: (y - t).mean() for i in range(6)}
    trainer, loader = setting(tmp_path, quiet=False, metrics=metrics)
    trainer.fit(loader, 2, validation=loader)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("epoch ") and "val_quite" in line for line in lines)


def test_metrics_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    plain = save_curves(tmp_path / "a.png", [1.0, 0.5], [{"epoch": 1.0, "loss": 0.7}])
    row = {"epoch": 1.0, "loss": 0.7, "accuracy": 0.5, "val_accuracy": 0.4}
    save_curves(tmp_path / "b.png", [1.0, 0.5], [row])
    assert plain

    def height(path):
        return int.from_bytes(path.read_bytes()[20:24], "big")

    assert height(tmp_path / "b.png") > height(tmp_path / "a.png")


def test_summary_of_shared_nested_and_lazy_modules():
    shared = nn.Linear(3, 3)
    model = nn.Sequential(
        shared, nn.Sequential(shared, nn.LSTM(3, 5)), nn.LazyLinear(2)
    )
    model.train()
    model[0].weight.requires_grad_(False)
    text = str(summary(model))
    assert "LazyLinear" in text and "(as before)" in text
    found = summary(model[:2], ember.zeros(4, 3))
    lstm = sum(p.numel() for p in model[1][1].parameters())
    assert found.total_params == 12 + lstm and found.trainable_params == 3 + lstm
    assert [row.name for row in found.rows] == ["", "0", "1", "1.0", "1.1"]
    assert found.rows[-1].output == "[4, 5], [1, 5], [1, 5]"
    assert model.training and model[1][1].training
    assert len(summary(model[:2], depth=1).rows) == 3
    html = found._repr_html_()
    assert html.count("<tr>") == 6 and "LSTM" in html
