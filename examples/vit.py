"""A vision transformer that learns to tell coloured shapes apart.

    python examples/vit.py --steps 400
    python examples/vit.py --device opencl

The pictures have the size of CIFAR's and are drawn on the fly: a shape of any colour,
size and place, before another colour, with noise. Writes vit.png: pictures with what
the model takes them for, and the curve of the loss.
"""

import argparse
import sys
from pathlib import Path

from matplotlib.figure import Figure

import ember
import ember.nn.functional as F
from ember import Tensor, nn

KINDS = ["disc", "square", "cross", "ring"]


def pictures(count: int, size: int = 32) -> tuple[Tensor, Tensor]:
    """Images [count, 3, size, size] with values in 0..1, and what they show."""
    kinds = ember.randint(len(KINDS), (count,))
    at = ember.linspace(-1, 1, size)
    centre = ember.rand(count, 2, 1, 1) - 0.5
    radius = ember.rand(count, 1, 1) * 0.3 + 0.25
    x = (at.view(1, 1, size) - centre[:, 0]) / radius
    y = (at.view(1, size, 1) - centre[:, 1]) / radius
    far, wide = (x * x + y * y).sqrt(), ember.maximum(x.abs(), y.abs())
    thin = ember.minimum(x.abs(), y.abs())
    shapes = ember.stack(
        [far < 1, wide < 0.85, (thin < 0.3) & (wide < 1), (far < 1) & (far > 0.6)], 1
    )
    inside = shapes[ember.arange(count), kinds].unsqueeze(1)
    colours = ember.rand(2, count, 3, 1, 1)
    colours[1] = (colours[0] + 0.5) % 1.0  # far from the shape's
    images = ember.where(inside, colours[0], colours[1])
    return (images + 0.05 * ember.randn(images.shape)).clamp(0, 1), kinds


class ViT(nn.Module):
    """Patches as words, a word for the answer, an encoder."""

    def __init__(self, classes: int, patch: int = 4, width: int = 64) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.answer = nn.Parameter(ember.zeros(1, 1, width))
        places = (32 // patch) ** 2 + 1
        self.places = nn.Parameter(0.2 * ember.randn(1, places, width))
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images * 2 - 1).flatten(2).transpose(1, 2)
        x = ember.cat([self.answer.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.encoder(x)[:, 0]))


def draw(path: Path, losses: list[float], images: Tensor, guesses: list[int]) -> None:
    figure = Figure(figsize=(9, 5), layout="constrained")
    grid = figure.add_gridspec(4, 8)
    axes = figure.add_subplot(grid[:, :4])
    axes.plot(losses, linewidth=1)
    axes.set(xlabel="step", ylabel="loss", title="Training")
    axes.grid(alpha=0.3)
    for i, guess in enumerate(guesses):
        cell = figure.add_subplot(grid[i // 4, 4 + i % 4])
        cell.imshow(images[i].permute(1, 2, 0).numpy())
        cell.set_title(KINDS[guess], fontsize=8)
        cell.axis("off")
    figure.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--device", default="cpu", help="cpu, opencl, opencl:1 ...")
    parser.add_argument("--expect", type=float, default=0.5, help="accuracy")
    parser.add_argument("--out", type=Path, default=Path("vit.png"))
    args = parser.parse_args()

    ember.manual_seed(0)
    model = ViT(len(KINDS)).to(args.device)
    optimizer = ember.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = ember.optim.lr_scheduler.OneCycleLR(
        optimizer, 2e-3, total_steps=args.steps
    )
    losses = []
    for step in range(1, args.steps + 1):
        images, kinds = pictures(args.batch)
        scores = model(images.to(args.device))
        loss = F.cross_entropy(scores, kinds.to(args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {sum(losses[-50:]) / 50:.3f}")

    model.eval()
    images, kinds = pictures(512)
    with ember.no_grad():
        guesses = model(images.to(args.device)).argmax(1).cpu()
    accuracy = float((guesses == kinds).float().mean())
    print(f"accuracy on new pictures {accuracy:.1%}, of {args.expect:.0%} expected")
    draw(args.out, losses, images[:16], guesses[:16].tolist())
    print(f"wrote {args.out}")
    return 0 if accuracy >= args.expect else 1


if __name__ == "__main__":
    sys.exit(main())
