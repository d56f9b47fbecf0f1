"""Special functions from NumPy and `math` alone, as references for the op tests.

They are slow and sure: series, integrals over fine grids, Newton steps. Arguments of
the samples are moderate, so that nothing cleverer is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])
lgamma = np.vectorize(math.lgamma, otypes=[float])

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def _integral(f: Callable, low: float, high: float) -> np.ndarray:
    """Integral of f(t) over [low, high]; f returns an array with t as last axis."""
    half = (high - low) / 2
    return half * (f(low + half * (_NODES + 1)) * _WEIGHTS).sum(-1)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softplus(x: np.ndarray, beta: float = 1.0) -> np.ndarray:
    return np.log1p(np.exp(beta * x)) / beta


def ndtr(x: np.ndarray) -> np.ndarray:
    return 0.5 * erfc(-x / math.sqrt(2))


def gelu(x: np.ndarray) -> np.ndarray:
    return x * ndtr(x)


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _erfinv(y: float) -> float:
    x = 0.0
    for _ in range(60):  # Newton, damped where the slope is small
        step = (math.erf(x) - y) * math.sqrt(math.pi) / 2 * math.exp(x * x)
        x -= max(-0.5, min(0.5, step))
    return x


erfinv = np.vectorize(_erfinv, otypes=[float])


def ndtri(p: np.ndarray) -> np.ndarray:
    return math.sqrt(2) * erfinv(2 * p - 1)


def entr(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.where(x > 0, -x * np.log(np.where(x > 0, x, 1)), 0.0)


def zeta(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Hurwitz zeta by Euler and Maclaurin."""
    s, q = np.broadcast_arrays(np.asarray(s, float), np.asarray(q, float))
    n = 20
    total = sum((q + k) ** -s for k in range(n))
    a = q + n
    total = total + a ** (1 - s) / (s - 1) + 0.5 * a**-s
    bernoulli = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6]
    rising, factorial = s, 2.0
    for k, b in enumerate(bernoulli, 1):
        total = total + b / factorial * rising * a ** (-s - 2 * k + 1)
        rising = rising * (s + 2 * k - 1) * (s + 2 * k)
        factorial *= (2 * k + 1) * (2 * k + 2)
    return total


def digamma(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, float)
    shift = sum(1 / (x + k) for k in range(20))
    a = x + 20
    series = 1 / (12 * a**2) - 1 / (120 * a**4) + 1 / (252 * a**6) - 1 / (240 * a**8)
    return np.log(a) - 0.5 / a - series - shift


def polygamma(n: int, x: np.ndarray) -> np.ndarray:
    return (-1.0) ** (n + 1) * math.factorial(n) * zeta(n + 1, x)


def igamma(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    term = np.ones_like(x)
    total = term.copy()
    for k in range(1, 200):
        term = term * x / (a + k)
        total = total + term
    return total * np.exp(a * np.log(x) - x - lgamma(a + 1))


def igammac(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return 1 - igamma(a, x)


# --- Bessel functions by their integrals ----------------------------------------------


def _column(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, float)[..., None]


def bessel_j(n: int) -> Callable:
    return lambda x: (
        _integral(lambda t: np.cos(n * t - _column(x) * np.sin(t)), 0, math.pi)
        / math.pi
    )


def bessel_y(n: int) -> Callable:
    def y(x: np.ndarray) -> np.ndarray:
        z = _column(x)
        wave = _integral(lambda t: np.sin(z * np.sin(t) - n * t), 0, math.pi)
        tail = sum(
            _integral(
                lambda t: (
                    (np.exp(n * t) + (-1) ** n * np.exp(-n * t))
                    * np.exp(-z * np.sinh(t))
                ),
                k,
                k + 1,
            )
            for k in range(12)
        )
        return (wave - tail) / math.pi

    return y


def bessel_i(n: int, scaled: bool = False) -> Callable:
    def i(x: np.ndarray) -> np.ndarray:
        z = _column(x)
        shift = np.abs(z) if scaled else 0
        return (
            _integral(
                lambda t: np.exp(z * np.cos(t) - shift) * np.cos(n * t), 0, math.pi
            )
            / math.pi
        )

    return i


def bessel_k(n: int, scaled: bool = False) -> Callable:
    def k(x: np.ndarray) -> np.ndarray:
        z = _column(x)
        shift = z if scaled else 0
        return sum(
            _integral(
                lambda t: np.exp(shift - z * np.cosh(t)) * np.cosh(n * t), a, a + 1
            )
            for a in range(12)
        )

    return k


def spherical_j0(x: np.ndarray) -> np.ndarray:
    return np.sinc(np.asarray(x, float) / math.pi)


def airy_ai(x: np.ndarray) -> np.ndarray:
    """The power series, good for |x| of a few units."""
    x = np.asarray(x, float)
    first, second = np.ones_like(x), x.copy()
    f, g = first.copy(), second.copy()
    for k in range(1, 60):
        first = first * x**3 / ((3 * k - 1) * (3 * k))
        second = second * x**3 / ((3 * k) * (3 * k + 1))
        f, g = f + first, g + second
    at_zero = 3 ** (-2 / 3) / math.gamma(2 / 3)
    slope = 3 ** (-1 / 3) / math.gamma(1 / 3)
    return at_zero * f - slope * g


# --- polynomials of integer degree ----------------------------------------------------


def _by_degree(evaluate: Callable) -> Callable:
    def at(x: float, n: float) -> float:
        return float(evaluate(x, [0.0] * int(n) + [1.0]))

    return np.vectorize(at, otypes=[float])


chebyshev_t = _by_degree(chebyshev.chebval)
hermite_h = _by_degree(hermite.hermval)
hermite_he = _by_degree(hermite_e.hermeval)
laguerre_l = _by_degree(laguerre.lagval)
legendre_p = _by_degree(legendre.legval)


def _chebyshev_like(second: Callable[[float], float]) -> Callable:
    """p0 = 1, p1 = second(x), p[n+1] = 2 x p[n] - p[n-1]."""

    def at(x: float, n: float) -> float:
        before, now = 1.0, second(x)
        for _ in range(int(n)):
            before, now = now, 2 * x * now - before
        return before

    return np.vectorize(at, otypes=[float])


chebyshev_u = _chebyshev_like(lambda x: 2 * x)
chebyshev_v = _chebyshev_like(lambda x: 2 * x - 1)
chebyshev_w = _chebyshev_like(lambda x: 2 * x + 1)
