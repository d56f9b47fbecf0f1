"""Linear algebra on the device, against what defines it and against the CPU."""

import pytest

import ember
from ember import linalg
from ember.testing import assert_close

# Two of four: each makes the device compile every kernel.
DTYPES = [ember.float32, ember.complex128]
SHAPES = [(1, 1), (3, 3), (2, 5, 5), (4, 7), (2, 9, 4), (2, 2, 3, 2), (70, 66), (1, 6)]
SQUARE = [(1, 1), (3, 3), (2, 5, 5), (2, 2, 4, 4), (67, 67)]


def times(shape):
    return "x".join(map(str, shape))


def numbers(*shape, dtype=ember.float64, seed=0):
    g = ember.Generator().manual_seed(seed)
    real = ember.randn(*shape, generator=g, dtype=ember.float64)
    if dtype.is_complex:
        return ember.complex(
            real, ember.randn(*shape, generator=g, dtype=ember.float64)
        ).to(dtype)
    return real.to(dtype)


def adjoint(a):
    return a.transpose(-2, -1).conj()


def symmetric(*shape, dtype, seed=0):
    a = numbers(*shape, dtype=dtype, seed=seed)
    return a + adjoint(a)


def tolerance(dtype):
    loose = dtype in (ember.float32, ember.complex64)
    return {"rtol": 1e-4, "atol": 2e-4} if loose else {"rtol": 1e-9, "atol": 1e-10}


def both(f, *inputs, dtype):
    """f on the CPU and on the device give the same."""
    expected = f(*inputs)
    actual = f(*(t.to("opencl") for t in inputs))
    if ember.is_tensor(expected):
        expected, actual = [expected], [actual]
    for e, a in zip(expected, actual):
        assert a.device.type == "opencl"
        assert_close(a.cpu(), e, **tolerance(dtype))
    return [a.cpu() for a in actual]


def eye_like(a):
    return ember.eye(a.shape[-1], dtype=a.dtype).expand(a.shape)


each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@each_dtype
@pytest.mark.parametrize("shape", SHAPES, ids=times)
def test_lu(shape, dtype):
    a = numbers(*shape, dtype=dtype)
    both(linalg.lu_factor, a, dtype=dtype)
    both(linalg.lu, a, dtype=dtype)


@each_dtype
@pytest.mark.parametrize("shape", SQUARE, ids=times)
def test_systems(shape, dtype):
    a = numbers(*shape, dtype=dtype) + 3 * ember.eye(shape[-1], dtype=dtype)
    b = numbers(*shape[:-1], 3, dtype=dtype, seed=1)
    both(linalg.solve, a, b, dtype=dtype)
    both(linalg.inv, a, dtype=dtype)
    both(lambda a, b: linalg.solve(a, adjoint(b), left=False), a, b, dtype=dtype)
    for adjoint_too in (False, True):
        for left in (False, True):
            both(
                lambda a, b, left=left, adj=adjoint_too: linalg.lu_solve(
                    *linalg.lu_factor(a),
                    b if left else adjoint(b),
                    left=left,
                    adjoint=adj,
                ),
                a,
                b,
                dtype=dtype,
            )
    if shape[-1] < 10:
        both(linalg.det, a, dtype=dtype)
    both(linalg.slogdet, a, dtype=dtype)


@each_dtype
@pytest.mark.parametrize("shape", SQUARE, ids=times)
def test_cholesky(shape, dtype):
    a = numbers(*shape, dtype=dtype)
    a = a @ adjoint(a) + shape[-1] * ember.eye(shape[-1], dtype=dtype)
    b = numbers(*shape[:-1], 2, dtype=dtype, seed=1)
    both(linalg.cholesky, a, dtype=dtype)
    both(lambda a, b: ember.cholesky_solve(b, linalg.cholesky(a)), a, b, dtype=dtype)
    both(
        lambda a, b: linalg.solve_triangular(a, b, upper=True), a.triu(), b, dtype=dtype
    )


@each_dtype
@pytest.mark.parametrize("shape", SHAPES, ids=times)
def test_qr(shape, dtype):
    a = numbers(*shape, dtype=dtype)
    for mode in ("reduced", "complete"):
        q, r = both(lambda a, mode=mode: linalg.qr(a, mode), a, dtype=dtype)
        assert_close(q @ r, a, **tolerance(dtype))
        assert_close(adjoint(q) @ q, eye_like(adjoint(q) @ q), **tolerance(dtype))
    both(ember.geqrf, a, dtype=dtype)
    m = shape[-2]
    for left in (False, True):
        for transpose in (False, True):
            c = numbers(*shape[:-2], *((m, 3) if left else (3, m)), dtype=dtype, seed=1)
            both(
                lambda a, c, left=left, transpose=transpose: ember.ormqr(
                    *ember.geqrf(a), c, left, transpose
                ),
                a,
                c,
                dtype=dtype,
            )


@each_dtype
@pytest.mark.parametrize("shape", SQUARE, ids=times)
def test_eigh(shape, dtype):
    a = symmetric(*shape, dtype=dtype)
    (values,) = both(linalg.eigvalsh, a, dtype=dtype)
    for uplo, other in (("L", ember.tril), ("U", ember.triu)):
        l, v = (t.cpu() for t in linalg.eigh(other(a).to("opencl"), uplo))
        assert_close(l, values, **tolerance(dtype))
        assert_close(
            v @ ember.diag_embed(l.to(dtype)) @ adjoint(v), a, **tolerance(dtype)
        )
        assert_close(adjoint(v) @ v, eye_like(a), **tolerance(dtype))


@each_dtype
def test_eigh_of_repeated_values_and_extremes(dtype):
    eye = ember.eye(5, dtype=dtype)
    for a in (eye, 0 * eye, ember.ones(5, 5, dtype=dtype), 1e30 * eye, 1e-30 * eye):
        both(linalg.eigvalsh, a, dtype=dtype)
        v = linalg.eigh(a.to("opencl"))[1].cpu()
        assert_close(adjoint(v) @ v, eye, **tolerance(dtype))


@each_dtype
@pytest.mark.parametrize("shape", SQUARE, ids=times)
def test_eig(shape, dtype):
    a = numbers(*shape, dtype=dtype)
    w, v = (t.cpu() for t in linalg.eig(a.to("opencl")))
    wide = a.to(v.dtype)
    assert_close(wide @ v, v * w.unsqueeze(-2), **tolerance(dtype))
    assert_close(v.abs().pow(2).sum(-2), ember.ones_like(w.real), **tolerance(dtype))
    only = linalg.eigvals(a.to("opencl")).cpu()
    for values in (w, only):
        assert_close(
            values.sum(-1), wide.diagonal(0, -2, -1).sum(-1), **tolerance(dtype)
        )
        assert_close(
            values.abs().sort(-1)[0],
            linalg.eigvals(a).abs().sort(-1)[0],
            **tolerance(dtype),
        )
    if not dtype.is_complex:  # pairs, exactly
        parts = w.imag.sort(-1)[0]
        assert_close(parts, -parts.flip(-1), rtol=0, atol=0)


def test_eig_of_what_has_too_few_vectors():
    a = ember.diag(ember.ones(4), 1) + 2 * ember.eye(5)
    w, v = (t.cpu() for t in linalg.eig(a.to("opencl")))
    assert_close(w.real, ember.full((5,), 2.0), rtol=0, atol=0.2)
    assert v.isfinite().all()
    for f in (ember.zeros, ember.ones):
        a = f(4, 4)
        w, v = (t.cpu() for t in linalg.eig(a.to("opencl")))
        assert_close(a.to(v.dtype) @ v, v * w, rtol=1e-4, atol=1e-4)


@each_dtype
@pytest.mark.parametrize("shape", SHAPES, ids=times)
def test_svd(shape, dtype):
    a = numbers(*shape, dtype=dtype)
    (values,) = both(linalg.svdvals, a, dtype=dtype)
    check_svd(a, values, dtype)


def check_svd(a, values, dtype):
    for full in (False, True):
        u, s, vh = (t.cpu() for t in linalg.svd(a.to("opencl"), full))
        assert_close(s, values, **tolerance(dtype))
        k = s.shape[-1]
        again = u[..., :k] @ ember.diag_embed(s.to(dtype)) @ vh[..., :k, :]
        assert_close(again, a, **tolerance(dtype))
        assert_close(adjoint(u) @ u, eye_like(adjoint(u) @ u), **tolerance(dtype))
        assert_close(vh @ adjoint(vh), eye_like(vh @ adjoint(vh)), **tolerance(dtype))


@each_dtype
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)], ids=times)
def test_svd_of_less_than_full_rank(shape, dtype):
    a = numbers(shape[0], 2, dtype=dtype) @ numbers(2, shape[1], dtype=dtype, seed=1)
    for matrix in (a, 0 * a, ember.ones_like(a)):
        check_svd(matrix, linalg.svdvals(matrix), dtype)
    both(linalg.matrix_rank, a, dtype=dtype)
    both(linalg.pinv, a, dtype=dtype)


@each_dtype
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(2, 3, 3), (7, 4), (2, 3, 6)], ids=times)
def test_lstsq(shape, driver, dtype):
    a = numbers(*shape, dtype=dtype)
    b = numbers(*shape[:-1], 2, dtype=dtype, seed=1)
    both(lambda a, b: linalg.lstsq(a, b, driver=driver), a, b, dtype=dtype)


@each_dtype
@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
def test_lstsq_of_less_than_full_rank(driver, dtype):
    a = numbers(6, 2, dtype=dtype) @ numbers(2, 4, dtype=dtype, seed=1)
    b = numbers(6, 2, dtype=dtype, seed=2)
    both(lambda a, b: linalg.lstsq(a, b, driver=driver), a, b, dtype=dtype)


@each_dtype
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("shape", SQUARE, ids=times)
def test_ldl(shape, hermitian, dtype):
    a = numbers(*shape, dtype=dtype)
    a = a + (adjoint(a) if hermitian else a.transpose(-2, -1))
    b = numbers(*shape[:-1], 2, dtype=dtype, seed=1)
    both(lambda a: linalg.ldl_factor(a, hermitian=hermitian), a, dtype=dtype)
    both(
        lambda a, b: linalg.ldl_solve(
            *linalg.ldl_factor(a, hermitian=hermitian), b, hermitian=hermitian
        ),
        a,
        b,
        dtype=dtype,
    )


@pytest.mark.parametrize("dtype", [ember.float64, ember.complex64], ids=str)
def test_other_dtypes(dtype):
    a = numbers(2, 5, 5, dtype=dtype)
    b = numbers(2, 5, 1, dtype=dtype, seed=1)
    both(linalg.solve, a, b, dtype=dtype)
    both(lambda a: linalg.qr(a)[0], a, dtype=dtype)
    both(linalg.svdvals, a, dtype=dtype)
    both(linalg.eigvalsh, a + adjoint(a), dtype=dtype)


def test_singular_matrices_raise():
    a = ember.ones(2, 3, 3)
    a[0] = ember.eye(3)
    for f in (linalg.inv, linalg.lu_factor, linalg.cholesky):
        with pytest.raises(linalg.LinAlgError, match=r"Batch element 1"):
            f((a - 1e-9).to("opencl"))
    with pytest.raises(linalg.LinAlgError, match="full rank"):
        linalg.lstsq(ember.zeros(3, 2).to("opencl"), ember.ones(3, 1).to("opencl"),
                     driver="gels")  # fmt: skip
    nan = ember.full((2, 2), float("nan")).to("opencl")
    for f in (linalg.svd, linalg.eigh):
        with pytest.raises(linalg.LinAlgError, match="non-finite"):
            f(nan)
    both(linalg.det, a, dtype=a.dtype)
    both(linalg.lu_factor_ex, a, dtype=a.dtype)


def test_pivots_out_of_bounds_raise():
    lu, _ = linalg.lu_factor(numbers(3, 3).to("opencl"))
    for wrong in (0, 4, -1):
        bad = ember.full((3,), wrong, dtype=ember.int32).to("opencl")
        for f in (
            lambda p: linalg.lu_solve(lu, p, lu),
            lambda p: ember.lu_unpack(lu, p),
        ):
            with pytest.raises(
                RuntimeError, match=f"index {wrong - 1} is out of bounds"
            ):
                f(bad)
                ember.opencl.synchronize()
    half = ember.tensor([1, 2, -3], dtype=ember.int32).to("opencl")
    with pytest.raises(RuntimeError, match="index -4 is out of bounds"):
        linalg.ldl_solve(lu, half, lu)
        ember.opencl.synchronize()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 3), (3, 0)], ids=times)
def test_empty(shape):
    a = numbers(*shape)
    both(linalg.svdvals, a, dtype=a.dtype)
    both(linalg.qr, a, dtype=a.dtype)
    if shape[-1] == shape[-2]:
        both(linalg.inv, a, dtype=a.dtype)
        both(linalg.eigh, a, dtype=a.dtype)
        both(linalg.det, a, dtype=a.dtype)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: linalg.inv(a).sum(),
        lambda a: linalg.slogdet(a)[1],
        lambda a: linalg.qr(a)[1].abs().sum(),
        lambda a: linalg.svdvals(a).sum(),
        lambda a: linalg.eigvalsh(a).pow(2).sum(),
        lambda a: linalg.pinv(a).sum(),
        lambda a: linalg.solve(a, a.t()).sum(),
        lambda a: linalg.lu(a)[2].sum(),
    ],
)
def test_gradients(f):
    a = numbers(4, 4)
    there = a.to("opencl").requires_grad_()
    a.requires_grad_()
    f(a).backward()
    f(there).backward()
    assert_close(there.grad.cpu(), a.grad, rtol=1e-8, atol=1e-9)
