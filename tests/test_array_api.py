"""The Python array API standard: names, signatures, dtypes, corners."""

import inspect
import math

import pytest

import ember

xp = ember.array_api

# name -> parameters, from the standard's text: "x /" is by position, "* k" by name.
SIGNATURES = {
    "arange": "start / stop step * dtype device",
    "asarray": "obj / * dtype device copy",
    "astype": "x dtype / * copy device",
    "argmax": "x / * axis keepdims",
    "argsort": "x / * axis descending stable",
    "clip": "x / min max",
    "concat": "arrays / * axis",
    "cumulative_sum": "x / * axis dtype include_initial",
    "diff": "x / * axis n prepend append",
    "expand_dims": "x / axis",
    "eye": "n_rows n_cols / * k dtype device",
    "flip": "x / * axis",
    "full": "shape fill_value * dtype device",
    "full_like": "x / fill_value * dtype device",
    "isdtype": "dtype kind",
    "linspace": "start stop / num * dtype device endpoint",
    "moveaxis": "x source destination /",
    "ones": "shape * dtype device",
    "ones_like": "x / * dtype device",
    "permute_dims": "x / axes",
    "pow": "x1 x2 /",
    "repeat": "x repeats / * axis",
    "reshape": "x / shape * copy",
    "roll": "x / shift * axis",
    "searchsorted": "x1 x2 / * side sorter",
    "sin": "x /",
    "squeeze": "x / axis",
    "std": "x / * axis correction keepdims",
    "sum": "x / * axis dtype keepdims",
    "take_along_axis": "x indices / * axis",
    "tensordot": "x1 x2 / * axes",
    "tile": "x repetitions /",
    "tril": "x / * k",
    "unique_all": "x /",
    "vecdot": "x1 x2 / * axis",
    "where": "condition x1 x2 /",
    "linalg.cholesky": "x / * upper",
    "linalg.matrix_norm": "x / * keepdims ord",
    "linalg.qr": "x / * mode",
    "linalg.trace": "x / * offset dtype",
    "linalg.vector_norm": "x / * axis keepdims ord",
    "fft.fft": "x / * n axis norm",
    "fft.fftn": "x / * s axes norm",
    "fft.fftfreq": "n / * d dtype device",
}
NAMES = """
    abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype
    atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor broadcast_arrays broadcast_to can_cast ceil clip
    concat conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff
    divide empty empty_like equal exp expand_dims expm1 eye finfo flip floor
    floor_divide from_dlpack full full_like greater greater_equal hypot iinfo imag
    isdtype isfinite isinf isnan less less_equal linspace log log10 log1p log2 logaddexp
    logical_and logical_not logical_or logical_xor matmul matrix_transpose max maximum
    mean meshgrid min minimum moveaxis multiply negative nextafter nonzero not_equal
    ones ones_like permute_dims positive pow prod real reciprocal remainder repeat
    reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square
    squeeze stack std subtract sum take take_along_axis tan tanh tensordot tile tril
    triu trunc unique_all unique_counts unique_inverse unique_values unstack var vecdot
    where zeros zeros_like e inf nan newaxis pi
    """.split()


def written(function) -> str:
    """The parameters of a function in the form of the table."""
    words, before = [], None
    for p in inspect.signature(function).parameters.values():
        if before == p.POSITIONAL_ONLY != p.kind:
            words.append("/")
        if p.kind == p.KEYWORD_ONLY != before:
            words.append("*")
        words.append(p.name)
        before = p.kind
    return " ".join([*words, "/"] if before == p.POSITIONAL_ONLY else words)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    function = xp
    for part in name.split("."):
        function = getattr(function, part)
    assert written(function) == SIGNATURES[name]


def test_every_name_is_there():
    assert [name for name in NAMES if not hasattr(xp, name)] == []
    assert set(NAMES) <= set(xp.__all__)
    assert ember.ones(1).__array_namespace__(api_version="2024.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="1999"):
        ember.ones(1).__array_namespace__(api_version="1999")


def test_info():
    info = xp.__array_namespace_info__()
    assert info.dtypes(kind="complex floating") == {
        "complex64": ember.complex64,
        "complex128": ember.complex128,
    }
    assert info.default_dtypes()["real floating"] == ember.float32
    assert info.default_device() == ember.device("cpu") in info.devices()


def test_dtypes_alone_decide():
    scalar, vector = ember.tensor(1.5, dtype=ember.float64), ember.ones(3)
    assert (scalar * vector).dtype == ember.float32  # PyTorch's rule
    assert xp.multiply(scalar, vector).dtype == ember.float64
    assert xp.add(vector, 2).dtype == ember.float32
    assert xp.where(vector > 0, scalar, vector).dtype == ember.float64
    assert xp.sum(ember.ones(3, dtype=ember.int8)).dtype == ember.int64
    assert xp.sum(ember.ones(3), axis=()).tolist() == [1, 1, 1]
    assert xp.prod(ember.full((3,), 2, dtype=ember.uint8)).item() == 8
    assert xp.isdtype(ember.float32, ("integral", "real floating"))
    assert not xp.isdtype(ember.bool, "numeric")
    assert xp.result_type(ember.int8, 1.0) == ember.float32
    assert not xp.can_cast(ember.float64, ember.float32)
    assert xp.finfo(ember.complex64).dtype == ember.float32


def test_corners():
    inf = math.inf
    x = ember.tensor([inf, -inf, 3.0, -3.0])
    assert xp.floor_divide(x, ember.tensor([2.0, 2.0, -inf, inf])).tolist() == [
        *(inf, -inf),
        *(-0.0, -0.0),
    ]
    zeros = xp.remainder(ember.tensor([-0.0, 0.0]), ember.tensor([2.0, -2.0]))
    assert xp.signbit(zeros).tolist() == [False, True]
    assert math.isnan(xp.var(ember.tensor(math.nan)).item())
    assert xp.round(ember.tensor([0.5 + 1.5j])).tolist() == [2j]
    values, indices, inverse, counts = xp.unique_all(ember.tensor([[3, 1], [3, 2]]))
    assert values.tolist() == [1, 2, 3] and counts.tolist() == [1, 1, 2]
    assert indices.tolist() == [1, 3, 0] and inverse.tolist() == [[2, 0], [2, 1]]
    with pytest.raises(ValueError, match="axis 0 has size 2"):
        xp.squeeze(ember.ones(2, 1), 0)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([1.0], copy=False)
    x = ember.ones(2, requires_grad=True)
    xp.sum(xp.multiply(x, x)).backward()
    assert x.grad.tolist() == [2, 2]


def test_linalg_and_fft():
    a = ember.tensor([[4.0, 1.0], [1.0, 3.0]])
    assert xp.linalg.eigh(a)._fields == ("eigenvalues", "eigenvectors")
    assert ember.allclose(a @ xp.linalg.solve(a, ember.ones(2)), ember.ones(2))
    stacked = ember.stack([a, a])
    assert xp.linalg.solve(stacked, ember.ones(2)).shape == (2, 2)
    z = ember.tensor([1j, 2.0])
    assert xp.vecdot(z, z).item() == 5
    assert xp.linalg.trace(a, offset=1).item() == 1
    assert xp.linalg.vector_norm(a, axis=(0, 1), ord=1).item() == 9
    assert ember.allclose(xp.fft.ifftn(xp.fft.fftn(a)).real, a)
