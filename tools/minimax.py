"""Fits the polynomials of core/cpu/vmath.h: `python tools/minimax.py [name ...]`.

Each entry of FITS approximates f(x) by a sum of c[k] * x**k on an interval, the largest weighted error
being as small as can be (Remez exchange, in mpmath). Coefficients are rounded to float32 or float64 one
by one, lowest power first, and the rest refitted around them, so that rounding costs next to nothing.
"""

import sys

import mpmath as mp
import numpy as np

mp.mp.dps = 50


def remez(f, powers, low, high, weight, rounds=12):
    """Coefficients and the weighted error of the best fit by powers of x."""
    n = len(powers)
    middle, half = (low + high) / 2, (high - low) / 2
    # Off the middle and the ends, where weights may vanish.
    nodes = [
        middle - half * mp.cos(mp.pi * (i + mp.mpf("0.47")) / (n + 1))
        for i in range(n + 1)
    ]
    grid = [
        middle - half * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / (24 * n))
        for i in range(24 * n)
    ]
    target = [(f(x), weight(x)) for x in grid]
    best = None
    for _ in range(rounds):
        rows = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for i, x in enumerate(nodes):
            w = weight(x)
            for j, p in enumerate(powers):
                rows[i, j] = w * x**p
            rows[i, n] = (-1) ** i
            right[i] = w * f(x)
        solution = mp.lu_solve(rows, right)
        c = [solution[j] for j in range(n)]
        error = [
            w * (sum(a * x**p for a, p in zip(c, powers)) - y)
            for x, (y, w) in zip(grid, target)
        ]
        worst = max(abs(e) for e in error)
        if best is None or worst < best[1]:
            best = (c, worst)
        # The largest error within each run of one sign: alternating extrema.
        runs, start = [], 0
        for i in range(1, len(grid) + 1):
            if i == len(grid) or (error[i] > 0) != (error[start] > 0):
                runs.append(max(range(start, i), key=lambda k: abs(error[k])))
                start = i
        if len(runs) < n + 1:
            break
        while len(runs) > n + 1:
            runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
        nodes = [grid[i] for i in runs]
        if worst < abs(solution[n]) * mp.mpf("1.0001"):
            break
    return best


def fit(f, powers, low, high, dtype, weight=None, fixed=()):
    """Rounded coefficients for `powers`; the first len(fixed) of them are given."""
    low, high = mp.mpf(low), mp.mpf(high)
    weight = weight or (lambda x: 1 / abs(f(x)))
    done = [mp.mpf(c) for c in fixed]
    while len(done) < len(powers):
        k = len(done)

        def rest(x, k=k, done=tuple(done)):
            return f(x) - sum(c * x**p for c, p in zip(done, powers[:k]))

        c, _ = remez(rest, powers[k:], low, high, weight)
        # With 0 inside, what is left after the constant cannot be refitted: all its powers vanish there.
        count = len(c) if low < 0 < high and weight(mp.mpf(0)) else 1
        done += [mp.mpf(float(dtype(float(a)))) for a in c[:count]]
    grid = [low + (high - low) * i / 999 for i in range(1000)]
    error = max(
        weight(x) * abs(sum(c * x**p for c, p in zip(done, powers)) - f(x))
        for x in grid
    )
    return done, error


def powers(first, last, step=1):
    return list(range(first, last + 1, step))


def series(x, limit, exact, terms):
    """exact(x), or its power series near 0 where the formula would cancel."""
    if abs(x) > limit:
        return exact(x)
    return sum(t * x**k for k, t in enumerate(terms))


F, D = np.float32, np.float64
third = mp.mpf(1) / 3
ln2 = mp.log(2)


# (exp(r) - 1 - r) / r**2, weighted so that the error is relative to exp(r)
def exp_tail(r):
    return mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 40])


def log_tail(f):  # (log(1 + f) - f + f*f/2) / f**3
    return (
        mp.nsum(lambda k: (-f) ** k / (k + 3), [0, mp.inf])
        if abs(f) < 0.01
        else (mp.log(1 + f) - f + f * f / 2) / f**3
    )


def atanh_tail(z):  # log((1 + s) / (1 - s)) = 2 s + s * z * tail, z = s * s
    return mp.nsum(lambda k: 2 * z**k / (2 * k + 3), [0, 60])


def sin_tail(z):  # (sin(r) / r - 1) / z
    return mp.nsum(lambda k: (-1) ** (k + 1) * z**k / mp.factorial(2 * k + 3), [0, 30])


def cos_tail(z):  # (cos(r) - 1 + z/2) / z**2
    return mp.nsum(lambda k: (-1) ** k * z**k / mp.factorial(2 * k + 4), [0, 30])


def tan_tail(z):
    r = mp.sqrt(z)
    return (mp.tan(r) / r - 1) / z if z > mp.mpf("1e-12") else third


def tanh_tail(z):
    r = mp.sqrt(z)
    return (mp.tanh(r) / r - 1) / z if z > mp.mpf("1e-12") else -third


def sinh_tail(z):
    return mp.nsum(lambda k: z**k / mp.factorial(2 * k + 3), [0, 30])


def atan_tail(z):
    return mp.nsum(lambda k: (-1) ** (k + 1) * z**k / (2 * k + 3), [0, 80])


def asin_tail(z):
    s = mp.sqrt(z)
    if z < mp.mpf("1e-4"):
        return (
            mp.mpf(1) / 6
            + 3 * z / 40
            + 15 * z**2 / 336
            + 105 * z**3 / 3456
            + z**4 * 945 / 42240
        )
    return (mp.asin(s) / s - 1) / z


def erf_small(z):  # erf(x) / x - 1
    s = mp.sqrt(z)
    return mp.erf(s) / s - 1 if z > 0 else 2 / mp.sqrt(mp.pi) - 1


def erfcx_mapped(t, k):  # erfcx(x), t = (x - k) / (x + k)
    x = k * (1 + t) / (1 - t)
    e = (
        mp.exp(x * x) * mp.erfc(x)
        if x < 20
        else mp.nsum(
            lambda n: (-1) ** n * mp.fac2(2 * n - 1) / (2 * x * x) ** n, [0, 12]
        )
        / (x * mp.sqrt(mp.pi))
    )
    return e * (1 + 2 * x)  # tends to 2 / sqrt(pi); no pole, no zero


half = ln2 / 2 * mp.mpf("1.0001")
FITS = {
    "exp float": (
        exp_tail,
        powers(0, 4),
        -half,
        half,
        F,
        lambda r: r * r / mp.exp(r),
        (0.5,),
    ),
    "exp double": (
        exp_tail,
        powers(0, 9),
        -half,
        half,
        D,
        lambda r: r * r / mp.exp(r),
        (0.5,),
    ),
    "exp2 float": (
        lambda r: (mp.power(2, r) - 1) / r if r else ln2,
        powers(0, 5),
        "-0.5",
        "0.5",
        F,
        lambda r: abs(r),
    ),
    "exp2 double short": (
        lambda r: (mp.power(2, r) - 1) / r if r else ln2,
        powers(0, 6),
        "-0.5",
        "0.5",
        D,
        lambda r: abs(r),
    ),
    "exp2 double": (
        lambda r: (mp.power(2, r) - 1) / r if r else ln2,
        powers(0, 10),
        "-0.5",
        "0.5",
        D,
        lambda r: abs(r),
    ),
    "log float": (
        log_tail,
        powers(0, 8),
        mp.sqrt(0.5) - 1,
        mp.sqrt(2) - 1,
        F,
        lambda f: abs(f * f),
    ),
    "log double": (
        atanh_tail,
        powers(0, 6),
        0,
        (3 - 2 * mp.sqrt(2)) ** 2,
        D,
        lambda z: z,
    ),
    "sin float": (sin_tail, powers(0, 2), 0, (mp.pi / 4) ** 2, F, lambda z: z),
    "cos float": (cos_tail, powers(0, 2), 0, (mp.pi / 4) ** 2, F, lambda z: z * z),
    "sin double": (sin_tail, powers(0, 5), 0, (mp.pi / 4) ** 2, D, lambda z: z),
    "cos double": (cos_tail, powers(0, 5), 0, (mp.pi / 4) ** 2, D, lambda z: z * z),
    "tan float": (tan_tail, powers(0, 6), 0, (mp.pi / 4) ** 2, F, lambda z: z),
    "tanh float": (tanh_tail, powers(0, 4), 0, mp.mpf("0.63") ** 2, F, lambda z: z),
    "sinh float": (sinh_tail, powers(0, 3), 0, 1, F, lambda z: z),
    "sinh double": (sinh_tail, powers(0, 7), 0, 1, D, lambda z: z),
    "atan float": (atan_tail, powers(0, 4), 0, (mp.sqrt(2) - 1) ** 2, F, lambda z: z),
    "atan double": (atan_tail, powers(0, 10), 0, (mp.sqrt(2) - 1) ** 2, D, lambda z: z),
    "asin float": (asin_tail, powers(0, 4), 0, "0.25", F, lambda z: z),
    "asin double": (asin_tail, powers(0, 11), 0, "0.25", D, lambda z: z),
    "erf float small": (erf_small, powers(0, 6), 0, "0.85", F, lambda z: mp.mpf(1)),
    "erf double small": (erf_small, powers(0, 12), 0, 1, D, lambda z: mp.mpf(1)),
    "erf float large": (
        lambda t: -mp.log(mp.erfc(t)),
        powers(0, 8),
        "0.9",
        "4",
        F,
        mp.erfc,
    ),
    "ndtr float": (
        lambda a: -mp.log(mp.ncdf(-a)),
        powers(0, 11),
        0,
        6,
        F,
        lambda a: 1 / (1 + a),
    ),
    "log1p of 0 to 1": (
        lambda e: mp.log1p(e) / e if e else mp.mpf(1),
        powers(0, 9),
        0,
        1,
        F,
        lambda e: mp.mpf(1),
        (1,),
    ),
    "erfcx float": (lambda t: erfcx_mapped(t, 2), powers(0, 10), -1, "0.68", F, None),
    "erfcx double": (
        lambda t: erfcx_mapped(t, mp.mpf(4)),
        powers(0, 23),
        -1,
        "0.75",
        D,
        None,
    ),
}


def main():
    chosen = sys.argv[1:] or FITS
    for name in chosen:
        f, p, low, high, dtype, weight, *fixed = FITS[name]
        c, error = fit(f, p, low, high, dtype, weight, *fixed)
        suffix = "f" if dtype is F else ""
        digits = 9 if dtype is F else 17
        print(f"{name}: error 2^{float(mp.log(error, 2)):.1f}")
        print("  " + ", ".join(f"{float(v):.{digits}g}{suffix}" for v in c), flush=True)


if __name__ == "__main__":
    main()
