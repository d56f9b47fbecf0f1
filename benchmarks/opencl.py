"""The OpenCL device against OpenCL by hand: bandwidth, matrix products, cost of an op.

The opponents are kernels written here and started by pyopencl on the same device. A
pointwise op is compared with a copy kernel that moves as many bytes, a matrix product
with the best of several kernels, whose operands were brought into order beforehand.

`python -m benchmarks.opencl` repeats Figure 2 of the PyTorch paper: how many blocks of
memory the first iterations of a training loop take from the device, and how long the
host and the device are busy. It writes docs/opencl_memory.png.
"""

from __future__ import annotations

import gc
import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Case, Result

N = 10_000_000
PICTURE = Path(__file__).resolve().parent.parent / "docs" / "opencl_memory.png"
ENQUEUE_LIMIT = 15e-6

COPY = """
__kernel void copy(__global VECTOR* to, __global const VECTOR* from) {
  to[get_global_id(0)] = from[get_global_id(0)];
}"""

# One item a tile of ROWS x VECTORS vectors, from packed panels.
PANELS = """
__kernel void product(__global float* c, __global const float* a,
                      __global const float* b, int n) {
  int down = (n + ROWS - 1) / ROWS, row = get_group_id(0) % down;
  int column = get_group_id(0) / down, across = (n + 16 * VECTORS - 1) / (16 * VECTORS);
  a += (long)row * n * ROWS;
  b += (long)column * n * VECTORS * 16;
  float16 sum[ROWS][VECTORS];
#pragma unroll
  for (int i = 0; i < ROWS; i++)
#pragma unroll
    for (int j = 0; j < VECTORS; j++) sum[i][j] = 0;
  for (int k = 0; k < n; k++, a += ROWS, b += VECTORS * 16) {
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
      for (int j = 0; j < VECTORS; j++) sum[i][j] += a[i] * vload16(j, b);
  }
#pragma unroll
  for (int i = 0; i < ROWS; i++)
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
      vstore16(sum[i][j], ((long)(row * ROWS + i) * across + column) * VECTORS + j, c);
}"""

# The textbook's: squares of 16 x 16 in local memory, an item for each element.
SQUARES = """
__kernel void product(__global float* c, __global const float* a,
                      __global const float* b, int n) {
  __local float left[16][17], right[16][17];
  int x = get_local_id(0), y = get_local_id(1);
  int i = get_global_id(1), j = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[y][x] = a[i * n + k + x];
    right[y][x] = b[(k + y) * n + j];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int q = 0; q < 16; q++) sum += left[y][q] * right[q][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[i * n + j] = sum;
}"""

# 4 rows of one vector each for an item, straight from memory.
STRIPS = """
__kernel void product(__global float* c, __global const float* a,
                      __global const float* b, int n) {
  int j = get_global_id(0), i = get_global_id(1) * 4;
  float8 sum[4];
#pragma unroll
  for (int r = 0; r < 4; r++) sum[r] = 0;
  for (int k = 0; k < n; k++) {
    float8 w = vload8(j, b + (long)k * n);
#pragma unroll
    for (int r = 0; r < 4; r++) sum[r] += a[(long)(i + r) * n + k] * w;
  }
#pragma unroll
  for (int r = 0; r < 4; r++) vstore8(sum[r], j, c + (long)(i + r) * n);
}"""


class Hand:
    """Kernels by hand on the device that ember uses."""

    def __init__(self) -> None:
        import pyopencl

        import ember

        warnings.simplefilter("ignore")
        self.cl, self.ember = pyopencl, ember
        name = ember.opencl.get_device_name()
        found = [d for p in pyopencl.get_platforms() for d in p.get_devices()]
        device = next(d for d in found if d.name == name)
        self.context = pyopencl.Context([device])
        self.queue = pyopencl.CommandQueue(self.context)
        self.kept: list[tuple] = []

    def buffer(self, values: np.ndarray) -> Any:
        flags = self.cl.mem_flags
        return self.cl.Buffer(self.context, flags.COPY_HOST_PTR, hostbuf=values)

    def start(
        self, source: str, name: str, size: tuple, group: tuple, *arguments: Any
    ) -> Callable[[], None]:
        """What starts a kernel and waits for it."""
        kernel = self.cl.Kernel(self.cl.Program(self.context, source).build(), name)
        kernel.set_args(*arguments)
        self.kept.append(arguments)  # a kernel does not keep its buffers

        def run() -> None:
            self.cl.enqueue_nd_range_kernel(self.queue, kernel, size, group)
            self.queue.finish()

        run()
        return run

    def wait(self, f: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            f()
            self.ember.opencl.synchronize()

        run()
        return run


def best(runs: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """The best time of each, taking turns."""
    times = dict.fromkeys(runs, math.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - begin)
    return times


def result(name: str, by_hand: float, ember: float) -> Result:
    return Result(Case(name, "", group="opencl"), {"torch": by_hand, "ember": ember})


def pointwise(hand: Hand, rounds: int) -> list[Result]:
    """Memory-bound ops and a copy kernel that moves as many bytes."""
    t = hand.ember
    host = np.random.default_rng(0).standard_normal(N).astype(np.float32)
    from_, to = hand.buffer(host), hand.buffer(host)
    copies = {
        f"copy {width} {group}": hand.start(
            COPY.replace("VECTOR", f"float{width if width > 1 else ''}"),
            "copy",
            (N // width,),
            (group,),
            to,
            from_,
        )
        for width in (1, 4, 16)
        for group in (125, 625)
    }
    x, y, z = (t.tensor(host, device="opencl") for _ in range(3))
    rows = x.view(1000, 10000)
    # name, elements moved for each of the N, op
    ops: list[tuple[str, float, Callable[[], Any]]] = [
        ("x.clone()", 2, x.clone),
        ("x + y", 3, lambda: x + y),
        ("x * y", 3, lambda: x * y),
        ("x * 2", 2, lambda: x * 2),
        ("relu(x)", 2, x.relu),
        ("addcmul(x, y, z)", 4, lambda: t.addcmul(x, y, z)),
        ("lerp(x, y, 0.3)", 3, lambda: t.lerp(x, y, 0.3)),
        ("x + row", 2, lambda: rows + y[:10000]),
        ("x + column", 2, lambda: rows + y[:1000].view(1000, 1)),
        ("gelu(x)", 2, lambda: t.nn.functional.gelu(x)),
        ("x.sum()", 1, x.sum),
        ("x.sum(0)", 1, lambda: rows.sum(0)),
        ("x.sum(1)", 1, lambda: rows.sum(1)),
        ("x.argmax(1)", 1, lambda: rows.argmax(1)),
        ("x.var()", 1, x.var),
        ("softmax(x, 1)", 2, lambda: rows.softmax(1)),
    ]
    runs = copies | {name: hand.wait(f) for name, _, f in ops}
    times = best(runs, rounds)
    copy = min(times[name] for name in copies)
    return [
        result(f"{name}, 1e7 floats", copy * moved / 2, times[name])
        for name, moved, _ in ops
    ]


def contenders(hand: Hand, n: int) -> dict[str, Callable[[], None]]:
    """Products of two n x n matrices."""
    a = np.random.default_rng(1).standard_normal((n, n)).astype(np.float32)
    b = np.random.default_rng(2).standard_normal((n, n)).astype(np.float32)
    right = a @ b
    runs = {}
    for rows, vectors in ((8, 3), (14, 2), (6, 4), (12, 2), (16, 1)):
        wide = vectors * 16
        down, across = -(-n // rows), -(-n // wide)
        panels = np.zeros((down * rows, n), np.float32)
        panels[:n] = a
        left = panels.reshape(down, rows, n).transpose(0, 2, 1).copy()
        panels = np.zeros((n, across * wide), np.float32)
        panels[:, :n] = b
        other = panels.reshape(n, across, wide).transpose(1, 0, 2).copy()
        out = hand.buffer(np.zeros((down * rows, across * wide), np.float32))
        head = f"#define ROWS {rows}\n#define VECTORS {vectors}\n"
        arguments = (out, hand.buffer(left), hand.buffer(other), np.int32(n))
        name = f"panels {rows} x {wide}"
        runs[name] = hand.start(
            head + PANELS, "product", (down * across,), (1,), *arguments
        )
        made = np.empty((down * rows, across * wide), np.float32)
        hand.cl.enqueue_copy(hand.queue, made, out)
        assert abs(made[:n, :n] - right).max() < 1e-2
    out = hand.buffer(np.zeros((n, n), np.float32))
    arguments = (out, hand.buffer(a), hand.buffer(b), np.int32(n))
    runs["squares"] = hand.start(SQUARES, "product", (n, n), (16, 16), *arguments)
    runs["strips"] = hand.start(STRIPS, "product", (n // 8, n // 4), (8, 4), *arguments)
    return runs


def products(hand: Hand, rounds: int) -> list[Result]:
    t, results = hand.ember, []
    for n in (256, 512, 1024):
        x, y = (t.randn(n, n).to("opencl") for _ in range(2))
        runs = contenders(hand, n)
        ours = {
            "": hand.wait(partial(t.matmul, x, y)),
            ", b transposed": hand.wait(partial(t.matmul, x, y.t())),
            ", a transposed": hand.wait(partial(t.matmul, x.t(), y)),
        }
        times = best(runs | ours, rounds)
        hands = {name: times[name] for name in runs}
        name = min(hands, key=hands.__getitem__)
        results += [
            result(f"{n} x {n} products{kind} ({name})", hands[name], times[kind])
            for kind in ours
        ]
    return results


def enqueue(hand: Hand, rounds: int) -> list[Result]:
    """What an op costs the host, the device being busy elsewhere; a limit by hand."""
    t = hand.ember
    x, y, m = (t.ones(s, device="opencl") for s in ((4,), (4,), (4, 4)))
    ops: dict[str, Callable[[], Any]] = {
        "x + y": lambda: x + y,
        "x * 2": lambda: x * 2,
        "m + x": lambda: m.t() + x,
        "m.sum(1)": lambda: m.sum(1),
        "m @ m": lambda: m @ m,
    }
    results = []
    for name, f in ops.items():
        least = math.inf
        for _ in range(rounds * 5):
            t.opencl.synchronize()
            begin = time.perf_counter()
            for _ in range(100):
                f()
            least = min(least, (time.perf_counter() - begin) / 100)
        t.opencl.synchronize()
        results.append(result(f"enqueue {name} (limit)", ENQUEUE_LIMIT, least))
    return results


def against_hand(rounds: int = 15) -> list[Result]:
    """All of the above; nothing where there is no device, or no pyopencl."""
    try:
        hand = Hand()
    except (ImportError, RuntimeError) as error:
        case = Case("OpenCL", "", group="opencl")
        return [Result(case, missing=f"{type(error).__name__}: {error}")]
    return [
        *pointwise(hand, rounds),
        *products(hand, rounds),
        *enqueue(hand, rounds),
    ]


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
    from ember.utils.plot import Line, save_plot

    found = {
        "kept": iterations(cached=True),
        "emptied before each iteration": iterations(cached=False),
    }
    for name, rows in found.items():
        print(f"{name}\niteration       blocks   host ms  device ms")
        for i, (blocks, issued, took) in enumerate(rows, 1):
            print(f"{i:9}  {blocks:11}  {issued * 1e3:8.2f}  {took * 1e3:9.1f}")
    lines = []
    for name, rows in found.items():
        places = list(range(1, len(rows) + 1))
        lines.append(Line([row[0] for row in rows], places, f"the cache is {name}"))
    save_plot(
        PICTURE,
        lines,
        title="Blocks taken from the device by iterations of training",
        xlabel="iteration",
    )
    print(f"{PICTURE} is written")


if __name__ == "__main__":
    main()
