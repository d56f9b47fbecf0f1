"""Which dtypes out= may have in linear algebra and reductions, and what is said."""

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


# --- reductions -----------------------------------------------------------------------

ROWS = ember.tensor([[1.0, 2.0], [3.0, 4.0]])
REDUCTIONS = {
    "norm": lambda out: ember.norm(ROWS, 2, 0, out=out),
    "vector_norm": lambda out: linalg.vector_norm(ROWS, 2, 0, out=out),
    "amax": lambda out: ember.amax(ROWS, 0, out=out),
    "amin": lambda out: ember.amin(ROWS, 0, out=out),
    "max of all": lambda out: ember.max(ROWS, out=out),
    "logcumsumexp": lambda out: ember.logcumsumexp(ROWS, 0, out=out),
}
PAIRS = "mode max min median nanmedian cummax cummin sort".split()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_take_their_own_dtype_only(name):
    assert REDUCTIONS[name](ember.empty(0)).dtype == ember.float32
    for dtype in (ember.float64, ember.int64):
        with pytest.raises(RuntimeError, match="out tensor to have dtype float"):
            REDUCTIONS[name](ember.empty(0, dtype=dtype))


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_take_their_own_dtypes_only(name):
    function, (long, double) = getattr(ember, name), (ember.int64, ember.float64)
    function(ROWS, 0, out=(ember.empty(0), ember.empty(0, dtype=long)))
    with pytest.raises(RuntimeError, match="for values"):
        out = ember.empty(0, dtype=double), ember.empty(0, dtype=long)
        function(ROWS, 0, out=out)
    with pytest.raises(RuntimeError, match="for indices"):
        function(ROWS, 0, out=(ember.empty(0), ember.empty(0, dtype=double)))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_are_int64(name):
    with pytest.raises(RuntimeError, match="out tensor to have dtype long"):
        getattr(ember, name)(ROWS, 0, out=ember.empty(0))


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
@pytest.mark.parametrize("given", [ember.int32, ember.float32, ember.complex64])
@pytest.mark.parametrize("dtype", [ember.uint8, ember.int32, ember.complex64])
def test_out_stands_for_dtype(name, given, dtype):
    function, x = getattr(ember, name), ROWS.to(given)
    out = ember.empty(0, dtype=dtype)
    assert function(x, 0, out=out) is out and out.dtype == dtype
    assert ember.equal(out, function(x, 0, dtype=dtype))
    with pytest.raises(RuntimeError, match="out tensor to have dtype double"):
        function(x, 0, dtype=ember.float64, out=out)


@pytest.mark.parametrize("name", ["all", "any"])
def test_truth_is_bool_or_bytes(name):
    function = getattr(ember, name)
    for dtype in (ember.bool, ember.uint8):
        for x in (ROWS, ROWS.byte(), ROWS > 9):
            out = ember.empty(0, dtype=dtype)
            assert function(x, 0, out=out) is out and out.dtype == dtype
            assert out.tolist() == function(x, 0).tolist()
    with pytest.raises(RuntimeError, match="only supports bool tensor for result"):
        function(ROWS, 0, out=ember.empty(0))


@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("dim", [None, 0, (0, 1)])
def test_spread_takes_its_flags_by_position_and_out(name, dim):
    function, out = getattr(ember, name), ember.empty(0)
    function(ROWS, dim, False, True, out=out)
    assert ember.equal(out, function(ROWS, dim, correction=0, keepdim=True))


def test_joined_tensors_say_type_error():
    with pytest.raises(TypeError, match="can't be cast to the desired output type"):
        ember.cat([ROWS, ROWS], out=ember.empty(0, dtype=ember.int64))


def test_frexp_and_nonzero_static():
    with pytest.raises(RuntimeError, match="for exponent"):
        ember.frexp(ROWS, out=(ember.empty(0), ember.empty(0, dtype=ember.int64)))
    with pytest.raises(RuntimeError, match="have dtype long"):
        ember.nonzero_static(ROWS, size=1, out=ember.empty(0))
