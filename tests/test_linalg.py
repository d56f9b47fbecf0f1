"""ember.linalg beyond single ops: gradients of vectors, errors, batches, low rank."""

import threading

import numpy as np
import pytest

import ember
from ember import linalg
from ember.autograd import gradcheck, gradgradcheck


def matrix(*shape, dtype=ember.float64, seed=0, requires_grad=True):
    ember.manual_seed(seed)
    return ember.randn(*shape, dtype=dtype).requires_grad_(requires_grad)


COMPLEX = ember.complex128
DTYPES = pytest.mark.parametrize("dtype", [ember.float64, COMPLEX], ids=str)


def symmetric(x):
    return x + x.mH


def eye(x):
    return ember.eye(x.shape[-1], dtype=x.dtype)


# What a loss may ask of vectors: something that their signs and phases do not change.
INVARIANTS = {
    "svd": lambda x: [t for u, s, vh in [linalg.svd(x, False)] for t in (u @ vh, s)],
    "svd_abs": lambda x: [t.abs() for t in linalg.svd(x, False)],
    "eigh": lambda x: [t.abs() for t in linalg.eigh(symmetric(x))],
    "eigvalsh": lambda x: linalg.eigvalsh(symmetric(x), UPLO="U"),
    "eig": lambda x: [t.abs() for t in linalg.eig(x)],
    "eigvals": lambda x: linalg.eigvals(x).abs(),
    "qr": lambda x: list(linalg.qr(x)),
    "pinv_hermitian": lambda x: linalg.pinv(symmetric(x) + 9 * eye(x), hermitian=True),
    "cholesky": lambda x: linalg.cholesky(x @ x.mH + eye(x)),
}


@DTYPES
@pytest.mark.parametrize("name", INVARIANTS)
def test_gradients_of_factors(name, dtype):
    x = matrix(3, 3, dtype=dtype)
    assert gradcheck(INVARIANTS[name], x)
    assert gradgradcheck(INVARIANTS[name], x, atol=1e-4)


@DTYPES
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)], ids=str)
def test_gradients_of_other_shapes(shape, dtype):
    x = matrix(*shape, dtype=dtype)
    assert gradcheck(INVARIANTS["svd"], x)
    assert gradcheck(INVARIANTS["qr"], x)
    assert gradcheck(lambda a: linalg.lu_factor(a)[0], x)
    assert gradgradcheck(lambda a: linalg.lu_factor(a)[0], x)


def test_gradient_of_det_without_inverse():
    """The gradient is the adjugate, also where there is no inverse."""
    x = ember.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=ember.float64, requires_grad=True)
    (g,) = ember.autograd.grad(linalg.det(x), x, create_graph=True)
    want = ember.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=ember.float64)
    assert ember.allclose(g, want)
    (plain,) = ember.autograd.grad(linalg.det(x), x)
    assert ember.allclose(plain, want)
    (second,) = ember.autograd.grad(g[0, 0], x)
    assert ember.allclose(second, ember.tensor([[0, 0], [0, 1.0]], dtype=x.dtype))


@pytest.mark.parametrize(
    "loss", [lambda x: linalg.svd(x).U, lambda x: linalg.eigh(x @ x.mH)[1]]
)
def test_phase_of_vectors_is_no_loss(loss):
    x = matrix(3, 3, dtype=COMPLEX)
    with pytest.raises(RuntimeError, match="ill-defined"):
        loss(x).imag.sum().backward()


# --- errors ---------------------------------------------------------------------------


def test_linalg_error():
    assert issubclass(linalg.LinAlgError, RuntimeError)
    x = ember.stack([ember.eye(2), ember.zeros(2, 2)])
    for f in (
        linalg.inv,
        linalg.lu_factor,
        linalg.cholesky,
        lambda a: linalg.solve(a, a),
    ):
        with pytest.raises(linalg.LinAlgError, match="Batch element 1"):
            f(x)
    assert linalg.inv_ex(x).info.tolist() == [0, 1]
    assert linalg.det(x).tolist() == [1, 0]
    assert linalg.slogdet(x).logabsdet.tolist() == [0, -float("inf")]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("f", ["svd", "svdvals", "eigh", "pinv", "lstsq"])
def test_no_algorithm_for_what_is_not_finite(f, bad, capfd):
    x = ember.eye(3)
    x[2, 0] = bad
    with pytest.raises(linalg.LinAlgError, match="non-finite"):
        linalg.lstsq(x, x) if f == "lstsq" else getattr(linalg, f)(x)
    assert capfd.readouterr() == ("", "")


def test_only_one_triangle_is_read():
    x = ember.tensor([[2.0, float("nan")], [1.0, 2.0]])
    assert ember.allclose(linalg.eigvalsh(x), ember.tensor([1.0, 3.0]))
    assert ember.allclose(
        linalg.cholesky(x) @ linalg.cholesky(x).mT, x.tril() + x.tril(-1).mT
    )


@pytest.mark.parametrize(
    "f", ["inv", "det", "svd", "qr", "eigh", "cholesky", "lu", "pinv"]
)
def test_integers_are_refused(f):
    with pytest.raises(RuntimeError, match=r"floating|dtype"):
        getattr(linalg, f)(ember.ones(2, 2, dtype=ember.int64))


# --- batches and layouts --------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 3, 9, 40])
@pytest.mark.parametrize("batch", [(), (0,), (2, 3)], ids=str)
@DTYPES
def test_factors_multiply_to_the_matrix(n, batch, dtype):
    x = matrix(*batch, n, n, dtype=dtype, requires_grad=False)
    p, lower, upper = linalg.lu(x)
    q, r = linalg.qr(x)
    u, s, vh = linalg.svd(x)
    e, v = linalg.eigh(symmetric(x))
    w, y = linalg.eig(x)
    complexed = x.to(ember.complex128)
    for made, want in [
        (p @ lower @ upper, x),
        (q @ r, x),
        (u * s.unsqueeze(-2) @ vh, x),
        (v * e.unsqueeze(-2) @ v.mH, symmetric(x)),
        (complexed @ y, y * w.unsqueeze(-2)),
        (x @ linalg.inv(x), ember.eye(n, dtype=dtype).expand_as(x)),
    ]:
        assert made.shape == want.shape
        assert ember.allclose(made, want, atol=1e-8)


@pytest.mark.parametrize("n", [3, 8, 9, 130])
def test_solve_with_many_columns(n):
    """Small systems, and large ones on several threads, have paths of their own."""
    a = matrix(n, n, requires_grad=False) + n * ember.eye(n, dtype=ember.float64)
    b = matrix(n, 200, seed=1, requires_grad=False)
    want = np.linalg.solve(a.numpy(), b.numpy())
    assert np.allclose(linalg.solve(a, b).numpy(), want)
    assert np.allclose(linalg.solve(a.mT, b.mT, left=False).numpy(), want.T)


def test_results_have_names():
    x = matrix(3, 3, requires_grad=False)
    result = linalg.svd(x)
    assert result.Vh is result[2] and result.S.shape == (3,)
    assert linalg.slogdet(x).sign.shape == ()
    assert linalg.lstsq(x, x).rank.item() == 3
    assert linalg.eigh(x).eigenvalues.shape == (3,)
    assert linalg.ldl_factor_ex(x).info.item() == 0


def test_other_threads_run_meanwhile():
    x = matrix(300, 300, requires_grad=False)
    ticks = 0
    done = threading.Event()

    def work():
        for _ in range(3):
            linalg.svd(x)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        done.wait(0.001)
    thread.join()
    assert ticks > 5


# --- written in Python ----------------------------------------------------------------


def low_rank(m, n, rank):
    ember.manual_seed(3)
    return ember.randn(m, rank) @ ember.randn(rank, n)


@pytest.mark.parametrize("shape", [(20, 8), (8, 20)], ids=str)
def test_svd_lowrank(shape):
    x = low_rank(*shape, 3)
    u, s, v = ember.svd_lowrank(x, q=4)
    assert u.shape == (shape[0], 4) and v.shape == (shape[1], 4)
    assert ember.allclose(u * s @ v.mT, x, atol=1e-4)
    assert ember.allclose(s[:3], linalg.svdvals(x)[:3], rtol=1e-3)


def test_pca_lowrank_centres():
    x = low_rank(30, 5, 2) + 7
    _, s, v = ember.pca_lowrank(x, q=2)
    centred = x - x.mean(0)
    assert ember.allclose((centred @ v).norm(dim=0), s, rtol=1e-3)
    with pytest.raises(ValueError, match="min"):
        ember.pca_lowrank(x, q=6)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("general", [True, False])
def test_lobpcg(largest, general):
    a = symmetric(matrix(40, 40, requires_grad=False))
    half = matrix(40, 40, seed=1, requires_grad=False)
    b = half @ half.mT + 40 * ember.eye(40, dtype=ember.float64) if general else None
    e, x = ember.lobpcg(a, k=3, B=b, largest=largest)
    want = np.linalg.eigvals(
        np.linalg.solve(b.numpy(), a.numpy()) if general else a.numpy()
    )
    want = np.sort(want.real)[::-1][:3] if largest else np.sort(want.real)[:3]
    assert np.allclose(e.numpy(), want, atol=1e-8)
    bx = x if b is None else b @ x
    assert ember.allclose(a @ x, bx * e, atol=1e-4)


def test_lobpcg_has_a_gradient():
    x = matrix(9, 9)
    e, _ = ember.lobpcg(symmetric(x), k=2)
    e.sum().backward()
    _, v = linalg.eigh(symmetric(x.detach()))
    assert ember.allclose(x.grad, 2 * v[:, -2:] @ v[:, -2:].mT)


def test_lu_under_its_old_name():
    x = matrix(3, 3, requires_grad=False)
    factors, pivots = ember.lu(x)
    p, lower, upper = ember.lu_unpack(factors, pivots)
    assert ember.allclose(p @ lower @ upper, x)
    assert len(x.lu(get_infos=True)) == 3
    places = ember.empty(0, dtype=x.dtype), ember.empty(0, dtype=ember.int32)
    assert ember.lu(x, out=places) is places
    assert ember.equal(places[0], factors)
    with pytest.raises(TypeError, match="2 elements"):
        ember.lu(x, out=(factors,))


@pytest.mark.parametrize("first", ["cpu", "meta"])
def test_operands_of_two_devices(first):
    a = ember.eye(3, device=first)
    b = ember.ones(3, 2, device="meta" if first == "cpu" else "cpu")
    pivots = ember.ones(3, dtype=ember.int32)
    for f in (
        lambda: linalg.solve(a, b),
        lambda: linalg.lstsq(a, b),
        lambda: linalg.lu_solve(a, pivots, b),
        lambda: linalg.ldl_solve(a, pivots, b),
        lambda: ember.ormqr(a, a[0], b),
        lambda: linalg.solve_triangular(a, b, upper=True),
    ):
        try:
            assert f() is not None  # shapes, if the result is on meta
        except (RuntimeError, NotImplementedError) as error:
            assert "device" in str(error) or "meta" in str(error)


SHAPES = [(160, 160), (200, 173), (173, 200), (300, 300), (40, 400), (400, 40)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors_of_large_matrices(shape):
    """By blocks, of which some are not full."""
    x = matrix(2, *shape, requires_grad=False)
    p, lower, upper = linalg.lu(x)
    assert ember.allclose(p @ lower @ upper, x, atol=1e-11)
    assert bool((lower.abs() <= 1).all())  # of each column the largest is the pivot
    assert ember.equal(lower, lower.tril()) and ember.equal(upper, upper.triu())


@pytest.mark.parametrize("n", [160, 163, 257])
@pytest.mark.parametrize("columns", [1, 17, 200])
def test_large_systems(n, columns):
    a = matrix(2, n, n, requires_grad=False) + 3 * ember.eye(n, dtype=ember.float64)
    b = matrix(2, n, columns, seed=1, requires_grad=False)
    assert ember.allclose(a @ linalg.solve(a, b), b, atol=1e-10)
    assert ember.allclose(linalg.solve(a, b.mT, left=False) @ a, b.mT, atol=1e-10)
    factors = linalg.lu_factor(a)
    x = linalg.lu_solve(*factors, b, adjoint=True)
    assert ember.allclose(a.mT @ x, b, atol=1e-10)
    assert ember.allclose(a @ linalg.inv(a), eye(a).expand_as(a), atol=1e-10)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_large_triangular_systems(upper, left, unit):
    n = 150
    a = matrix(n, n, requires_grad=False) / n + 2 * ember.eye(n, dtype=ember.float64)
    b = matrix(n, 70, seed=1, requires_grad=False)
    b = b if left else b.mT
    x = linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)
    used = a.triu() if upper else a.tril()  # the rest is not to be read
    if unit:
        used = used - used.diagonal().diag() + eye(a)
    assert ember.allclose(used @ x if left else x @ used, b, atol=1e-11)


def test_large_matrices_without_an_inverse():
    x = matrix(200, 200, requires_grad=False)
    x[:, 77] = 0
    x[:, 150] = 0
    assert linalg.lu_factor_ex(x).info.item() == 78
    with pytest.raises(linalg.LinAlgError, match="element 78 is zero"):
        linalg.inv(x)
    x = matrix(200, 200, requires_grad=False)
    x[3, 5] = float("nan")
    assert linalg.inv(x).isnan().any() and linalg.det(x).isnan()
