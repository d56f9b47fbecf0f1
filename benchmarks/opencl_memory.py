"""`python -m benchmarks.opencl_memory` repeats Figure 2 of the PyTorch paper.

How many blocks of memory the first iterations of a training loop take from the device,
and how long the host and the device are busy. It writes docs/opencl_memory.png.
"""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "opencl_memory.png"

Row = tuple[int, float, float]  # blocks taken, seconds of the host, seconds in all


def small_resnet(t: Any) -> Any:
    """Bottleneck blocks as in ResNet-50, fewer and narrower, for 32 x 32 images."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self, i: int, width: int, stride: int) -> None:
            super().__init__()
            o = width * 4
            self.body = nn.Sequential(
                nn.Conv2d(i, width, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Conv2d(width, width, 3, stride, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Conv2d(width, o, 1, bias=False),
                nn.BatchNorm2d(o),
            )
            self.aside = nn.Conv2d(i, o, 1, stride, bias=False)

        def forward(self, x: Any) -> Any:
            return t.relu(self.body(x) + self.aside(x))

    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        Block(16, 16, 1),
        Block(64, 32, 2),
        Block(128, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(256, 10),
    )


def iterations(cached: bool, count: int = 8, repeats: int = 3) -> list[Row]:
    """What each iteration of a training loop takes, with the cache or emptying it."""
    import ember

    ember.manual_seed(0)
    x = ember.randn(16, 3, 32, 32).to("opencl")
    y = ember.randint(10, (16,)).to("opencl")

    def loop(count: int) -> list[Row]:
        model = small_resnet(ember).to("opencl")
        optimizer = ember.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        rows = []
        for _ in range(count):
            if not cached:
                ember.opencl.empty_cache()
            before = ember.opencl.memory_stats()["device_allocations"]
            begin = time.perf_counter()
            loss = ember.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            issued = time.perf_counter() - begin
            ember.opencl.synchronize()
            took = time.perf_counter() - begin
            after = ember.opencl.memory_stats()["device_allocations"]
            rows.append((after - before, issued, took))
        return rows

    loop(2)  # compiles the kernels
    runs = []
    for _ in range(repeats):  # noise only ever adds time
        gc.collect()
        ember.opencl.empty_cache()
        runs.append(loop(count))
    return [
        (rows[0][0], min(row[1] for row in rows), min(row[2] for row in rows))
        for rows in zip(*runs)
    ]


def main() -> None:
    """Draw the picture and print its numbers."""
    from matplotlib.figure import Figure

    found = {
        "kept": iterations(cached=True),
        "emptied before each iteration": iterations(cached=False),
    }
    for name, rows in found.items():
        print(f"{name}\niteration       blocks   host ms  device ms")
        for i, (blocks, issued, took) in enumerate(rows, 1):
            print(f"{i:9}  {blocks:11}  {issued * 1e3:8.2f}  {took * 1e3:9.1f}")
    figure = Figure(figsize=(9.6, 6), layout="constrained")
    axes = figure.subplots()
    for name, rows in found.items():
        places = range(1, len(rows) + 1)
        axes.plot(places, [row[0] for row in rows], label=f"the cache is {name}")
    axes.set(
        title="Blocks taken from the device by iterations of training",
        xlabel="iteration",
    )
    axes.legend()
    figure.savefig(PICTURE)
    print(f"{PICTURE} is written")


if __name__ == "__main__":
    main()
