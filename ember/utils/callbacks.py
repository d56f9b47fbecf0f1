"""What happens beside a training loop: the moments, and early stopping."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

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


class EarlyStopping(Callback):
    """Ends training when `monitor` has not improved for `patience` epochs."""

    def __init__(
        self, monitor: str = "val_loss", patience: int = 3, mode: str = "min"
    ) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"EarlyStopping: mode must be min or max, got {mode!r}")
        self.monitor, self.patience, self.sign = (
            monitor,
            patience,
            (-1) ** (mode == "max"),
        )
        self.best, self.waited = math.inf, 0

    def on_epoch_end(self, trainer: Trainer) -> None:
        row = trainer.history[-1]
        if self.monitor not in row:
            known = ", ".join(row)
            raise KeyError(f"EarlyStopping: no {self.monitor!r} among {known}")
        value = self.sign * row[self.monitor]
        self.waited = 0 if value < self.best else self.waited + 1
        self.best = min(self.best, value)
        if self.waited >= self.patience:
            trainer.stop = True

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "waited": self.waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best, self.waited = state["best"], state["waited"]
