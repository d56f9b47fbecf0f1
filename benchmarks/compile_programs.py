"""Programs that people write themselves, where a compiler earns its keep. Each is a
function of a `Way`, which has the names of torch, and gives what one run is; runs give
a number, so that ways can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

Run = Callable[[], Any]
PROGRAMS: dict[str, Callable[[Way], Run]] = {}


class Way:
    """A library with torch's names, and what it compiles a function with."""

    def __init__(self, library: Any, compile: Callable[[Any], Any]) -> None:
        self.library, self.compile = library, compile
        self.seed()

    def seed(self) -> None:
        """The same numbers for every way."""
        self.random = np.random.default_rng(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def normal(self, *shape: int, scale: float = 1.0) -> Any:
        values = self.random.standard_normal(shape) * scale
        return self.library.tensor(values.astype("float32"))

    def uniform(self, low: float, high: float, *shape: int) -> Any:
        values = self.random.uniform(low, high, shape)
        return self.library.tensor(values.astype("float32"))


def jax_names(jax: Any) -> Any:
    """jax.numpy with torch's names, as far as the programs without gradients go."""
    numpy = jax.numpy
    return SimpleNamespace(
        tensor=numpy.asarray,
        erf=jax.scipy.special.erf,
        **{
            name: getattr(numpy, name)
            for name in "sqrt log exp sin where zeros_like full_like".split()
        },
        relu=jax.nn.relu,
        nn=SimpleNamespace(
            functional=SimpleNamespace(
                pad=lambda x, p: numpy.pad(x, ((p[2], p[3]), (p[0], p[1])))
            )
        ),
    )


def program(f: Callable[[Way], Run]) -> Callable[[Way], Run]:
    PROGRAMS[f.__name__] = f
    return f


def ndtr(T: Way, x: Any) -> Any:
    return 0.5 * (1 + T.erf(x * 0.7071067811865476))


@program
def black_scholes(T: Way) -> Run:
    """Prices of 2^20 options: 24 ops."""
    n = 1 << 20
    market = T.uniform(50, 150, n), T.uniform(50, 150, n), T.uniform(0.1, 2, n)

    @T.compile
    def f(S, K, t, rate, sigma):
        spread = sigma * T.sqrt(t)
        d1 = (T.log(S / K) + (rate + 0.5 * sigma * sigma) * t) / spread
        discounted = K * T.exp(-rate * t)
        call = S * ndtr(T, d1) - discounted * ndtr(T, d1 - spread)
        return call, call - S + discounted

    return lambda: f(*market, 0.05, 0.2)[1].sum()


@program
def greeks(T: Way) -> Run:
    """Their sensitivities by autograd, 2^18 options."""
    n = 1 << 18
    S, K, t = T.uniform(50, 150, n), T.uniform(50, 150, n), T.uniform(0.1, 2, n)
    sigma = T.uniform(0.19, 0.21, n)
    wanted = [x.requires_grad_() for x in (S, t, sigma)]

    @T.compile
    def f(S, K, t, sigma):
        spread = sigma * T.sqrt(t)
        d1 = (T.log(S / K) + (0.05 + 0.5 * sigma * sigma) * t) / spread
        discounted = K * T.exp(-0.05 * t)
        return (S * ndtr(T, d1) - discounted * ndtr(T, d1 - spread)).sum()

    return lambda: T.autograd.grad(f(S, K, t, sigma), wanted)[2].sum()


@program
def asian_option(T: Way) -> Run:
    """Monte Carlo: 32 steps of 2^17 paths."""
    steps = T.normal(32, 1 << 17)

    @T.compile
    def f(steps):
        price = T.full_like(steps[0], 100.0)
        total = T.zeros_like(price)
        for k in range(32):
            price = price * T.exp(0.025 * steps[k] - 0.0003125)
            total = total + price
        return T.relu(total / 32 - 100.0).mean()

    return lambda: f(steps)


@program
def lorenz(T: Way) -> Run:
    """Runge-Kutta: 20 steps of 2^16 states, 1,420 ops."""
    state = [T.normal(1 << 16) for _ in range(3)]

    def slope(x, y, z):
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.6666667 * z

    @T.compile
    def f(*at):
        h = 0.005
        for _ in range(20):
            k = [slope(*at)]
            for part in (h / 2, h / 2, h):
                k.append(slope(*(p + part * d for p, d in zip(at, k[-1], strict=True))))
            at = [
                p + h / 6 * (a + 2 * b + 2 * c + d)
                for p, a, b, c, d in zip(at, *k, strict=True)
            ]
        return (at[0] + at[1] + at[2]).mean()

    return lambda: f(*state)


@program
def nbody(T: Way) -> Run:
    """Forces between 1,024 bodies."""
    place, mass = T.normal(1024, 3), T.uniform(0.1, 1, 1024)

    @T.compile
    def f(place, mass):
        apart = place[None, :, :] - place[:, None, :]
        square = (apart * apart).sum(-1) + 0.01
        weight = mass[None, :] * square**-1.5
        return (apart * weight[:, :, None]).sum(1)

    return lambda: (f(place, mass) ** 2).sum()


@program
def julia(T: Way) -> Run:
    """50 iterations of a picture of 512 x 512."""
    line = np.linspace(-1.5, 1.5, 512, dtype="float32")
    plane = [T.tensor(a.copy()) for a in np.meshgrid(line, line)]

    @T.compile
    def f(re, im):
        count = T.zeros_like(re)
        for _ in range(50):
            re2, im2 = re * re, im * im
            inside = re2 + im2 < 4.0
            count = T.where(inside, count + 1.0, count)
            further = 2.0 * re * im + 0.156
            re = T.where(inside, re2 - im2 - 0.8, re)
            im = T.where(inside, further, im)
        return count.mean()

    return lambda: f(*plane)


@program
def wave(T: Way) -> Run:
    """A stencil: 20 steps of a membrane of 512 x 512."""
    start = T.normal(512, 512)

    @T.compile
    def f(before):
        now = before
        for _ in range(20):
            middle = now[1:-1, 1:-1]
            around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
            moved = 2.0 * middle - before[1:-1, 1:-1] + 0.1 * (around - 4.0 * middle)
            before, now = now, T.nn.functional.pad(moved, (1, 1, 1, 1))
        return abs(now).mean()

    return lambda: f(start)


@program
def focal_loss(T: Way) -> Run:
    """A loss by hand with its gradient, 4096 x 256."""
    logits = T.normal(4096, 256).requires_grad_()
    labels = T.tensor(T.random.integers(0, 256, (4096, 1)))

    @T.compile
    def f(logits, labels):
        shifted = logits - logits.amax(-1, keepdim=True)
        logp = shifted - shifted.exp().sum(-1, keepdim=True).log()
        picked = logp.gather(1, labels)[:, 0]
        focal = -((1 - picked.exp()) ** 2) * picked
        return (0.9 * focal - 0.1 * logp.mean(-1)).mean()

    return lambda: T.autograd.grad(f(logits, labels), logits)[0].abs().sum()


@program
def norms(T: Way) -> Run:
    """The glue of a transformer by hand, with gradients, 1024 x 768."""
    x, u = (T.normal(1024, 768).requires_grad_() for _ in range(2))
    g = T.normal(768).requires_grad_()

    @T.compile
    def f(x, g, u):
        n = x * T.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * g
        h = T.nn.functional.gelu(n * T.sigmoid(n) * u) + x
        centred = h - h.mean(-1, keepdim=True)
        scale = T.rsqrt(h.var(-1, keepdim=True, unbiased=False) + 1e-5)
        return ((centred * scale) ** 2 * u).mean()

    return lambda: T.autograd.grad(f(x, g, u), (x, g, u))[0].abs().sum()


@program
def lstm_cell(T: Way) -> Run:
    """A cell written in Python, with gradients: 32 steps, 32 x 128."""
    w = T.normal(256, 512, scale=0.08).requires_grad_()
    b = T.normal(512).requires_grad_()
    xs = T.normal(32, 32, 128)

    @T.compile
    def f(xs, w, b):
        h = c = T.zeros(32, 128)
        for k in range(32):
            gates = T.cat([xs[k], h], 1) @ w + b
            i, f_, g, o = gates.chunk(4, 1)
            c = T.sigmoid(f_) * c + T.sigmoid(i) * T.tanh(g)
            h = T.sigmoid(o) * T.tanh(c)
        return (h * h).mean()

    return lambda: T.autograd.grad(f(xs, w, b), (w, b))[0].abs().sum()


@program
def heat_equation(T: Way) -> Run:
    """A physics-informed network: second derivatives by autograd, 1,024 points."""
    sizes = ((2, 64), (64, 64), (64, 64), (64, 1))
    weights = [T.normal(a, b, scale=a**-0.5).requires_grad_() for a, b in sizes]
    points = T.normal(1024, 1), T.normal(1024, 1)

    @T.compile
    def f(x, t):
        x, t = (p.detach().requires_grad_() for p in (x, t))
        h = T.cat([x, t], 1)
        for w in weights[:-1]:
            h = T.tanh(h @ w)
        u = h @ weights[-1]
        ux, ut = T.autograd.grad(u.sum(), (x, t), create_graph=True)
        (uxx,) = T.autograd.grad(ux.sum(), x, create_graph=True)
        return ((ut - 0.1 * uxx) ** 2).mean()

    return lambda: T.autograd.grad(f(*points), weights)[1].abs().sum()


@program
def lion(T: Way) -> Run:
    """An optimizer of one's own: 20 parameters, 2^21 numbers."""
    shapes = [(512, 256)] * 16 + [(256,)] * 4
    ps, gs = ([T.normal(*s) for s in shapes] for _ in range(2))
    ms = [T.zeros_like(p) for p in ps]

    @T.compile
    def f(ps, gs, ms, rate):
        for p, g, m in zip(ps, gs, ms, strict=True):
            p.mul_(1 - rate * 0.1).add_(T.sign(m * 0.9 + g * 0.1), alpha=-rate)
            m.mul_(0.99).add_(g, alpha=0.01)

    def run() -> Any:
        f(ps, gs, ms, 1e-4)
        return ms[0].sum()

    return run
