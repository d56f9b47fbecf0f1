"""Train with `Trainer`: interrupt it at any moment, run it again, get the same weights.

    python examples/trainer.py --epochs 5
    (Ctrl-C, kill -9, a power cut ...)
    python examples/trainer.py --epochs 5      goes on where the last checkpoint was

Writes runs/trainer/: checkpoint.pt, metrics.csv, loss.png and TensorBoard's events.
"""

import argparse
from pathlib import Path

import numpy as np

import ember
from ember import nn
from ember.utils.data import DataLoader, TensorDataset, random_split
from ember.utils.trainer import EarlyStopping, Trainer

HERE = Path(__file__).resolve().parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10, help="passes over the data")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/trainer"), help="results"
    )
    parser.add_argument("--every", type=int, default=5, help="steps per checkpoint")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args()


def load(path: Path) -> TensorDataset:
    with np.load(path) as file:
        images, labels = file["images"], file["labels"]
    pixels = ember.from_numpy(images.astype(np.float32)).unsqueeze(1) / 8 - 1
    return TensorDataset(pixels, ember.from_numpy(labels.astype(np.int64)))


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(16 * 4 * 4, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def accuracy(scores: ember.Tensor, labels: ember.Tensor) -> ember.Tensor:
    return (scores.argmax(1) == labels).float().mean()


def main() -> None:
    args = arguments()
    ember.manual_seed(0)
    train, test = random_split(load(HERE / "data" / "digits.npz"), [0.8, 0.2])
    train_loader = DataLoader(train, batch_size=64, shuffle=True)
    test_loader = DataLoader(test, batch_size=256)
    model = network()
    optimizer = ember.optim.AdamW(model.parameters(), lr=2e-3)
    steps = args.epochs * len(train_loader)
    schedule = ember.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    trainer = Trainer(
        model,
        optimizer,
        nn.CrossEntropyLoss(label_smoothing=0.05),
        scheduler=schedule,
        metrics={"accuracy": accuracy},
        callbacks=[EarlyStopping("val_loss", patience=5)],
        clip_norm=1.0,
        checkpoint_every=args.every,
        out=args.out,
        tensorboard=True,
        quiet=args.quiet,
    )
    history = trainer.fit(train_loader, args.epochs, test_loader, resume=True)
    ember.save(model.state_dict(), args.out / "model.pt")
    print(f"test accuracy {history[-1]['val_accuracy']:.4f} after {trainer.step} steps")


if __name__ == "__main__":
    main()
