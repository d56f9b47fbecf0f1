"""Which dtypes out= may have in linear algebra, and what the refusal says."""

import pytest

import ember

linalg = ember.linalg
EYE = ember.eye(2)
# where the result must fit, and where its dtype is asked for
SAFE = {
    "cond": lambda out: linalg.cond(EYE, out=out),
    "tensorinv": lambda out: linalg.tensorinv(EYE, 1, out=out),
    "householder_product": lambda out: linalg.householder_product(
        EYE, ember.ones(2), out=out
    ),
    "pinv": lambda out: linalg.pinv(EYE, out=out),
    "cholesky_solve": lambda out: ember.cholesky_solve(EYE, EYE, out=out),
    "cholesky_inverse": lambda out: ember.cholesky_inverse(EYE, out=out),
}
EXACT = {
    "cholesky": lambda out: linalg.cholesky(EYE, out=out),
    "inv": lambda out: linalg.inv(EYE, out=out),
    "eigvalsh": lambda out: linalg.eigvalsh(EYE, out=out),
}


@pytest.mark.parametrize("name", SAFE)
def test_safe(name):
    with pytest.raises(
        RuntimeError,
        match="to be safely castable from Float dtype, but got result with dtype Int",
    ):
        SAFE[name](ember.empty(0, dtype=ember.int32))
    assert SAFE[name](ember.empty(0, dtype=ember.float64)).dtype == ember.float64


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", [ember.int32, ember.float64])
def test_exact(name, dtype):
    with pytest.raises(RuntimeError, match="out tensor to have dtype float, but got"):
        EXACT[name](ember.empty(0, dtype=dtype))


def test_named_results():
    outs = ember.empty(0), ember.empty(0)
    with pytest.raises(RuntimeError, match="Expected eigenvalues to be safely"):
        linalg.eig(EYE, out=outs)


def test_singular_matrices_have_infinite_condition():
    a = ember.tensor([[1.0, 0.0], [0.0, 0.0]])
    for p in (1, -1, float("inf"), -float("inf"), "fro"):
        assert linalg.cond(a, p).item() == float("inf"), p


def test_upper_factor_is_laid_out_by_columns():
    a = ember.tensor([[4.0, 2.0], [2.0, 3.0]])
    for upper in (False, True):
        assert linalg.cholesky(a, upper=upper).mT.is_contiguous()
    u = linalg.cholesky(a, upper=True)
    assert ember.allclose(u.mT @ u, a)


@pytest.mark.parametrize("ord", [1j, 2 + 1j])
def test_orders_are_real(ord):
    for norm in (linalg.norm, linalg.vector_norm, linalg.matrix_norm):
        with pytest.raises(RuntimeError, match="non-complex scalar"):
            norm(EYE, ord)
