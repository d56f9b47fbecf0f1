"""Computes the coefficients of core/special/incomplete_gamma.h.

Temme's uniform expansion of the upper incomplete gamma function (DLMF 8.12): Q(a, x) =
erfc(eta sqrt(a / 2)) / 2 + exp(-a eta^2 / 2) / sqrt(2 pi a) sum c_k(eta) / a^k, with
mu = x / a - 1 and eta^2 / 2 = mu - log(1 + mu). Printed are the Taylor coefficients in
eta of each c_k: c_0 = 1 / mu - 1 / eta and c_k = c'_(k-1) / eta + s_k / mu, where s_k
takes away the pole at 0. They are exact fractions until they are printed.
"""

from fractions import Fraction

TERMS = 48  # of the series in eta that are kept on the way
ROWS = (17, 14, 12, 10, 8, 6, 4, 2)  # coefficients that matter where |eta| < 0.34


def distance():
    """mu as a series in eta, from mu mu' = eta (1 + mu)."""
    mu = [Fraction(0), Fraction(1)]
    for n in range(2, TERMS + 3):
        known = sum(mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n))
        mu.append((mu[n - 1] - known) / (n + 1))
    return mu


def reciprocal(mu):
    """eta / mu."""
    out = [Fraction(1)]
    for n in range(1, TERMS + 2):
        out.append(-sum(mu[i + 1] * out[n - i] for i in range(1, n + 1)))
    return out


if __name__ == "__main__":
    inverse = reciprocal(distance())
    row = inverse[1:]
    for k, count in enumerate(ROWS):
        if k:
            pole = row[1]
            row = [
                (n + 2) * row[n + 2] - pole * inverse[n + 1]
                for n in range(len(row) - 2)
            ]
        print(f"// c_{k}")
        print(", ".join(repr(float(c)) for c in row[:count]))
