"""The rows of core/scalar_functions.h: name, NumPy function, dtypes, domain."""

# fmt: off
import numpy as np

from tests.ops import reference as r
from tests.ops.entry import S, T, alias, op

INTEGERS = (-2, -1, 0, 1, 2)
HALVES = (-1.5, -0.5, 0.5, 1.5)


def unary(
    name, ref, dtypes="bifhc", result="float", grad=True, tol=1, skip="", **domain
):
    """`domain` bounds the samples and keeps them away from kinks and poles."""
    samples = [T(3, 5, **domain), T(67, **domain), T(**domain)]
    op(name, *samples, ref=ref, dtypes=dtypes, result=result, grad=grad, tol=tol,
       skip=skip)


def binary(
    name,
    ref,
    dtypes="ifhc",
    result="promote",
    grad=True,
    tol=1,
    a=None,
    b=None,
    skip="",
):
    a, b = a or {}, b or {}
    samples = [S(T(3, 5, **a), T(3, 5, **b)), S(T(67, **a), T(67, **b))]
    op(name, *samples, ref=ref, dtypes=dtypes, result=result, grad=grad, tol=tol,
       skip=skip)


POSITIVE = {"low": 0.2, "high": 3}
UNIT = {"low": -0.9, "high": 0.9}
NONZERO = {"away": (0,)}

# --- arithmetic -----------------------------------------------------------------------
unary("abs", np.abs, "ifhc", "real", away=(0,))
unary("neg", np.negative, "ifhc", "promote")
unary("sign", lambda x: np.sign(x * 1), "bifh", "promote", away=(0,))
unary("sgn", lambda x: x / np.abs(x), "fhc", "promote", away=(0,))
unary("ceil", np.ceil, "ifh", "promote", away=INTEGERS)
unary("floor", np.floor, "ifh", "promote", away=INTEGERS)
unary("trunc", np.trunc, "ifh", "promote", away=INTEGERS)
unary("round", np.round, "ifh", "promote", away=HALVES)
unary("frac", lambda x: x - np.trunc(x), "fh", "promote", away=INTEGERS)
unary("square", np.square, "ifhc", "promote")
unary("reciprocal", lambda x: 1 / x, "ifhc", away=(0,), low=0.2)
unary("sqrt", np.sqrt, **POSITIVE)
unary("rsqrt", lambda x: 1 / np.sqrt(x), "ifhc", **{**POSITIVE, "low": 0.5})
unary("conj_physical", np.conj, "bifhc", "promote")
unary("bitwise_not", np.invert, "ib", "promote")
unary("deg2rad", np.deg2rad, "bifh")
unary("rad2deg", np.rad2deg, "bifh")

binary("add", np.add, "bifhc")
binary("sub", np.subtract)
binary("mul", np.multiply, "bifhc")
binary("div", np.divide, "ifhc", "float", b=NONZERO)
binary("floor_divide", np.floor_divide, "ifh", b=NONZERO)
binary("remainder", np.mod, "ifh", b=NONZERO, tol=4)
binary("fmod", np.fmod, "ifh", b=NONZERO, tol=4)
binary("maximum", np.maximum, "bifh")
binary("minimum", np.minimum, "bifh")
binary("fmax", np.fmax, "bifh")
binary("fmin", np.fmin, "bifh")
binary("clamp_min", np.maximum, "bifh")
binary("clamp_max", np.minimum, "bifh")
binary("copysign", np.copysign, "ifh", "float", a=NONZERO, b=NONZERO)
binary("nextafter", np.nextafter, "f", grad=False)
binary(
    "heaviside", np.heaviside, "ifh", a=NONZERO, skip="promotion"
)  # same dtypes only
binary("bitwise_and", np.bitwise_and, "ib")
binary("bitwise_or", np.bitwise_or, "ib")
binary("bitwise_xor", np.bitwise_xor, "ib")
binary("bitwise_left_shift", np.left_shift, "i", b={"low": 0, "high": 4})
binary("bitwise_right_shift", np.right_shift, "i", b={"low": 0, "high": 4})
binary("gcd", np.gcd, "i")
binary("lcm", np.lcm, "i")

# --- exponentials ---------------------------------------------------------------------
unary("exp", np.exp)
unary("exp2", np.exp2, "bifh")
unary("expm1", np.expm1)
unary("log", np.log, "ifhc", **POSITIVE)
unary("log2", np.log2, "ifhc", **POSITIVE)
unary("log10", np.log10, "ifhc", **POSITIVE)
unary("log1p", np.log1p, **POSITIVE)
unary("sinh", np.sinh)
unary("cosh", np.cosh)
unary("tanh", np.tanh)
unary("asinh", np.arcsinh)
unary("acosh", np.arccosh, "fhc", low=1.2, high=3)
unary("atanh", np.arctanh, "fhc", **UNIT)
binary("pow", np.power, "ifhc", a={"low": 0.2, "high": 3}, b={"low": 0, "high": 3})
binary("ldexp", lambda a, b: a * 2.0**b, "ifh", "float")
binary("xlogy", lambda a, b: a * np.log(b), "ifh", "float", a=POSITIVE, b=POSITIVE)
binary("special.xlog1py", lambda a, b: a * np.log1p(b), "ifh", "float", a=POSITIVE, b=POSITIVE)
SMALL = {"low": -1, "high": 1}
binary("logaddexp", lambda a, b: np.log(np.exp(a) + np.exp(b)), "fhc", a=SMALL, b=SMALL)
binary("logaddexp2", np.logaddexp2, "fh")

# --- trigonometric --------------------------------------------------------------------
unary("sin", np.sin)
unary("cos", np.cos)
unary("tan", np.tan, low=-1.2, high=1.2)
unary("asin", np.arcsin, "fhc", **UNIT)
unary("acos", np.arccos, "fhc", **UNIT)
unary("atan", np.arctan, low=-0.9, high=2)
unary("sinc", np.sinc, "bifh", away=(0,))
unary("angle", np.angle, "bifh", away=(0,))
binary("atan2", np.arctan2, "ifh", "float", a=NONZERO, b=NONZERO)
binary("hypot", np.hypot, "fh", a=NONZERO, b=NONZERO)

# --- activations ----------------------------------------------------------------------
unary("sigmoid", r.sigmoid)
unary("nn.functional.logsigmoid", lambda x: -np.log1p(np.exp(-x)), "fh", "promote")
unary("relu", lambda x: np.maximum(x, 0), "ifh", "promote", away=(0,))
unary("nn.functional.relu6", lambda x: np.clip(x, 0, 6), "ifh", "promote", away=(0, 6), high=8)
unary("nn.functional.gelu", r.gelu, "fh", "promote")
unary("nn.functional.silu", lambda x: x * r.sigmoid(x), "fhc", "promote")
unary("nn.functional.mish", lambda x: x * np.tanh(r.softplus(x)), "fh", "promote")
unary("nn.functional.softsign", lambda x: x / (1 + np.abs(x)), "ifh", away=(0,))
unary("nn.functional.tanhshrink", lambda x: x - np.tanh(x), "ifh")
unary("nn.functional.hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6, "fh", "promote", low=-5,
      high=5, away=(-3, 3))
unary("nn.functional.hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6, "fh", "promote", low=-5,
      high=5, away=(-3, 3))
unary("logit", lambda x: np.log(x / (1 - x)), "fh", low=0.1, high=0.9)
op("nn.functional.prelu", S(T(3, 5, away=(0,)), T(5)), S(T(3, 5, away=(0,)), T(1)), dtypes="fh",
   ref=lambda x, w: np.where(x > 0, x, w * x), result="promote",
   skip="broadcast promotion empty")  # a weight, and one for each channel
alias("prelu", "nn.functional.prelu")

X = T(3, 5, away=(0,))
F = "nn.functional."


def activation(name, ref, *samples, tol=1):
    """Gradients of in-place forms need an input that is no leaf, so they have no check."""
    op(F + name, *samples, ref=ref, dtypes="fh", result="same", tol=tol, grad=not name.endswith("_"))


def elu(x, alpha=1.0, inplace=False):
    return np.where(x > 0, x, alpha * np.expm1(x))


def selu(x, inplace=False):
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def celu(x, alpha=1.0, inplace=False):
    return np.where(x > 0, x, alpha * np.expm1(x / alpha))


def leaky_relu(x, negative_slope=0.01, inplace=False):
    return np.where(x > 0, x, negative_slope * x)


def threshold(x, at, value, inplace=False):
    return np.where(x > at, x, value)


for name, ref, samples in (
    ("relu", lambda x, inplace=False: np.maximum(x, 0), [X]),
    ("elu", elu, [X, S(X, 0.5)]),
    ("selu", selu, [X]),
    ("celu", celu, [X, S(X, 0.5)]),
    ("leaky_relu", leaky_relu, [X, S(X, 0.2)]),
    ("hardtanh", lambda x, low=-1, high=1: np.clip(x, low, high), [T(3, 5, away=(-1, 1))]),
    ("threshold", threshold, [S(X, 0.0, -3.0)]),
):
    activation(name, ref, *samples)
    activation(name + "_", ref, *(S(*s.args) if isinstance(s, S) else s for s in samples))
op("selu", X, ref=selu, dtypes="fh", result="same")
op("celu", X, S(X, 0.5), ref=celu, dtypes="fh", result="same")
op("threshold", S(X, 0.0, -3.0), ref=threshold, dtypes="fh", result="same")
AWAY = T(3, 5, away=(-0.5, 0.5))
op("hardshrink", AWAY, S(AWAY, 0.5), ref=lambda x, d=0.5: np.where(np.abs(x) > d, x, 0), dtypes="fh",
   result="same")
alias(F + "hardshrink", "hardshrink")
activation("softshrink", lambda x, d=0.5: np.sign(x) * np.maximum(np.abs(x) - d, 0), AWAY, S(AWAY, 0.5))
op("_huber", S(AWAY, 0.5), S(AWAY, 3.0), dtypes="fh", result="same",
   ref=lambda x, d: np.where(np.abs(x) <= d, x * x / 2, d * (np.abs(x) - d / 2)))
activation("softplus", lambda x, beta=1.0, limit=20.0: r.softplus(x, beta), X, S(X, 2.0))

# --- special functions ----------------------------------------------------------------
unary("erf", r.erf, "bifh")
unary("erfc", r.erfc, "bifh")
unary("erfinv", r.erfinv, "fh", tol=4, **UNIT)
unary("special.erfcx", lambda x: np.exp(x * x) * r.erfc(x), "bif", tol=100)
unary("special.ndtr", r.ndtr, "bifh")
unary("special.ndtri", r.ndtri, "f", tol=10, low=0.05, high=0.95)
unary("special.log_ndtr", lambda x: np.log(r.ndtr(x)), "bif", tol=10)
unary("special.entr", r.entr, "bifh", low=0.1, high=2)
unary("lgamma", r.lgamma, "ifh", tol=10, low=0.3, high=4)
unary("digamma", r.digamma, "ifh", tol=100, low=0.3, high=4)
unary("i0", np.i0, "bifh", tol=10)
unary("special.i0e", r.bessel_i(0, scaled=True), "bifh", away=(0,), tol=10)
unary("special.i1", r.bessel_i(1), "bifh", away=(0,), tol=10)
unary("special.i1e", r.bessel_i(1, scaled=True), "bifh", away=(0,), tol=10)
unary("special.bessel_j0", r.bessel_j(0), "bif", tol=20)
unary("special.bessel_j1", r.bessel_j(1), "bif", away=(0,), tol=20)
unary("special.bessel_y0", r.bessel_y(0), "if", tol=100, low=0.3, high=6)
unary("special.bessel_y1", r.bessel_y(1), "if", tol=100, low=0.3, high=6)
unary("special.modified_bessel_i0", r.bessel_i(0), "bif", tol=20)
unary("special.modified_bessel_i1", r.bessel_i(1), "bif", away=(0,), tol=20)
unary("special.modified_bessel_k0", r.bessel_k(0), "if", tol=100, low=0.3, high=4)
unary("special.modified_bessel_k1", r.bessel_k(1), "if", tol=100, low=0.3, high=4)
unary("special.scaled_modified_bessel_k0", r.bessel_k(0, True), "if", tol=100, low=0.3, high=4)
unary("special.scaled_modified_bessel_k1", r.bessel_k(1, True), "if", tol=100, low=0.3, high=4)
unary("special.spherical_bessel_j0", r.spherical_j0, "bif", tol=20, away=(0,))
unary("special.airy_ai", r.airy_ai, "bif", grad=False, tol=100)
binary("special.zeta", r.zeta, "f", "float", a={"low": 1.5, "high": 4, "grad": False},
       b=POSITIVE, tol=100)
binary("igamma", r.igamma, "f", a={**POSITIVE, "grad": False}, b=POSITIVE, tol=100)
binary("igammac", r.igammac, "f", a={**POSITIVE, "grad": False}, b=POSITIVE, tol=100)

DEGREE = {"low": 0, "high": 6, "make": np.round}
for polynomial, reference in {
    "special.chebyshev_polynomial_t": r.chebyshev_t,
    "special.chebyshev_polynomial_u": r.chebyshev_u,
    "special.chebyshev_polynomial_v": r.chebyshev_v,
    "special.chebyshev_polynomial_w": r.chebyshev_w,
    "special.hermite_polynomial_h": r.hermite_h,
    "special.hermite_polynomial_he": r.hermite_he,
    "special.laguerre_polynomial_l": r.laguerre_l,
    "special.legendre_polynomial_p": r.legendre_p,
}.items():
    binary(polynomial, reference, "f", "float", grad=False, a=UNIT, b=DEGREE, tol=200)
for kind, reference in zip(
    "tuvw", (r.chebyshev_t, r.chebyshev_u, r.chebyshev_v, r.chebyshev_w), strict=True
):
    binary(
        f"special.shifted_chebyshev_polynomial_{kind}",
        lambda x, n, reference=reference: reference(2 * x - 1, n),
        "f", "float", grad=False, a={"low": 0.1, "high": 0.9}, b=DEGREE, tol=200,
    )

# --- comparisons ----------------------------------------------------------------------


def odd_values(x):
    """Every third element becomes inf, -inf or nan, by turns, where there are such."""
    if x.dtype.kind not in "fc":
        return x
    x = x.copy()
    for i, special in enumerate((np.inf, -np.inf, np.nan)):
        x.reshape(-1)[i::9] = special
    return x


for name, ref, dtypes in (
    ("isnan", np.isnan, "bifhc"),
    ("isinf", np.isinf, "bifhc"),
    ("isfinite", np.isfinite, "bifhc"),
    ("isposinf", lambda x: x == np.inf, "bifh"),
    ("isneginf", lambda x: x == -np.inf, "bifh"),
    ("logical_not", np.logical_not, "bifhc"),
    ("isreal", np.isreal, "bifhc"),
):
    unary(name, ref, dtypes, "bool", make=odd_values)
unary("signbit", lambda x: np.signbit(x * 1.0), "bifh", "bool")
EQUAL_PARTS = {"make": np.round}
for name, ref, dtypes in (
    ("eq", np.equal, "bifhc"),
    ("ne", np.not_equal, "bifhc"),
    ("lt", np.less, "bifh"),
    ("le", np.less_equal, "bifh"),
    ("gt", np.greater, "bifh"),
    ("ge", np.greater_equal, "bifh"),
    ("logical_and", np.logical_and, "bifhc"),
    ("logical_or", np.logical_or, "bifhc"),
    ("logical_xor", np.logical_xor, "bifhc"),
):
    binary(name, ref, dtypes, "bool", a=EQUAL_PARTS, b=EQUAL_PARTS)
binary("isclose", np.isclose, "fc", "bool", a=EQUAL_PARTS, b=EQUAL_PARTS)

op("polygamma", S(1, T(3, 5, low=0.5, high=4)), S(2, T(3, 5, low=0.5, high=4)), ref=r.polygamma, dtypes="f",
   tol=200, skip="inplace")  # x.polygamma_(n): another order
op("special.polygamma", S(1, T(3, 5, low=0.5, high=4)), ref=r.polygamma, dtypes="f", tol=200)
op("mvlgamma", S(T(3, 4, low=2, high=5), 2), dtypes="f", tol=20,
   ref=lambda x, p: 0.5 * np.log(np.pi) + r.lgamma(x) + r.lgamma(x - 0.5))
alias("special.multigammaln", "mvlgamma")

# --- other names ------------------------------------------------------------------------
for name, of in {
    "absolute": "abs", "negative": "neg", "fix": "trunc", "arccos": "acos", "arccosh": "acosh",
    "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh", "arctan2": "atan2",
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "greater": "gt",
    "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne",
    "special.expit": "sigmoid", "special.gammaln": "lgamma", "special.psi": "digamma",
    "special.gammainc": "igamma", "special.gammaincc": "igammac",
}.items():
    alias(name, of)
for name in ("logit", "digamma", "erf", "erfc", "erfinv", "i0", "exp2", "expm1", "log1p", "sinc", "xlogy", "round"):
    alias("special." + name, name)
op("frexp", T(3, 4), ref=np.frexp, dtypes="f", grad=False, tol=10)
