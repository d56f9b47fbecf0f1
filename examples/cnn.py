"""A convolutional network that reads handwritten digits, as for MNIST.

    python examples/cnn.py

Trains on four fifths of the 1797 images of 8x8 pixels in examples/data/digits.npz and
prints the accuracy on the rest after every epoch.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import ember
import ember.nn.functional as F
from ember import Tensor, nn


class CNN(nn.Module):
    """Two convolutions, batch norm, pooling, and two linear layers."""

    def __init__(self, width: int = 16, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(2 * width)
        self.hidden = nn.Linear(2 * width * 2 * 2, 4 * width)
        self.dropout = nn.Dropout(0.3)
        self.out = nn.Linear(4 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        x = self.dropout(F.relu(self.hidden(x.flatten(1))))
        return self.out(x)


def load(path: Path) -> tuple[Tensor, Tensor]:
    """Images [N, 1, 8, 8] with values in [-1, 1], and labels."""
    with np.load(path) as file:
        images, labels = file["images"], file["labels"]
    order = np.random.default_rng(0).permutation(len(images))
    pixels = ember.from_numpy(images[order].astype(np.float32)).unsqueeze(1)
    labels = ember.from_numpy(labels[order].astype(np.int64))
    return pixels.to(ember.get_default_dtype()) / 8 - 1, labels


def loss_of(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    images, labels = batch
    return F.cross_entropy(model(images), labels)


def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    model.eval()
    with ember.no_grad():
        right = (model(images).argmax(1) == labels).double().mean()
    model.train()
    return float(right)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    here = Path(__file__).resolve().parent
    parser.add_argument("--data", type=Path, default=here / "data" / "digits.npz")
    args = parser.parse_args()

    ember.manual_seed(args.seed)
    images, labels = load(args.data)
    split = len(images) * 4 // 5
    model = CNN(args.width)
    optimizer = ember.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        batches = ember.randperm(split).split(args.batch_size)
        for rows in batches:
            loss = loss_of(model, (images[rows], labels[rows]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        right = accuracy(model, images[split:], labels[split:])
        print(f"epoch {epoch:3}  loss {total / len(batches):.4f}  test {right:.2%}")


if __name__ == "__main__":
    main()
