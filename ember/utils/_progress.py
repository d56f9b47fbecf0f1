"""What training shows and writes: a progress bar (with `rich` if it is installed, else
plain lines), a table, a loss curve."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from ember._files import replacing


class Progress:
    """Shows epochs, batches and the loss; `quiet` shows nothing."""

    def __init__(self, epochs: int, batches: int | None, quiet: bool = False) -> None:
        self.epochs, self.batches, self.quiet = epochs, batches, quiet
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if not self.quiet:
            self._bar = _rich_bar()
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("", total=self.batches, loss="")
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def batch_end(self, epoch: int, batch: int, losses: list[float]) -> None:
        if self._bar is not None and (batch % 4 == 0 or batch == self.batches):
            recent = losses[-20:]
            mean = sum(recent) / len(recent)
            self._bar.update(
                self._task,
                completed=batch,
                description=f"epoch {epoch + 1}/{self.epochs}",
                loss=f"loss {mean:.4f}",
            )

    def epoch_end(self, row: dict[str, float]) -> None:
        if self.quiet:
            return
        numbers = "  ".join(
            f"{name} {value:.4g}" for name, value in row.items() if name != "epoch"
        )
        text = f"epoch {row['epoch']:.0f}/{self.epochs}  {numbers}"
        if self._bar is not None:
            self._bar.console.print(text, highlight=False)
        else:
            print(text, file=sys.stderr)


def _rich_bar() -> Any:
    try:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )
    except ImportError:
        return None
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[loss]}"),
        TimeRemainingColumn(),
        transient=True,
    )


def write_logs(
    out: Path, history: list[dict[str, float]], losses: list[float], writer: Any
) -> None:
    """metrics.csv, loss.png (with matplotlib) and, with a writer, TensorBoard's scalars."""
    row = history[-1]
    with replacing(out / "metrics.csv", text=True, newline="") as file:
        table = csv.DictWriter(file, fieldnames=list(history[0]))
        table.writeheader()
        table.writerows(history)
    if writer is not None:
        for name, value in row.items():
            writer.add_scalar(name, value, int(row["epoch"]))
        writer.flush()
    validation = [each["val_loss"] for each in history if "val_loss" in each]
    save_losses(out / "loss.png", losses, validation)


def save_losses(path: Path, losses: list[float], validation: list[float]) -> bool:
    """A picture of the loss of each batch, and of the validation's of each epoch; False
    if there is no matplotlib to draw it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(9.6, 6), layout="constrained")
    axes = figure.subplots()
    axes.plot(losses, label="training loss")
    if validation:
        per_epoch = len(losses) / len(validation)
        places = [per_epoch * (i + 1) for i in range(len(validation))]
        axes.plot(places, validation, label="validation loss")
    axes.set(title="Loss", xlabel="batch", ylabel="loss")
    axes.legend()
    axes.grid(alpha=0.3)
    with replacing(path) as file:
        figure.savefig(file, format="png")
    return True


class Bar:
    """Progress of one long action, such as a download, on a line of the terminal.

    It is called as `tqdm` is.
    """

    def __init__(
        self,
        total: float | None = None,
        disable: bool = False,
        unit: str = "",
        **options: Any,
    ) -> None:
        self.total, self.disable, self.unit, self.n = total, disable, unit, 0.0

    def update(self, n: float = 1) -> None:
        if self.disable:
            return
        self.n += n
        done = f"{100 * self.n / self.total:.1f}%" if self.total else f"{self.n:.0f}"
        sys.stderr.write(f"\r{done if self.total else done + self.unit}")
        sys.stderr.flush()

    def set_description(self, text: str | None = None, refresh: bool = True) -> None:
        pass

    def close(self) -> None:
        if not self.disable:
            sys.stderr.write("\n")
        self.disable = True

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
