"""What happens beside a training loop: the moments, early stopping, the best model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ember
from ember.utils._trainer_ranks import bare

if TYPE_CHECKING:
    from ember.utils.trainer import Trainer


class Callback:
    """Called by a Trainer at the moments its methods name; override what you need."""

    def on_fit_start(self, trainer: Trainer) -> None: ...
    def on_epoch_start(self, trainer: Trainer) -> None: ...
    def on_step_end(self, trainer: Trainer) -> None: ...
    def on_epoch_end(self, trainer: Trainer) -> None: ...
    def on_fit_end(self, trainer: Trainer) -> None: ...

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of this callback."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class _Monitor(Callback):
    """Watches a number of the epochs for improvements."""

    def __init__(self, monitor: str, mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(
                f"{type(self).__name__}: mode must be min or max, got {mode!r}"
            )
        self.monitor, self.sign = monitor, -1 if mode == "max" else 1
        self.best = math.inf

    def improves(self, trainer: Trainer) -> bool:
        """Whether the last epoch is the best so far, which it then counts as."""
        row = trainer.history[-1]
        if self.monitor not in row:
            known = ", ".join(row)
            raise KeyError(f"{type(self).__name__}: no {self.monitor!r} among {known}")
        value = self.sign * row[self.monitor]
        if not value < self.best:
            return False
        self.best = value
        return True


class EarlyStopping(_Monitor):
    """Ends training when `monitor` has not improved for `patience` epochs."""

    def __init__(
        self, monitor: str = "val_loss", patience: int = 3, mode: str = "min"
    ) -> None:
        super().__init__(monitor, mode)
        self.patience, self.waited = patience, 0

    def on_epoch_end(self, trainer: Trainer) -> None:
        self.waited = 0 if self.improves(trainer) else self.waited + 1
        if self.waited >= self.patience:
            trainer.stop = True

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "waited": self.waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best, self.waited = state["best"], state["waited"]


class BestModel(_Monitor):
    """Keeps the weights of the best epoch in `best.pt`, in the trainer's folder.

    With `restore`, the model has them when `fit` is done.
    """

    def __init__(
        self, monitor: str = "val_loss", mode: str = "min", restore: bool = False
    ) -> None:
        super().__init__(monitor, mode)
        self.restore, self.epoch = restore, 0

    def on_epoch_end(self, trainer: Trainer) -> None:
        if self.improves(trainer):
            self.epoch = trainer.epoch
            if trainer.ranks.first:
                state = bare(trainer.model).state_dict()
                ember.save(state, trainer.out / "best.pt")

    def on_fit_end(self, trainer: Trainer) -> None:
        if self.restore and self.epoch:
            state = ember.load(trainer.out / "best.pt", map_location=trainer.device)
            bare(trainer.model).load_state_dict(state)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best, self.epoch = state["best"], state["epoch"]
