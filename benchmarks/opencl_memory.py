"""The caching allocator of OpenCL devices: `python -m benchmarks.opencl_memory`.

Repeats Figure 2 of the PyTorch paper (Paszke et al., 2019) in numbers: the first step
of training takes its memory from the device, later ones use it again and take nothing.
`--picture FILE` draws it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import ember
from ember import nn


def network() -> nn.Module:
    """A small residual network for pictures of 16x16 pixels."""

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Conv2d(width, width, 3, padding=1),
                nn.BatchNorm2d(width),
            )

        def forward(self, x: ember.Tensor) -> ember.Tensor:
            return nn.functional.relu(x + self.body(x))

    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        Block(16),
        nn.MaxPool2d(2),
        Block(16),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 10),
    )


def run(steps: int, batch: int) -> list[dict[str, float]]:
    """What each step cost: milliseconds, allocations and bytes taken of the device."""
    ember.manual_seed(0)
    model = network().to("opencl")
    optimizer = ember.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = ember.randn(batch, 3, 16, 16).to("opencl")
    y = ember.randint(0, 10, (batch,)).to("opencl")
    for _ in range(2):  # compiles kernels, which is another matter
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    optimizer.zero_grad()
    optimizer.state.clear()
    ember.opencl.empty_cache()
    rows = []
    before = ember.opencl.memory_stats()
    for _ in range(steps):
        began = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        ember.opencl.synchronize()
        took = time.perf_counter() - began
        after = ember.opencl.memory_stats()
        rows.append(
            {"milliseconds": took * 1000}
            | {k: after[k] - before[k] for k in ("device_allocations", "requests")}
            | {"bytes": after["reserved"] - before["reserved"]}
        )
        before = after
    return rows


def draw(rows: list[dict[str, float]], path: Path) -> None:
    """Requests and what of them reached the device, by step."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    steps = [f"step {i + 1}" for i in range(len(rows))]
    figure, axes = pyplot.subplots(figsize=(6, 2.6), layout="constrained")
    places = range(len(rows))
    asked = [row["requests"] for row in rows]
    taken = [row["device_allocations"] for row in rows]
    axes.barh(places, asked, color="0.85", label="blocks asked for")
    bars = axes.barh(places, taken, color="tab:red", label="taken from the device")
    axes.bar_label(bars, [f" {n:.0f}" for n in taken])
    axes.set_yticks(places, steps)
    axes.invert_yaxis()
    axes.set_xlabel("memory blocks in one step of training")
    axes.legend(loc="lower right")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    rows = run(options.steps, options.batch)
    print("step   milliseconds   requests   device allocations   bytes taken")
    for i, row in enumerate(rows, 1):
        print(
            f"{i:4}   {row['milliseconds']:12.1f}   {row['requests']:8.0f}"
            f"   {row['device_allocations']:18.0f}   {row['bytes']:11.0f}"
        )
    if options.picture:
        draw(rows, options.picture)


if __name__ == "__main__":
    main()
