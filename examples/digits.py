"""Train a small network to read handwritten digits.

    python examples/digits.py

Reads examples/data/digits.npz (1797 images of 8x8 pixels), trains on four fifths of
them and tests on the rest. Writes runs/digits/loss.png and runs/digits/model.pt, prints
the test accuracy, and fails if that is below what is expected (97 %).
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import ember
from ember import nn
from ember.utils.data import DataLoader, TensorDataset, random_split

HERE = Path(__file__).resolve().parent
EXPECTED = 0.97


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--epochs", type=int, default=30, help="passes over the data")
    parser.add_argument("--batch-size", type=int, default=64, help="images a step")
    parser.add_argument("--lr", type=float, default=2e-3, help="highest learning rate")
    parser.add_argument("--hidden", type=int, default=128, help="width of the network")
    parser.add_argument("--dropout", type=float, default=0.2, help="share dropped")
    parser.add_argument("--seed", type=int, default=0, help="of everything random")
    parser.add_argument(
        "--data", type=Path, default=HERE / "data" / "digits.npz", help="the images"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/digits"), help="where results go"
    )
    parser.add_argument(
        "--expect", type=float, default=EXPECTED, help="test accuracy to reach"
    )
    return parser.parse_args()


def load(path: Path) -> TensorDataset:
    """Images as rows of 64 values in [-1, 1], and their labels."""
    with np.load(path) as file:
        images, labels = file["images"], file["labels"]
    pixels = ember.from_numpy(images.reshape(len(images), -1).astype(np.float32))
    return TensorDataset(pixels / 8 - 1, ember.from_numpy(labels.astype(np.int64)))


def network(hidden: int, dropout: float) -> nn.Module:
    return nn.Sequential(
        nn.Linear(64, hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, 10),
    )


def evaluate(model: nn.Module, loader: DataLoader[Any]) -> tuple[float, float]:
    """Mean loss and accuracy."""
    model.eval()
    total_loss, correct, count = 0.0, 0, 0
    with ember.no_grad():
        for images, labels in loader:
            scores = model(images)
            loss = nn.functional.cross_entropy(scores, labels, reduction="sum")
            total_loss += loss.item()
            correct += (scores.argmax(1) == labels).sum().item()
            count += len(labels)
    return total_loss / count, correct / count


def main() -> int:
    args = arguments()
    console = Console()
    ember.manual_seed(args.seed)

    data = load(args.data)
    train, test = random_split(data, [0.8, 0.2])
    train_loader = DataLoader(train, args.batch_size, shuffle=True)
    test_loader = DataLoader(test, 512)

    model = network(args.hidden, args.dropout)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = ember.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = ember.optim.lr_scheduler.OneCycleLR(
        optimizer, args.lr, epochs=args.epochs, steps_per_epoch=len(train_loader)
    )
    console.print(model, highlight=False)
    weights = sum(p.numel() for p in model.parameters())
    console.print(
        f"{weights} weights, {len(train)} images to train, {len(test)} to test"
    )

    losses: list[float] = []
    means: list[float] = []
    test_losses: list[float] = []
    accuracy = 0.0
    start = time.perf_counter()
    progress = Progress(
        TextColumn("epoch"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.4f}  test {task.fields[accuracy]:.2%}"),
        console=console,
    )
    with progress:
        task = progress.add_task("train", total=args.epochs, loss=0.0, accuracy=0.0)
        for _ in range(args.epochs):
            model.train()
            for images, labels in train_loader:
                loss = loss_fn(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                scheduler.step()
                losses.append(loss.item())
            means.append(float(np.mean(losses[-len(train_loader) :])))
            test_loss, accuracy = evaluate(model, test_loader)
            test_losses.append(test_loss)
            progress.update(task, advance=1, loss=means[-1], accuracy=accuracy)
    seconds = time.perf_counter() - start

    args.out.mkdir(parents=True, exist_ok=True)
    ends = np.arange(1, args.epochs + 1) * len(train_loader)
    figure = Figure(figsize=(9.6, 6), layout="constrained")
    axes = figure.subplots()
    axes.plot(losses, "C0", linewidth=1, alpha=0.3, label="train, each step")
    axes.plot(ends - len(train_loader) / 2, means, "C0", label="train, epoch mean")
    axes.plot(ends, test_losses, "C1", label="test")
    axes.set(title="Handwritten digits", xlabel="step", ylabel="cross-entropy loss")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(args.out / "loss.png")
    ember.save(model.state_dict(), args.out / "model.pt")

    good = accuracy >= args.expect
    console.print(
        f"test accuracy {accuracy:.2%} after {seconds:.1f} s "
        f"(expected at least {args.expect:.0%}): "
        + ("[green]reached[/green]" if good else "[red]not reached[/red]")
    )
    console.print(f"wrote {args.out / 'loss.png'} and {args.out / 'model.pt'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
