"""A variational autoencoder (arXiv:1312.6114) of handwritten digits.

    python examples/vae.py

Learns to draw the digits of examples/data/digits.npz from 8 numbers each, prints the
bound on the likelihood, and draws a few new ones.
"""

import argparse
from pathlib import Path

import numpy as np

import ember
import ember.nn.functional as F
from ember import Tensor, nn


class VAE(nn.Module):
    """Pixels to a normal distribution of codes, and codes back to pixels."""

    def __init__(self, pixels: int = 64, hidden: int = 128, code: int = 8) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, code)
        self.log_var = nn.Linear(hidden, code)
        self.decode = nn.Sequential(
            nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, pixels)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.encode(x)
        mean, log_var = self.mean(h), self.log_var(h)
        code = mean + ember.randn_like(mean) * (0.5 * log_var).exp()
        return self.decode(code), mean, log_var


def loss_of(model: nn.Module, x: Tensor) -> Tensor:
    """The negative bound: error of the pixels plus distance of the codes, an image."""
    scores, mean, log_var = model(x)
    error = F.binary_cross_entropy_with_logits(scores, x, reduction="sum")
    distance: Tensor = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum()
    return (error + distance) / len(x)


def load(path: Path) -> Tensor:
    """Images as rows of 64 values in [0, 1]."""
    with np.load(path) as file:
        images = file["images"].reshape(-1, 64).astype(np.float32)
    return ember.from_numpy(images).to(ember.get_default_dtype()) / 16


def drawing(image: Tensor) -> list[str]:
    shades = " .:-=+*#%@"
    return ["".join(shades[int(v * 9.99)] * 2 for v in row) for row in image.tolist()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    here = Path(__file__).resolve().parent
    parser.add_argument("--data", type=Path, default=here / "data" / "digits.npz")
    args = parser.parse_args()

    ember.manual_seed(args.seed)
    images = load(args.data)
    model = VAE()
    optimizer = ember.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for rows in ember.randperm(len(images)).split(args.batch_size):
            loss = loss_of(model, images[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        if epoch % 5 == 0 or epoch == 1:
            print(f"epoch {epoch:3}  bound {-total / len(images):.3f}")
    with ember.no_grad():
        new = model.decode(ember.randn(4, 8)).sigmoid().view(4, 8, 8)
    for lines in zip(*map(drawing, new)):
        print("   ".join(lines))


if __name__ == "__main__":
    main()
