"""One member of each family, made by either library from the same plain numbers."""

from collections.abc import Callable
from typing import Any

POS, LOC, PROBS = [0.5, 1.5, 3.0], [-1.0, 0.0, 2.0], [0.2, 0.5, 0.9]
ROWS = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
COV = [[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]]
TRIL = [[1.5, 0.0, 0.0], [0.3, 1.0, 0.0], [0.1, -0.2, 1.2]]

# Functions of the module of distributions and of its library's `tensor`.
Maker = Callable[[Any, Any], Any]
SCALAR: dict[str, Maker] = {  # densities of one number
    "Beta": lambda D, t: D.Beta(t([2.0, 1.5, 3.0]), t([1.0, 1.5, 2.0])),
    "Cauchy": lambda D, t: D.Cauchy(t(LOC), t(POS)),
    "Chi2": lambda D, t: D.Chi2(t([2.0, 3.5, 5.0])),
    "ContinuousBernoulli": lambda D, t: D.ContinuousBernoulli(t(PROBS)),
    "Exponential": lambda D, t: D.Exponential(t(POS)),
    "FisherSnedecor": lambda D, t: D.FisherSnedecor(t([3.0, 5.0]), t([9.0, 11.0])),
    "Gamma": lambda D, t: D.Gamma(t([1.0, 1.5, 3.0]), t([3.0, 1.5, 0.5])),
    "GeneralizedPareto": lambda D, t: D.GeneralizedPareto(
        t(LOC), t(POS), t([-0.2, 0.0, 0.3])
    ),
    "Gumbel": lambda D, t: D.Gumbel(t(LOC), t(POS)),
    "HalfCauchy": lambda D, t: D.HalfCauchy(t(POS)),
    "HalfNormal": lambda D, t: D.HalfNormal(t(POS)),
    "InverseGamma": lambda D, t: D.InverseGamma(t([3.0, 4.0]), t([2.0, 1.0])),
    "Kumaraswamy": lambda D, t: D.Kumaraswamy(t([1.0, 1.5, 3.0]), t([3.0, 1.5, 1.0])),
    "Laplace": lambda D, t: D.Laplace(t(LOC), t(POS)),
    "LogNormal": lambda D, t: D.LogNormal(t([-1.0, 0.0]), t([0.5, 1.0])),
    "MixtureSameFamily": lambda D, t: D.MixtureSameFamily(
        D.Categorical(t(PROBS)), D.Normal(t(LOC), t(POS))
    ),
    "Normal": lambda D, t: D.Normal(t(LOC), t(POS)),
    "Pareto": lambda D, t: D.Pareto(t(POS), t([3.0, 3.5, 4.0])),
    "RelaxedBernoulli": lambda D, t: D.RelaxedBernoulli(t(0.7), t(PROBS)),
    "StudentT": lambda D, t: D.StudentT(t([3.0, 4.0, 9.0]), t(LOC), t(POS)),
    "TransformedDistribution": lambda D, t: D.TransformedDistribution(
        D.Normal(t(LOC), t(POS)), [D.AffineTransform(1.0, -0.5), D.SigmoidTransform()]
    ),
    "Uniform": lambda D, t: D.Uniform(t(LOC), t([0.0, 1.5, 5.0])),
    "VonMises": lambda D, t: D.VonMises(t(LOC), t(POS)),
    "Weibull": lambda D, t: D.Weibull(t(POS), t([3.0, 1.5, 1.0])),
}
DISCRETE: dict[str, Maker] = {
    "Bernoulli": lambda D, t: D.Bernoulli(t(PROBS)),
    "Bernoulli logits": lambda D, t: D.Bernoulli(logits=t(LOC)),
    "Binomial": lambda D, t: D.Binomial(10, t(PROBS)),
    "Categorical": lambda D, t: D.Categorical(t(ROWS)),
    "Categorical logits": lambda D, t: D.Categorical(logits=t(LOC)),
    "Geometric": lambda D, t: D.Geometric(t([0.3, 0.5, 0.9])),
    "Multinomial": lambda D, t: D.Multinomial(7, t(ROWS)),
    "NegativeBinomial": lambda D, t: D.NegativeBinomial(t(POS), t([0.2, 0.5, 0.6])),
    "OneHotCategorical": lambda D, t: D.OneHotCategorical(t(ROWS)),
    "OneHotCategoricalStraightThrough": lambda D, t: D.OneHotCategoricalStraightThrough(
        t(ROWS)
    ),
    "Poisson": lambda D, t: D.Poisson(t([2.5, 7.5, 15.0])),
}
VECTOR: dict[str, Maker] = {
    "Dirichlet": lambda D, t: D.Dirichlet(t(POS)),
    "Independent": lambda D, t: D.Independent(D.Normal(t([LOC, LOC]), t(POS)), 1),
    "LKJCholesky": lambda D, t: D.LKJCholesky(3, t(POS)),
    "LogisticNormal": lambda D, t: D.LogisticNormal(t(LOC), t(POS)),
    "LowRankMultivariateNormal": lambda D, t: D.LowRankMultivariateNormal(
        t(LOC), t([[1.0, 0.5], [0.2, 0.3], [-0.4, 0.1]]), t(POS)
    ),
    "MultivariateNormal": lambda D, t: D.MultivariateNormal(t(LOC), t(COV)),
    "MultivariateNormal precision": lambda D, t: D.MultivariateNormal(
        t([LOC, LOC]), precision_matrix=t(COV)
    ),
    "MultivariateNormal scale": lambda D, t: D.MultivariateNormal(
        t(LOC), scale_tril=t(TRIL)
    ),
    "RelaxedOneHotCategorical": lambda D, t: D.RelaxedOneHotCategorical(
        t(0.7), t(ROWS)
    ),
    "Wishart": lambda D, t: D.Wishart(t(5.0), t(COV)),
}
ALL = SCALAR | DISCRETE | VECTOR
