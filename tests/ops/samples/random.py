"""Random numbers and dropout: core/ops/random.cpp, sample.cpp, dropout.cpp.

The streams themselves are compared with torch's elsewhere; here: forms, dtypes, seeds.
"""

# fmt: off
import ember
from tests.ops.entry import S, T, op

SIZES = [S((2, 3)), S(2, 3), S((0, 2)), S((2,), dtype=ember.float64)]
P = T(2, 3, low=0.1, high=0.9)
OWN = {"random": True, "grad": False}

op("rand", *SIZES, **OWN)
op("randn", *SIZES, **OWN)
op("rand_like", T(2, 3), S(T(2, 3), dtype=ember.float64), **OWN)
op("randn_like", T(2, 3), S(T(2, 3), dtype=ember.float64), **OWN)
op("randint", S(5, (2, 3)), S(-3, 5, (2, 3)), S(9, (2,), dtype=ember.int32), **OWN,
   errors=[(S(5, 5, (2,)), RuntimeError, "from|low|range")])
op("randint_like", S(T(2, 3), 5), S(T(2, 3), -3, 5), **OWN)
op("randperm", S(5), S(0), S(5, dtype=ember.int32), **OWN)
op("normal", S(0.0, 1.0, (2, 3)), S(T(3), P), S(T(3), 2.0), S(1.0, P), **OWN,
   skip="empty")  # shapes of their own
op("uniform_", T(2, 3), S(T(2, 3), -1.0, 2.0), **OWN,
   errors=[(S(T(2), 2.0, 1.0), RuntimeError, "")])
op("normal_", T(2, 3), S(T(2, 3), 1.0, 2.0), **OWN,
   errors=[(S(T(2), 0.0, -1.0), RuntimeError, "")])
op("random_", T(2, 3), S(T(2, 3), 7), S(T(2, 3), -3, 7), **OWN)
op("exponential_", T(2, 3), S(T(2, 3), 2.0), **OWN)
op("geometric_", S(T(2, 3), 0.3), **OWN)
op("cauchy_", T(2, 3), S(T(2, 3), 1.0, 2.0), **OWN)
op("log_normal_", T(2, 3), S(T(2, 3), 0.5, 0.2), **OWN)
op("bernoulli", P, S(T(2, 3), 0.3), **OWN,
   errors=[(S(T(2, low=2, high=3)), RuntimeError, "")])
op("bernoulli_", T(2, 3), S(T(2, 3), 0.3), S(T(2, 3), P), **OWN)
op("poisson", T(2, 3, low=0, high=9), **OWN)
op("binomial", S(T(2, 3, low=1, high=9, make=lambda x: x.round()), P), **OWN)
op("_sample_dirichlet", T(2, 3, low=0.5, high=4), **OWN)
op("_standard_gamma", T(2, 3, low=0.5, high=4), **OWN)
op("multinomial", S(P, 2), S(P, 5, True), S(T(4, low=0.1, high=1), 3), **OWN,
   errors=[(S(P, 4), RuntimeError, "")])
for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
    for suffix in ("", "_"):
        op(name + suffix, S(T(2, 3, 4), 0.5, True), S(T(2, 3, 4), 0.5, False), **OWN,
           errors=[(S(T(2, 3, 4), 1.5, True), RuntimeError, "between 0 and 1")])
op("native_dropout", S(T(2, 3), 0.5, True), **OWN)
