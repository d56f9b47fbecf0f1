"""`python -m benchmarks.fused`: generated kernels alone against the same work op by op.

What is timed is one call of a kernel on outputs that exist, written directly as a
program of ember/compiler: no capture, no allocation, no tape. Best of many, the two in
turn, microseconds; `--threads` as usual. A kernel's first call compiles: `compile`, in
milliseconds of CPU, with an empty cache.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import ember
from ember.compiler import _llvm
from ember.compiler._kernel import Fused
from ember.compiler._program import Builder


class Sym:
    """A value of a program, with the operators of a tensor."""

    def __init__(self, b: Builder, at: int) -> None:
        self.b, self.at = b, at

    def _other(self, o: Any) -> int:
        return o.at if isinstance(o, Sym) else self.b.constant(o)

    def _two(self, name: str, o: Any, swap: bool = False) -> Sym:
        a, b = self.at, self._other(o)
        if swap:
            a, b = b, a
        return Sym(self.b, self.b.binary(name, a, b, compute="float32"))

    def __add__(self, o: Any) -> Sym:
        return self._two("add", o)

    def __sub__(self, o: Any) -> Sym:
        return self._two("sub", o)

    def __rsub__(self, o: Any) -> Sym:
        return self._two("sub", o, True)

    def __mul__(self, o: Any) -> Sym:
        return self._two("mul", o)

    def __truediv__(self, o: Any) -> Sym:
        return self._two("div", o)

    def __rtruediv__(self, o: Any) -> Sym:
        return self._two("div", o, True)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Sym:
        return self.row("neg")

    def __lt__(self, o: Any) -> Sym:
        at = self.b.compare("lt", self.at, self._other(o), compute="float32")
        return Sym(self.b, at)

    def row(self, name: str) -> Sym:
        return Sym(self.b, self.b.unary(name, self.at))

    def reduce(self, name: str) -> Sym:
        return Sym(self.b, self.b.reduce(name, self.at))


class Symbolic:
    """What the programs below call, for programs; ember itself has the same names."""

    def __getattr__(self, name: str) -> Callable[[Sym], Sym]:
        return lambda x: x.row(name)

    @staticmethod
    def where(c: Sym, a: Sym, b: Sym) -> Sym:
        return Sym(c.b, c.b.where(c.at, a.at, b.at))

    @staticmethod
    def mean(x: Sym) -> Sym:
        return x.reduce("mean")

    @staticmethod
    def columns(x: Sym) -> Sym:
        return x.reduce("sum")

    @staticmethod
    def silu(x: Sym) -> Sym:
        return x.row("silu")


class Eager:
    def __getattr__(self, name: str) -> Any:
        return getattr(ember, name)

    @staticmethod
    def mean(x: ember.Tensor) -> ember.Tensor:
        return x.mean(-1, keepdim=True)

    @staticmethod
    def columns(x: ember.Tensor) -> ember.Tensor:
        return x.sum(0, keepdim=True)

    ndtr = staticmethod(ember.special.ndtr)
    silu = staticmethod(ember.nn.functional.silu)
    gelu = staticmethod(ember.nn.functional.gelu)


def ndtr_by_erf(T: Any, x: Any) -> Any:
    return 0.5 * (1 + T.erf(x * 0.7071067811865476))


def black_scholes(T: Any, S: Any, K: Any, t: Any) -> Any:
    r, g = 0.05, 0.2
    sq = g * T.sqrt(t)
    d1 = (T.log(S / K) + (r + 0.5 * g * g) * t) / sq
    d2 = d1 - sq
    disc = K * T.exp(-r * t)
    call = S * ndtr_by_erf(T, d1) - disc * ndtr_by_erf(T, d2)
    return call, call - S + disc


def greeks(T: Any, S: Any, K: Any, t: Any, g: Any) -> Any:
    """Price and its gradients, as the backward pass would have them."""
    root = T.sqrt(t)
    sq = g * root
    rate = 0.05 + 0.5 * g * g
    d1 = (T.log(S / K) + rate * t) / sq
    d2 = d1 - sq
    disc = K * T.exp(-0.05 * t)
    n1, n2 = T.ndtr(d1), T.ndtr(d2)

    def density(d: Any) -> Any:
        return 0.3989422804 * T.exp(-0.5 * (d * d))

    of_d1, of_d2 = S * density(d1), -disc * density(d2)
    both = of_d1 + of_d2
    of_a = both / sq
    of_sq = -of_d2 - both * d1 / sq
    of_t = of_a * rate + of_sq * g * 0.5 / root + n2 * disc * 0.05
    return S * n1 - disc * n2, n1 + of_a / S, of_t, of_a * t * g + of_sq * root


def lorenz(T: Any, x: Any, y: Any, w: Any, steps: int = 1) -> Any:
    def slope(x: Any, y: Any, w: Any) -> Any:
        return 10.0 * (y - x), x * (28.0 - w) - y, x * y - 2.6666667 * w

    h = 0.005
    for _ in range(steps):
        at = (x, y, w)
        k = [slope(*at)]
        for part in (h / 2, h / 2, h):
            k.append(slope(*(p + part * d for p, d in zip(at, k[-1], strict=True))))
        x, y, w = (
            p + h / 6 * (a + 2 * b + 2 * c + d)
            for p, a, b, c, d in zip(at, *k, strict=True)
        )
    return x, y, w


def lorenz_20(T: Any, *at: Any) -> Any:
    return lorenz(T, *at, steps=20)


def julia(T: Any, re: Any, im: Any, n: Any) -> Any:
    for _ in range(50):
        r2, i2 = re * re, im * im
        inside = r2 + i2 < 4.0
        n = T.where(inside, n + 1.0, n)
        following = 2.0 * re * im + 0.156
        re = T.where(inside, r2 - i2 - 0.8, re)
        im = T.where(inside, following, im)
    return (n,)


def norms(T: Any, x: Any, g: Any, u: Any) -> Any:
    """RMS norm, gated unit, gelu and residual, layer norm, weighted mean, of rows."""
    n = x / T.sqrt(T.mean(x * x) + 1e-6) * g
    h = T.gelu(T.silu(n) * u) + x
    c = h - T.mean(h)
    h = c / T.sqrt(T.mean(c * c) + 1e-5)
    return (T.mean(h * h * u),)


def norm_gradients(T: Any, g: Any, x: Any, mean: Any, scale: Any) -> Any:
    """Of the weight and the bias of a layer norm."""
    return T.columns(g * (x - mean) * scale), T.columns(g)


def lion(T: Any, p: Any, g: Any, m: Any) -> Any:
    update = T.sign(0.9 * m + 0.1 * g)
    return p - 1e-4 * (update + 0.01 * p), 0.99 * m + 0.01 * g


def program(f: Any, inputs: int, axes: tuple[int, ...]) -> Any:
    b = Builder()
    outputs = f(Symbolic(), *(Sym(b, b.load()) for _ in range(inputs)))
    return b.program([o.at for o in outputs], [int(bool(axes))] * len(outputs))


def uniform(low: float, high: float, *shape: int) -> ember.Tensor:
    return low + (high - low) * ember.rand(*shape)


def cases() -> list[tuple[str, Any, list[list[ember.Tensor]], tuple[int, ...]]]:
    """Name, function, the inputs of each call, the axes that it reduces."""
    n = 1 << 20
    market = [uniform(50, 150, n), uniform(50, 150, n), uniform(0.1, 2, n)]
    points = [ember.randn(1 << 16) for _ in range(3)]
    axis = ember.linspace(-1.5, 1.5, 512)
    plane = [*(a.contiguous() for a in ember.meshgrid(axis, axis, indexing="xy"))]
    few = [x[: 1 << 18].clone() for x in market]
    rows = [ember.randn(1024, 768), ember.randn(768), ember.randn(1024, 768)]
    grads = [ember.randn(1024, n) for n in (768, 768, 1, 1)]
    shapes = [(256, 256), (256,)] * 10
    return [
        ("black_scholes 2^20", black_scholes, [market], ()),
        ("greeks 2^18", greeks, [[*few, ember.full((1 << 18,), 0.2)]], ()),
        ("lorenz step 2^16", lorenz, [points], ()),
        ("lorenz 20 steps 2^16", lorenz_20, [points], ()),
        ("julia 50 steps 512^2", julia, [[*plane, ember.zeros(512, 512)]], ()),
        ("norms 1024x768", norms, [rows], (-1,)),
        ("norm gradients 1024x768", norm_gradients, [grads], (0,)),
        (
            "lion 20 parameters",
            lion,
            [[ember.randn(*s) for _ in range(3)] for s in shapes],
            (),
        ),
    ]


def best(one: Any, other: Any, seconds: float) -> tuple[float, float]:
    """The least of each, in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for f, spent in zip((one, other), times, strict=True):
            start = time.perf_counter()
            f()
            spent.append(time.perf_counter() - start)
    return min(times[0]) * 1e6, min(times[1]) * 1e6


def measure(
    name: str, f: Any, calls: Any, axes: tuple[int, ...], seconds: float
) -> None:
    start = time.process_time()
    fused = Fused(program(f, len(calls[0]), axes))
    shapes = [x[0].shape for x in calls]
    given = [
        (x, fused.outputs(shape, axes), ())
        for x, shape in zip(calls, shapes, strict=True)
    ]
    if len(calls) > 1:
        items = fused.run_list
        items(given)
    else:
        fused.run(given, shapes[0], axes)
    compiled = time.process_time() - start
    bound = [
        fused.bound(*call, shape, axes)
        for call, shape in zip(given, shapes, strict=True)
    ]
    by_layout: dict[Any, list[Any]] = {}
    for layout, item in bound:
        by_layout.setdefault(layout, []).append(item)

    def kernel() -> None:
        for layout, items in by_layout.items():
            fused.launch(layout, items)

    def eager() -> None:
        for x in calls:
            f(Eager(), *x)

    with ember.no_grad():
        ours, theirs = best(kernel, eager, seconds)
        want = f(Eager(), *calls[0])
        off = max(
            (a - b).abs().max().item() for a, b in zip(given[0][1], want, strict=True)
        )
    print(
        f"{name:22s} kernel {ours:9.0f}   eager {theirs:9.0f}   "
        f"{ours / theirs:5.2f}   compile {compiled * 1e3:5.0f} ms   differs {off:.1e}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.environ.setdefault("EMBER_JIT_CACHE", "")
    ember.set_num_threads(options.threads)
    print(f"level {_llvm.level()}, {options.threads} threads")
    for name, f, calls, axes in cases():
        if options.only in name:
            measure(name, f, calls, axes, options.seconds)


if __name__ == "__main__":
    main()
