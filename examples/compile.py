"""Thousands of double pendulums at once, compiled and not.

    python examples/compile.py

Each of them starts a hair away from the next one, and soon they do not agree any more:
the motion is chaotic, so a difference in the last bit of a result would show. It does
not: compiled, the program gives the same bits, several times as fast. Prints what
`explain` says, and draws the groups of ops that became one loop each.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import ember
from ember import Tensor


def forces(
    a: Tensor, b: Tensor, u: Tensor, v: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """How fast the angles a and b (of equal rods) and their speeds u and v change."""
    g, d = 9.81, a - b
    sin, cos = d.sin(), d.cos()
    below = 3 - (2 * d).cos()
    first = -3 * g * a.sin() - g * (a - 2 * b).sin() - 2 * sin * (v * v + u * u * cos)
    second = 2 * sin * (2 * u * u + 2 * g * a.cos() + v * v * cos)
    return u, v, first / below, second / below


def move(state: Sequence[Tensor], h: float, steps: int) -> Sequence[Tensor]:
    """A few steps of Runge and Kutta's method."""
    for _ in range(steps):
        k1 = forces(*state)
        k2 = forces(*(x + h / 2 * k for x, k in zip(state, k1, strict=True)))
        k3 = forces(*(x + h / 2 * k for x, k in zip(state, k2, strict=True)))
        k4 = forces(*(x + h * k for x, k in zip(state, k3, strict=True)))
        state = [
            x + h / 6 * (a + 2 * b + 2 * c + d)
            for x, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True)
        ]
    return state


def seconds(f: Callable[..., object], *args: object) -> float:
    """The best of a few runs."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pendulums", type=int, default=50_000)
    parser.add_argument("--steps", type=int, default=5, help="of one call")
    parser.add_argument("--calls", type=int, default=150)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--run", type=Path, default=Path("runs/compile"))
    options = parser.parse_args()

    ember.set_num_threads(options.threads)
    n = options.pendulums
    start = [ember.full((n,), 2.0), 2 + ember.linspace(0, 1e-3, n)]
    start += [ember.zeros(n), ember.zeros(n)]
    compiled = ember.compile(move, mode="max-autotune")  # waits for machine code

    first = time.process_time()
    compiled(start, 0.02, options.steps)
    first = time.process_time() - first
    plain: Sequence[Tensor] = start
    fast: Sequence[Tensor] = start
    for _ in range(options.calls):
        plain = move(plain, 0.02, options.steps)
        fast = compiled(fast, 0.02, options.steps)
    apart = (plain[0].max() - plain[0].min()).item()
    for x, y in zip(plain, fast, strict=True):
        if not (x == y).all():
            raise SystemExit("compiled and not, the pendulums do not agree")
    print(f"after {options.calls * options.steps} steps: {apart:.3f} rad apart")
    print("compiled and not: the same, bit for bit")

    one = seconds(move, start, 0.02, options.steps)
    other = seconds(compiled, start, 0.02, options.steps)
    print(f"{options.steps} steps: {one * 1e3:.1f} ms, compiled {other * 1e3:.1f} ms")
    print(f"{one / other:.1f} times as fast; first call {first:.2f} s\n")

    told = ember.compiler.explain(move)(start, 0.02, options.steps)
    print(told)
    options.run.mkdir(parents=True, exist_ok=True)
    told.draw(options.run / "groups.png")
    print(f"drawn: {options.run / 'groups.png'}")


if __name__ == "__main__":
    main()
