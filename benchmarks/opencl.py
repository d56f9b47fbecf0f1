"""The OpenCL device against OpenCL by hand: bandwidth, matrix products, cost of an op.

The opponents are those of opencl_kernels.py, started by pyopencl on the same device. A
pointwise op is compared with a copy kernel that moves as many bytes, a matrix product
with the best of several kernels, whose operands were brought into order beforehand.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.opencl_kernels import COPY, PANELS, SQUARES, STRIPS
from benchmarks.timing import Case, Result

N = 10_000_000
ENQUEUE_LIMIT = 15e-6


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
