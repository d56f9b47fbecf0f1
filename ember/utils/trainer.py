"""A training loop that can stop at any step and go on as if it had not.

>>> import ember, tempfile
>>> from ember import nn
>>> from ember.utils.data import DataLoader, TensorDataset
>>> from ember.utils.trainer import Trainer
>>> x = ember.randn(64, 3)
>>> loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
>>> model = nn.Linear(3, 1)
>>> optimizer = ember.optim.SGD(model.parameters(), lr=0.1)
>>> folder = tempfile.mkdtemp()
>>> trainer = Trainer(model, optimizer, nn.MSELoss(), out=folder, quiet=True)
>>> history = trainer.fit(loader, epochs=2)
>>> len(history)
2
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sized
from pathlib import Path
from typing import Any

import ember
from ember import nn
from ember.utils import _batches
from ember.utils._progress import Progress, write_logs
from ember.utils._random_state import random_state, set_random_state
from ember.utils._trainer_ranks import Ranks, bare, sync
from ember.utils.callbacks import (
    BestModel as BestModel,
    Callback as Callback,
    EarlyStopping as EarlyStopping,
)

Metric = Callable[[Any, Any], Any]
Loss = Callable[[Any, Any], ember.Tensor]
_Plateau = ember.optim.lr_scheduler.ReduceLROnPlateau
_END = object()


class Trainer:
    """Fits a model to the batches of a loader.

    A batch is (inputs, targets), and the loss is `loss(model(inputs), targets)`. Of a
    longer tuple, the last is the targets and all before are inputs; of a dict, the
    entry `target` is, and the others are named inputs. For anything else, override
    `compute_loss`.

    Args:
        loss: a function of (outputs, targets); a dict of them by name, whose sum is
            minimized and whose parts are logged; or None, if the model is called with
            the whole batch and its outputs have a `loss`.
        out: folder for `metrics.csv`, `loss.png` (with matplotlib), TensorBoard events
            and checkpoints.
        metrics: name -> function of (outputs, targets), averaged over a pass.
        scheduler: stepped after each update of the weights, or each epoch if
            `schedule_by="epoch"`; ReduceLROnPlateau each epoch, by `monitor`.
        monitor: what ReduceLROnPlateau looks at: "val_loss" if there is a validation,
            else "loss".
        amp: dtype of autocast; with float16, the loss is scaled.
        accumulate: batches whose gradients are added up before an update.
        clip_norm: the longest that the gradient of all parameters may be.
        checkpoint_every: updates between checkpoints; 0 means after each epoch.
        distributed: train by several processes, each with its part of every batch of
            a `DataLoader`; by default if a launcher (`emberrun`) started this one. The
            first writes the files, and numbers are those of all.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: ember.optim.Optimizer,
        loss: Loss | dict[str, Loss] | None,
        *,
        scheduler: Any = None,
        schedule_by: str = "step",
        monitor: str | None = None,
        metrics: dict[str, Metric] | None = None,
        callbacks: Iterable[Callback] = (),
        accumulate: int = 1,
        clip_norm: float | None = None,
        amp: ember.dtype | None = None,
        target: str = "labels",
        checkpoint_every: int = 0,
        out: str | os.PathLike = "runs/train",
        device: Any = None,
        tensorboard: bool = False,
        quiet: bool = False,
        distributed: bool | None = None,
    ) -> None:
        if accumulate < 1:
            raise ValueError(f"Trainer: accumulate must be positive, got {accumulate}")
        self.ranks = Ranks(distributed)
        self.model = self.ranks.wrapped(model)
        self.optimizer, self.loss = optimizer, loss
        self.scheduler, self.schedule_by = scheduler, schedule_by
        self.monitor, self.amp, self.target = monitor, amp, target
        self.metrics, self.callbacks = dict(metrics or {}), list(callbacks)
        self.accumulate, self.clip_norm = accumulate, clip_norm
        self.checkpoint_every, self.out = checkpoint_every, Path(out)
        self.device, self.tensorboard = device, tensorboard and self.ranks.first
        self.quiet = quiet or not self.ranks.first
        self.epoch = self.step = self.batches_done = 0
        self.stop = False
        self.history: list[dict[str, float]] = []
        self.losses: list[float] = []
        kind = "cpu" if device is None else ember.device(device).type
        self.scaler = ember.amp.GradScaler(kind, enabled=amp is ember.float16)
        self._kind = kind
        self._epoch_rng: dict[str, Any] | None = None
        self._sums: dict[str, float] = {}
        self._pending = 0

    # --- what a subclass may change ---

    def compute_loss(self, batch: Any) -> tuple[Any, Any, Any]:
        """The loss of a batch (or a dict of losses), outputs and targets."""
        if self.loss is None:
            has_names = isinstance(batch, Mapping)
            outputs = self.model(**batch) if has_names else self.model(*batch)
            has_items = isinstance(outputs, Mapping)
            return outputs["loss"] if has_items else outputs.loss, outputs, batch
        args, named, targets = _batches.split(batch, self.target)
        outputs = self.model(*args, **named)
        if isinstance(self.loss, dict):
            losses = {name: f(outputs, targets) for name, f in self.loss.items()}
            return losses, outputs, targets
        return self.loss(outputs, targets), outputs, targets

    # --- fit, evaluate, predict ---

    def fit(
        self,
        loader: Iterable,
        epochs: int,
        validation: Iterable | None = None,
        resume: bool | str = False,
    ) -> list[dict[str, float]]:
        """Train until `epochs` passes are done; returns a row of numbers for each.

        `resume=True` goes on from the checkpoint in `out`, if there is one, exactly
        where it was: same batches, same random numbers, same result.
        """
        self.out.mkdir(parents=True, exist_ok=True)
        if resume and self.checkpoint_path.exists():
            self.load(self.checkpoint_path)
        left = epochs - self.epoch
        _batches.check_reread(loader, "loader", left)
        if validation is not None:
            _batches.check_reread(validation, "validation", left)
        writer = self._tensorboard_writer()
        self._call("on_fit_start")
        with Progress(epochs, self._length(loader), quiet=self.quiet) as progress:
            while self.epoch < epochs and not self.stop:
                self._run_epoch(loader, progress)
                sums = self.ranks.total(self._sums)
                row = {"epoch": float(self.epoch), **self._means(sums)}
                row["lr"] = float(self.optimizer.param_groups[0]["lr"])
                if validation is not None:
                    scores = self.evaluate(validation)
                    row |= {f"val_{name}": value for name, value in scores.items()}
                self.history.append(row)
                self._schedule_epoch(row)
                self._sums, self.batches_done, self._epoch_rng = {}, 0, None
                self._call("on_epoch_end")
                if self.ranks.first:
                    write_logs(self.out, self.history, self.losses, writer)
                progress.epoch_end(row)
                if not self.checkpoint_every or self.stop or self.epoch == epochs:
                    self.save(self.checkpoint_path)
        self._call("on_fit_end")
        if writer is not None:
            writer.close()
        return self.history

    def evaluate(self, loader: Iterable) -> dict[str, float]:
        """Mean loss and metrics, without training."""
        sums: dict[str, float] = {}
        was_training = self.model.training
        self.model.eval()
        with ember.no_grad():
            for batch in self.ranks.share(loader, 0, even=False):
                self._add(sums, *self._forward(batch))
        self.model.train(was_training)
        sums = self.ranks.total(sums)
        if not sums:
            raise _batches.no_batches("validation")
        return self._means(sums)

    def predict(self, loader: Iterable) -> ember.Tensor:
        """The model's outputs for all batches, joined; targets are left out."""
        was_training = self.model.training
        self.model.eval()
        parts = []
        with ember.no_grad():
            for batch in loader:
                batch = _batches.move(batch, self.device)
                args, named = _batches.inputs_of(batch, self.target)
                with self._autocast():
                    parts.append(self.model(*args, **named))
        self.model.train(was_training)
        if not parts:
            raise _batches.no_batches("loader")
        return ember.cat(parts)

    def _run_epoch(self, loader: Iterable, progress: Progress) -> None:
        self.model.train()
        if self._epoch_rng is None:
            self._epoch_rng = random_state()
            resumed_rng = None
        else:
            # The order of the batches was drawn from this state; what came after it is
            # restored once the batches already seen are skipped.
            resumed_rng = random_state()
            set_random_state(self._epoch_rng)
        self._call("on_epoch_start")
        batches = iter(self.ranks.share(loader, self.epoch, even=True))
        for place in range(self.batches_done):
            if next(batches, _END) is _END:
                raise ValueError(
                    f"Trainer: the loader ended after {place} batches, and the "
                    f"checkpoint was written after {self.batches_done}: is it other "
                    "data?"
                )
        if resumed_rng is not None:
            set_random_state(resumed_rng)
        for batch in batches:
            self._train_batch(batch)
            self.batches_done += 1
            progress.batch_end(self.epoch, self.batches_done, self.losses)
            every = self.checkpoint_every
            if every and not self._pending and self.step % every == 0:
                self.save(self.checkpoint_path)
            if self.ranks.any(self.stop):
                self.stop = True
                break
        if not self.batches_done:
            raise _batches.no_batches("loader")
        if self._pending:
            self._update()
        self.epoch += 1

    def _train_batch(self, batch: Any) -> None:
        if not self._pending:
            self.optimizer.zero_grad()
        with sync(self.model, self._pending + 1 == self.accumulate):
            loss, outputs, targets = self._forward(batch)
            total = sum(loss.values()) if isinstance(loss, dict) else loss
            total = total / self.accumulate if self.accumulate > 1 else total
            self.scaler.scale(total).backward()
        self._pending += 1
        value = self._add(self._sums, loss, outputs, targets)
        if not math.isfinite(value):
            raise RuntimeError(f"Trainer: the loss is {value} at step {self.step}")
        self.losses.append(value)
        if self._pending == self.accumulate:
            self._update()
        self._call("on_step_end")

    def _update(self) -> None:
        if self.clip_norm is not None:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self._schedules("step"):
            self.scheduler.step()
        self._pending = 0
        self.step += 1

    def _schedules(self, moment: str) -> bool:
        """Whether the scheduler, one that needs no number, is stepped then."""
        plain = self.scheduler is not None and not isinstance(self.scheduler, _Plateau)
        return plain and self.schedule_by == moment

    def _schedule_epoch(self, row: dict[str, float]) -> None:
        if self._schedules("epoch"):
            self.scheduler.step()
        elif isinstance(self.scheduler, _Plateau):
            name = self.monitor or ("val_loss" if "val_loss" in row else "loss")
            if name not in row:
                known = ", ".join(row)
                raise KeyError(f"Trainer: no {name!r} to monitor among {known}")
            self.scheduler.step(row[name])

    def _forward(self, batch: Any) -> tuple[Any, Any, Any]:
        with self._autocast():
            return self.compute_loss(_batches.move(batch, self.device))

    def _autocast(self) -> Any:
        return ember.autocast(self._kind, self.amp, enabled=self.amp is not None)

    # --- checkpoints ---

    @property
    def checkpoint_path(self) -> Path:
        return self.out / "checkpoint.pt"

    def state_dict(self) -> dict[str, Any]:
        """All that decides how training goes on."""
        counters = ("epoch", "step", "batches_done", "history", "losses", "_sums")
        scheduler = self.scheduler.state_dict() if self.scheduler is not None else None
        return {
            "model": bare(self.model).state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": scheduler,
            "callbacks": [callback.state_dict() for callback in self.callbacks],
            "counters": {name: getattr(self, name) for name in counters},
            "scaler": self.scaler.state_dict(),
            "rng": random_state(),
            "epoch_rng": self._epoch_rng,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict()`."""
        bare(self.model).load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        for callback, kept in zip(self.callbacks, state["callbacks"], strict=True):
            callback.load_state_dict(kept)
        for name, value in state["counters"].items():
            setattr(self, name, value)
        self.scaler.load_state_dict(state["scaler"])
        self._epoch_rng = state["epoch_rng"]
        set_random_state(state["rng"])

    def save(self, path: str | os.PathLike) -> None:
        """Write a checkpoint; a crash meanwhile leaves the old one whole."""
        state = self.state_dict()
        if self.ranks.first:
            ember.save(state, path)
        self.ranks.barrier()

    def load(self, path: str | os.PathLike) -> None:
        """Go on from a checkpoint."""
        self.load_state_dict(ember.load(path, map_location=self.device))

    # --- small things ---

    def _call(self, moment: str) -> None:
        for callback in self.callbacks:
            getattr(callback, moment)(self)

    def _add(
        self, sums: dict[str, float], loss: Any, outputs: Any, targets: Any
    ) -> float:
        """Count a batch in; returns its loss."""
        count = _batches.count_of(targets, outputs)
        parts = {}
        if isinstance(loss, dict):
            parts = {name: float(part.detach()) for name, part in loss.items()}
        numbers = {"loss": sum(parts.values()) if parts else float(loss.detach())}
        numbers |= parts
        for name, metric in self.metrics.items():
            with ember.no_grad():
                numbers[name] = float(metric(outputs, targets))
        for name, number in numbers.items():
            sums[name] = sums.get(name, 0.0) + number * count
        sums["count"] = sums.get("count", 0.0) + count
        return numbers["loss"]

    @staticmethod
    def _means(sums: dict[str, float]) -> dict[str, float]:
        count = sums.get("count", 0.0)
        return {k: v / count for k, v in sums.items() if k != "count"} if count else {}

    @staticmethod
    def _length(loader: Iterable) -> int | None:
        return len(loader) if isinstance(loader, Sized) else None

    def _tensorboard_writer(self) -> Any:
        if not self.tensorboard:
            return None
        from ember.utils.tensorboard import SummaryWriter

        return SummaryWriter(self.out)
