"""Compares core/random with torch, number for number and state for state.

tests/core/build_random.sh /tmp/libember_random.so
python tests/core/check_random.py /tmp/libember_random.so [--bench]
"""

# ruff: noqa: B023  # the lambdas are called before the loop goes on

import ctypes
import sys
import time
from ctypes import c_bool, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p

import torch

SIZES = (0, 1, 2, 15, 16, 17, 31, 100, 623, 1000, 4099)
SEEDS = (0, 42, 2**40 + 123)
CODES = {
    torch.bool: 0, torch.uint8: 1, torch.int8: 2, torch.int16: 3, torch.int32: 4,
    torch.int64: 5, torch.float16: 6, torch.bfloat16: 7, torch.float32: 8,
    torch.float64: 9, torch.uint16: 12, torch.uint32: 13, torch.uint64: 14,
}  # fmt: skip
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
REALS = tuple(d for d in CODES if d not in (torch.uint16, torch.uint32, torch.uint64))

V, I, L, U, D, B = c_void_p, c_int, c_int64, c_uint64, c_double, c_bool
SIGNATURES = {
    "uniform": (V, V, L, I, D, D),
    "normal": (V, V, L, I, D, D, B),
    "exponential": (V, V, L, I, D),
    "cauchy": (V, V, L, I, D, D),
    "log_normal": (V, V, L, I, D, D),
    "geometric": (V, V, L, I, D),
    "integers": (V, V, L, I, L, U),
    "range": (V, V, L, I, L, L),
    "integers_of_dtype": (V, V, L, I),
    "bernoulli": (V, V, L, I, D, D),
    "bernoulli_each": (V, V, L, I, V, I),
    "permutation": (V, V, L, I),
    "poisson": (V, V, V, L, I),
    "binomial": (V, V, V, V, L, I),
    "standard_gamma": (V, V, V, L, I),
    "dirichlet": (V, V, V, L, L, I),
    "multinomial": (V, V, V, L, L, L, I),
    "generator_seed": (V, U),
    "generator_get": (V, V),
    "generator_set": (V, V, c_size_t),
}


class Ours:
    """The driver, filling torch tensors for the sake of comparison."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name, types in SIGNATURES.items():
            getattr(self.lib, name).argtypes = types
        self.lib.generator_new.restype = V
        self.g = self.lib.generator_new(U(0))

    def seed(self, seed):
        self.lib.generator_seed(self.g, seed & (2**64 - 1))

    def state(self):
        out = torch.empty(5056, dtype=torch.uint8)
        self.lib.generator_get(self.g, out.data_ptr())
        return out

    def fill(self, name, out, *args):
        code = CODES[out.dtype]
        getattr(self.lib, name)(self.g, out.data_ptr(), out.numel(), code, *args)
        return out

    def __getattr__(self, name):
        return getattr(self.lib, name)


results = []


def same(name, ours, theirs, state=None, close=False):
    equal = ours.dtype == theirs.dtype and torch.equal(
        ours.nan_to_num() if ours.is_floating_point() else ours,
        theirs.nan_to_num() if theirs.is_floating_point() else theirs,
    )
    text = ""
    if close:  # torch's order of summation is not modelled
        equal = torch.allclose(ours, theirs, rtol=1e-13)
    if not equal:
        a, b = ours.double(), theirs.double()
        off = (a != b).flatten().nonzero().flatten()
        k = int(off[0]) if len(off) else 0
        first = a.flatten()[k].item(), b.flatten()[k].item()
        text = (
            f"{len(off)} of {a.numel()} differ, at {k}: {first[0]!r} for {first[1]!r}"
        )
    if state is not None and not torch.equal(state, torch.get_rng_state()):
        text += " the state differs"
    results.append(not text)
    if text:
        print(f"BAD {name}: {text}")


def check(ours):
    def case(name, n, draw_ours, draw_torch, seeds=SEEDS):
        for seed in seeds:
            torch.manual_seed(seed)
            ours.seed(seed)
            try:
                theirs = draw_torch()
            except (RuntimeError, NotImplementedError) as error:
                print(f"torch cannot: {name}({n}): {str(error)[:90]}")
                return
            same(
                f"{name}({n}) seed {seed}",
                draw_ours(),
                theirs,
                ours.state(),
                close=name == "dirichlet torch.float64",
            )

    def fill(name, n, dtype, method, args, torch_args):
        case(
            f"{name}{torch_args} {dtype}",
            n,
            lambda: ours.fill(name, torch.empty(n, dtype=dtype), *args),
            lambda: getattr(torch.empty(n, dtype=dtype), method)(*torch_args),
        )

    for n in SIZES:
        for d in FLOATS:
            for a, b in (
                (0.0, 1.0),
                (-0.3, 0.61),
                (2.0, 2.0),
                (1000.0, 1000.125),
                (-3e4, 3e4),
            ):
                fill("uniform", n, d, "uniform_", (a, b), (a, b))
            for a, b in ((0.0, 1.0), (2.0, 3.0), (-0.1, 0.0321), (5.5, 0.0)):
                fill("normal", n, d, "normal_", (a, b, True), (a, b))
                fill("log_normal", n, d, "log_normal_", (a, b + 0.1), (a, b + 0.1))
                case(
                    f"normal strided {a} {b} {d}",
                    n,
                    lambda: ours.fill("normal", torch.empty(n, dtype=d), a, b, False),
                    lambda: (
                        torch.zeros(n, 2, dtype=d)[:, 0].normal_(a, b).contiguous()
                        if n > 1
                        else torch.empty(n, dtype=d).normal_(a, b)
                    ),
                )
            for rate in (1.0, 0.5, 2.0, 0.37, 1e-3):
                fill("exponential", n, d, "exponential_", (rate,), (rate,))
            for a, b in ((0.0, 1.0), (1.0, 2.0), (-0.3, 0.71)):
                fill("cauchy", n, d, "cauchy_", (a, b), (a, b))
            for _ in (0, 1):
                prob = torch.linspace(0, 1, n).to(d)
                case(
                    f"bernoulli({d})",
                    n,
                    lambda: ours.fill(
                        "bernoulli_each",
                        torch.empty(n, dtype=d),
                        prob.data_ptr(),
                        CODES[d],
                    ),
                    lambda: torch.bernoulli(prob),
                )
            for out in REALS:
                case(
                    f"bernoulli_({d}) {out}",
                    n,
                    lambda: ours.fill(
                        "bernoulli_each",
                        torch.empty(n, dtype=out),
                        prob.data_ptr(),
                        CODES[d],
                    ),
                    lambda: torch.empty(n, dtype=out).bernoulli_(prob),
                )
            check_samplers(ours, case, n, d)
        for d in REALS:
            for p in (0.0, 0.3, 0.5, 1 / 3, 1.0):
                fill("bernoulli", n, d, "bernoulli_", (p, 1.0), (p,))
            for p in (0.3, 0.9, 0.1):
                fill("geometric", n, d, "geometric_", (p,), (p,))
            top = {torch.bool: 2, torch.uint8: 200, torch.int8: 100}.get(d, 257)
            low = 0 if d in (torch.bool, torch.uint8) else -50
            for a, b in ((0, 2), (0, top), (low, top)):
                fill("range", n, d, "random_", (a, b), (a, b))
            if d in (torch.int64, torch.float64, torch.float32):
                for a, b in ((0, 2**28 - 1), (0, 2**28), (-(2**40), 2**41), (7, 2**62)):
                    fill("range", n, d, "random_", (a, b), (a, b))
            if n < 100:
                case(
                    f"randperm {d}",
                    n,
                    lambda: ours.fill("permutation", torch.empty(n, dtype=d)),
                    lambda: torch.randperm(n, dtype=d),
                )
        fill("integers", n, torch.int64, "random_", (0, 0), (-(2**63), None))
        for d in CODES:
            fill("integers_of_dtype", n, d, "random_", (), ())
        for d in (torch.int64, torch.int32, torch.float64):
            case(
                f"randperm {d}",
                n,
                lambda: ours.fill("permutation", torch.empty(n, dtype=d)),
                lambda: torch.randperm(n, dtype=d),
            )
    n = 150_001  # pieces, threads
    for d in FLOATS:
        fill("uniform", n, d, "uniform_", (-0.3, 0.61), (-0.3, 0.61))
        fill("normal", n, d, "normal_", (0.1, 2.0, True), (0.1, 2.0))
        fill("exponential", n, d, "exponential_", (0.7,), (0.7,))
        fill("bernoulli", n, d, "bernoulli_", (0.7, 1.0), (0.7,))
    for width in (1, 2, 3, 1000, 2**20, 2**28 - 57, 2**31):
        fill("range", n, torch.int64, "random_", (-7, width - 7), (-7, width - 7))
    check_states(ours)


def check_samplers(ours, case, n, d):
    code = CODES[d]

    def each(name, *params):
        out = torch.empty(n, dtype=d)
        getattr(ours, name)(
            ours.g, out.data_ptr(), *[p.data_ptr() for p in params], n, code
        )
        return out

    for top in (9.0, 30.0, 400.0):
        rate = torch.linspace(0, top, n).to(d)
        case(
            f"poisson {top} {d}",
            n,
            lambda: each("poisson", rate),
            lambda: torch.poisson(rate),
        )
        alpha = torch.linspace(0.05, top / 4, n).to(d)
        case(
            f"gamma {top} {d}",
            n,
            lambda: each("standard_gamma", alpha),
            lambda: torch._standard_gamma(alpha),
        )
        count = rate.round()
        p = torch.linspace(0, 1, n).flip(0).to(d)
        case(
            f"binomial {top} {d}",
            n,
            lambda: each("binomial", count, p),
            lambda: torch.binomial(count, p),
        )
    weights = (torch.arange(2 * max(n, 1)) % 7).to(d).reshape(2, -1) + 0.25
    out = torch.empty(2, 33, dtype=torch.int64)

    def draw():
        ours.multinomial(
            ours.g, out.data_ptr(), weights.data_ptr(), 2, weights.shape[1], 33, code
        )
        return out

    case(
        f"multinomial {d}",
        n,
        draw,
        lambda: torch.multinomial(weights, 33, replacement=True),
    )
    alpha = torch.linspace(0.1, 3, 2 * max(n, 1)).to(d).reshape(2, -1)
    simplex = torch.empty_like(alpha)

    def draw_simplex():
        ours.dirichlet(
            ours.g, simplex.data_ptr(), alpha.data_ptr(), 2, alpha.shape[1], code
        )
        return simplex

    case(f"dirichlet {d}", n, draw_simplex, lambda: torch._sample_dirichlet(alpha))


def check_states(ours):
    for seed in SEEDS:
        for n in (0, 1, 3, 16, 623, 624, 625):
            torch.manual_seed(seed)
            ours.seed(seed)
            torch.rand(n)
            ours.fill("uniform", torch.empty(n), 0.0, 1.0)
            torch.randn(3)
            ours.fill("normal", torch.empty(3), 0.0, 1.0, True)
            same(f"state after {n}", ours.state(), torch.get_rng_state())
            state = torch.get_rng_state()
            expected = torch.randn(5)
            ours.seed(99)
            assert ours.generator_set(ours.g, state.data_ptr(), 5056) == 0
            same(
                "restored",
                ours.fill("normal", torch.empty(5), 0.0, 1.0, True),
                expected,
                ours.state(),
            )
    assert (
        ours.generator_set(
            ours.g, torch.zeros(5056, dtype=torch.uint8).data_ptr(), 5056
        )
        == 1
    )
    assert (
        ours.generator_set(ours.g, torch.zeros(100, dtype=torch.uint8).data_ptr(), 100)
        == 1
    )


def bench(ours):
    def best(f):
        times = []
        for _ in range(15):
            began = time.perf_counter()
            f()
            times.append(time.perf_counter() - began)
        return min(times) * 1e3

    n = 1_000_000
    print(f"{'ms for ' + str(n):28} {'ember':>8} {'torch':>8} {'ratio':>6}")

    def row(name, a, b):
        a, b = best(a), best(b)
        print(f"{name:28} {a:8.2f} {b:8.2f} {a / b:6.2f}")

    for d in FLOATS:
        x = torch.empty(n, dtype=d)
        short = str(d)[6:]
        row(
            f"uniform {short}",
            lambda: ours.fill("uniform", x, 0.0, 1.0),
            lambda: x.uniform_(),
        )
        row(
            f"normal {short}",
            lambda: ours.fill("normal", x, 0.0, 1.0, True),
            lambda: x.normal_(),
        )
        row(
            f"bernoulli {short}",
            lambda: ours.fill("bernoulli", x, 0.3, 1.0),
            lambda: x.bernoulli_(0.3),
        )
        row(
            f"exponential {short}",
            lambda: ours.fill("exponential", x, 1.0),
            lambda: x.exponential_(),
        )
    x = torch.empty(n, dtype=torch.int64)
    row(
        "randint", lambda: ours.fill("integers", x, 0, 1000), lambda: x.random_(0, 1000)
    )
    row(
        "randint wide",
        lambda: ours.fill("integers", x, 0, 2**40),
        lambda: x.random_(0, 2**40),
    )
    row("randperm", lambda: ours.fill("permutation", x), lambda: torch.randperm(n))
    x = torch.empty(n, dtype=torch.bool)
    row(
        "bernoulli bool",
        lambda: ours.fill("bernoulli", x, 0.3, 1.0),
        lambda: x.bernoulli_(0.3),
    )
    x = torch.empty(n)
    row("cauchy", lambda: ours.fill("cauchy", x, 0.0, 1.0), lambda: x.cauchy_())
    row(
        "log_normal",
        lambda: ours.fill("log_normal", x, 0.0, 1.0),
        lambda: x.log_normal_(),
    )
    row("geometric", lambda: ours.fill("geometric", x, 0.3), lambda: x.geometric_(0.3))
    rate = torch.full((n,), 20.0)
    row(
        "poisson 20",
        lambda: ours.poisson(ours.g, x.data_ptr(), rate.data_ptr(), n, 8),
        lambda: torch.poisson(rate),
    )
    row(
        "gamma 20",
        lambda: ours.standard_gamma(ours.g, x.data_ptr(), rate.data_ptr(), n, 8),
        lambda: torch._standard_gamma(rate),
    )


if __name__ == "__main__":
    library = Ours(sys.argv[1])
    if "--bench" in sys.argv:
        bench(library)
    else:
        check(library)
        print(f"random: {sum(results)}/{len(results)}")
        sys.exit(not all(results))
