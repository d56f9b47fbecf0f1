"""Computes the Chebyshev series of core/special: `python tools/chebyshev.py [name ...]`.

Each entry is a smooth function of t in [-1, 1]; printed are the coefficients c[k] of sum c[k] * T_k(t),
c[0] already halved, as far as they matter in double precision.
"""

import sys

import mpmath as mp

mp.mp.dps = 40
pi = mp.pi


def coefficients(f, n=72):
    nodes = [mp.cos(pi * (j + mp.mpf(1) / 2) / n) for j in range(n)]
    values = [f(t) for t in nodes]
    c = [
        2
        / mp.mpf(n)
        * sum(
            v * mp.cos(pi * k * (j + mp.mpf(1) / 2) / n) for j, v in enumerate(values)
        )
        for k in range(n)
    ]
    c[0] /= 2
    largest = max(abs(v) for v in c)
    last = max(k for k in range(n) if abs(c[k]) > largest * mp.mpf("2e-17"))
    return c[: last + 1]


def below(high, g):  # g(x) for x in [0, high], t = 2x/high - 1
    return lambda t: g((t + 1) * high / 2)


def squares(high, g):  # g(x) for x in [0, high], t = 2 (x/high)^2 - 1
    return lambda t: g(mp.sqrt((t + 1) / 2) * high)


def above(low, g):  # g(x) for x in [low, inf), t = 2 low/x - 1
    return lambda t: g(2 * low / (t + 1))


def far_squares(low, g):  # g(x) for x in [low, inf), t = 2 (low/x)^2 - 1
    return lambda t: g(low / mp.sqrt((t + 1) / 2))


def phase(order):
    """P and Q of J + i Y = sqrt(2 / (pi x)) (P + i Q) exp(i (x - order pi/2 - pi/4))."""

    def both(x):
        h = mp.besselj(order, x) + 1j * mp.bessely(order, x)
        return h * mp.exp(-1j * (x - order * pi / 2 - pi / 4)) * mp.sqrt(pi * x / 2)

    return (lambda x: mp.re(both(x))), (lambda x: mp.im(both(x)) * x)


p0, q0 = phase(0)
p1, q1 = phase(1)


def airy_right(z):  # Ai(x) = exp(-z) / (2 sqrt(pi) x^(1/4)) * this, z = 2/3 x^(3/2)
    x = (3 * z / 2) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(pi) * x ** mp.mpf("0.25") * mp.exp(z)


def airy_left(z):  # Ai(-x) = (P cos(z - pi/4) + Q/z sin(z - pi/4)) / (sqrt(pi) x^(1/4))
    x = (3 * z / 2) ** (mp.mpf(2) / 3)
    h = (mp.airyai(-x) - 1j * mp.airybi(-x)) * mp.sqrt(pi) * x ** mp.mpf("0.25")
    return h * mp.exp(-1j * (z - pi / 4))


def erfcx(t):  # erfcx(x) (1 + 2x), t = (x - 4) / (x + 4)
    x = 4 * (1 + t) / (1 - t)
    if x < 30:
        return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)
    terms = [(-1) ** n * mp.fac2(2 * n - 1) / (2 * x * x) ** n for n in range(20)]
    return sum(terms) / (x * mp.sqrt(pi)) * (1 + 2 * x)


SERIES = {
    "erfcx": erfcx,
    "i0e below 8": below(8, lambda x: mp.besseli(0, x) * mp.exp(-x)),
    "i0e above 8": above(8, lambda x: mp.besseli(0, x) * mp.exp(-x) * mp.sqrt(x)),
    "i1e below 8": below(8, lambda x: mp.besseli(1, x) * mp.exp(-x) / x),
    "i1e above 8": above(8, lambda x: mp.besseli(1, x) * mp.exp(-x) * mp.sqrt(x)),
    "k0 below 2": squares(
        2, lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)
    ),
    "k0 above 2": above(2, lambda x: mp.besselk(0, x) * mp.exp(x) * mp.sqrt(x)),
    "k1 below 2": squares(
        2, lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))
    ),
    "k1 above 2": above(2, lambda x: mp.besselk(1, x) * mp.exp(x) * mp.sqrt(x)),
    "j0 below 8": squares(8, lambda x: mp.besselj(0, x)),
    "j1 below 8": squares(8, lambda x: mp.besselj(1, x) / x),
    "y0 below 8": squares(
        8, lambda x: mp.bessely(0, x) - 2 / pi * mp.log(x) * mp.besselj(0, x)
    ),
    "y1 below 8": squares(
        8,
        lambda x: (
            (mp.bessely(1, x) - 2 / pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x
        ),
    ),
    "p0 above 8": far_squares(8, p0),
    "q0 above 8": far_squares(8, q0),
    "p1 above 8": far_squares(8, p1),
    "q1 above 8": far_squares(8, q1),
    "airy right": above(mp.mpf(4) / 3 * mp.sqrt(2) / mp.mpf(1), airy_right),
    "airy left p": far_squares(5, lambda z: mp.re(airy_left(z))),
    "airy left q": far_squares(5, lambda z: mp.im(airy_left(z)) * -z),
}


def main():
    for name in sys.argv[1:] or SERIES:
        c = coefficients(SERIES[name])
        print(f"{name}: {len(c)}")
        print("  " + ", ".join(f"{float(v):.17g}" for v in c), flush=True)


if __name__ == "__main__":
    main()
