"""What training shows and writes: a progress bar (on a terminal, with `rich`; else
plain lines), a table, curves."""

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
            self._bar.console.print(text, highlight=False, soft_wrap=True)
        else:  # a file or another program reads: a line for each epoch, unbroken
            print(text, flush=True)


def _rich_bar() -> Any:
    if not sys.stdout.isatty():
        return None
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
    """metrics.csv, loss.png (with matplotlib), with a writer TensorBoard's scalars."""
    row = history[-1]
    with replacing(out / "metrics.csv", text=True, newline="") as file:
        table = csv.DictWriter(file, fieldnames=list(history[0]))
        table.writeheader()
        table.writerows(history)
    if writer is not None:
        for name, value in row.items():
            writer.add_scalar(name, value, int(row["epoch"]))
        writer.flush()
    save_curves(out / "loss.png", losses, history)


def save_curves(
    path: Path, losses: list[float], history: list[dict[str, float]]
) -> bool:
    """A picture: the loss of each batch and the validation's, below it each metric by
    epochs; False if there is no matplotlib to draw it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    own = {"epoch", "lr", "loss"}
    names = {name.removeprefix("val_"): None for row in history for name in row}
    metrics = [name for name in names if name not in own]
    figure = Figure(figsize=(9.6, 5 + 2 * len(metrics)), layout="constrained")
    heights = [5.0, *[2.0] * len(metrics)]
    rows = len(heights)
    axes = figure.subplots(rows, squeeze=False, height_ratios=heights)[:, 0]
    top = axes[0]
    top.plot(losses, "C0", linewidth=1, alpha=0.5, label="each batch")
    ends = [len(losses) * (i + 1) / len(history) for i in range(len(history))]
    for name, color, label in (
        ("loss", "C0", "epoch"),
        ("val_loss", "C1", "validation"),
    ):
        _by_epoch(top, ends, history, name, color, label)
    top.set(title="Loss", xlabel="batch", ylabel="loss")
    top.legend()
    epochs = [row["epoch"] for row in history]
    for name, below in zip(metrics, axes[1:], strict=True):
        _by_epoch(below, epochs, history, name, "C0", "training")
        _by_epoch(below, epochs, history, "val_" + name, "C1", "validation")
        below.set(ylabel=name)
        below.legend()
    if metrics:
        axes[-1].set(xlabel="epoch")
    for each in axes:
        each.grid(alpha=0.3)
    with replacing(path) as file:
        figure.savefig(file, format="png")
    return True


def _by_epoch(
    axes: Any,
    places: list[float],
    history: list[dict[str, float]],
    name: str,
    color: str,
    label: str,
) -> None:
    points = [(x, r[name]) for x, r in zip(places, history, strict=True) if name in r]
    if points:
        axes.plot(*zip(*points, strict=True), color, marker=".", label=label)


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
