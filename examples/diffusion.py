"""Diffusion in two dimensions: noise becomes two moons, step by step.

    python examples/diffusion.py --steps 2000
    python examples/diffusion.py --device opencl

A network learns which noise was added to a point; from pure noise, taking away what it
expects again and again leads to points like those it has seen. Writes diffusion.png.
"""

import argparse
import math
import sys
from pathlib import Path

from matplotlib.figure import Figure

import ember
import ember.nn.functional as F
from ember import Tensor, nn

TIMES = 50


def moons(count: int) -> Tensor:
    """Points on two half circles."""
    angle = math.pi * ember.rand(count)
    upper = ember.rand(count) < 0.5
    x = ember.where(upper, angle.cos(), 1 - angle.cos()) - 0.5
    y = ember.where(upper, angle.sin(), 0.5 - angle.sin()) - 0.25
    return ember.stack([x, y], 1) * 1.5 + 0.05 * ember.randn(count, 2)


class Denoiser(nn.Module):
    """The noise in points [N, 2] at times [N]."""

    waves: Tensor

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        # Waves of many lengths tell points that are close to each other apart.
        self.register_buffer("waves", ember.randn(2, width // 2) * 2)
        self.when = nn.Embedding(TIMES, width)
        self.layers = nn.Sequential(
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, 2),
        )

    def forward(self, points: Tensor, times: Tensor) -> Tensor:
        angles = points @ self.waves
        waves = ember.cat([angles.sin(), angles.cos()], 1)
        return self.layers(waves * 2 + self.when(times))


class Diffusion:
    """How much noise there is at each time, and the way back."""

    def __init__(self, device: str) -> None:
        self.betas = ember.linspace(1e-3, 0.15, TIMES).to(device)
        self.kept = ember.cumprod(1 - self.betas, 0)  # of the squared point

    def noisy(self, points: Tensor, times: Tensor, noise: Tensor) -> Tensor:
        kept = self.kept[times].unsqueeze(1)
        return kept.sqrt() * points + (1 - kept).sqrt() * noise

    @ember.no_grad()
    def sample(self, model: Denoiser, count: int) -> list[Tensor]:
        """Points at every time, from noise to the end."""
        device = self.betas.device
        points = ember.randn(count, 2).to(device)
        seen = [points]
        for t in reversed(range(TIMES)):
            times = ember.full((count,), t, device=device)
            share = self.betas[t] / (1 - self.kept[t]).sqrt()
            points = (points - share * model(points, times)) / (
                1 - self.betas[t]
            ).sqrt()
            if t:
                fresh = ember.randn(count, 2).to(device)
                points = points + self.betas[t].sqrt() * fresh
            seen.append(points)
        return seen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--device", default="cpu", help="cpu, opencl, opencl:1 ...")
    parser.add_argument("--expect", type=float, default=0.12, help="distance, at most")
    parser.add_argument("--out", type=Path, default=Path("diffusion.png"))
    args = parser.parse_args()

    ember.manual_seed(0)
    model, process = Denoiser().to(args.device), Diffusion(args.device)
    optimizer = ember.optim.Adam(model.parameters(), lr=2e-3)
    schedule = ember.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    recent = 1.0
    for step in range(1, args.steps + 1):
        points, noise = moons(256).to(args.device), ember.randn(256, 2).to(args.device)
        times = ember.randint(TIMES, (256,)).to(args.device)
        loss = F.mse_loss(model(process.noisy(points, times, noise), times), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        recent += 0.02 * (loss.item() - recent)
        if step % 500 == 0:
            print(f"step {step}: loss {recent:.3f}")

    seen = process.sample(model, 1000)
    real = moons(1000)
    gap = ember.cdist(seen[-1].cpu(), real).min(1).values.mean()
    print(f"mean distance of a sample to the moons {float(gap):.3f}")
    figure = Figure(figsize=(12, 2.8), layout="constrained")
    shown = [0, TIMES // 2, 4 * TIMES // 5, TIMES]
    for axes, at in zip(figure.subplots(1, 5).flat, [*shown, -1], strict=True):
        points = real if at < 0 else seen[at].cpu()
        axes.scatter(*points.T.tolist(), s=2, color="C1" if at < 0 else "C0")
        axes.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
        axes.set(title="the data" if at < 0 else f"after {at} steps")
    figure.savefig(args.out)
    print(f"wrote {args.out}")
    return 0 if float(gap) <= args.expect else 1


if __name__ == "__main__":
    sys.exit(main())
