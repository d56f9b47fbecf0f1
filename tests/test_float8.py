"""Numbers of 8 bits: every pattern, rounding, and what can be done with them.

The formats are modelled here once more, by their definition and in exact fractions.
"""

import copy
import io
import math
import pickle
import struct
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from itertools import pairwise

import pytest

import ember
from ember.utils import safetensors

# name: bits of the significand, bias, the byte of the largest number, what is above it
FORMATS = {
    "float8_e4m3fn": (3, 7, 0x7E, "largest"),
    "float8_e5m2": (2, 15, 0x7B, "inf"),
    "float8_e4m3fnuz": (3, 8, 0x7F, "nan"),
    "float8_e5m2fnuz": (2, 16, 0x7F, "nan"),
}
NAMES = [*FORMATS, "float8_e8m0fnu"]
PATTERNS = bytes(range(256))


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def dtype(name):
    return getattr(ember, name)


def patterns(dtype):
    """All values of a dtype, in the order of their bytes."""
    return ember.frombuffer(bytearray(PATTERNS), dtype=dtype)


def bytes_of(t):
    return t.contiguous().view(ember.uint8).tolist()


def value_of(name, byte):
    """What a byte means; NaN is None."""
    if name == "float8_e8m0fnu":
        return None if byte == 255 else Fraction(2) ** (byte - 127)
    digits, bias, most, above = FORMATS[name]
    sign, code = -1 if byte & 0x80 else 1, byte & 0x7F
    if above == "nan" and byte == 0x80:
        return None
    if code > most:
        return math.inf * sign if above == "inf" and code == most + 1 else None
    exponent, fraction = code >> digits, Fraction(code % (1 << digits), 1 << digits)
    if exponent == 0:
        return sign * fraction * Fraction(2) ** (1 - bias)
    return sign * (1 + fraction) * Fraction(2) ** (exponent - bias)


@cache
def positive(name):
    """Numbers by their bytes, and one more: what is nearest to that is too large."""
    values = [value_of(name, code) for code in range(FORMATS[name][2] + 1)]
    return [*values, 2 * values[-1] - values[-2]]


def nearest(name, x):
    """The byte nearest to a float, ties to even ones."""
    if name == "float8_e8m0fnu":
        return nearest_power(abs(x))
    _, _, most, above = FORMATS[name]
    negative = math.copysign(1, x) < 0
    sign = 0x80 if negative else 0
    if math.isnan(x):
        return 0x80 if above == "nan" else 0x7F | sign
    size = Fraction(10) ** 60 if math.isinf(x) else abs(Fraction(x))
    values = positive(name)
    above_it = min(bisect_left(values, size), most + 1)
    code = min(
        (above_it, max(above_it - 1, 0)),
        key=lambda c: (abs(values[c] - size), c % 2),
    )
    if code > most:
        code = {"largest": most, "inf": most + 1, "nan": None}[above]
    if code is None:
        return 0x80
    return code if above == "nan" and code == 0 else code | sign


def nearest_power(x):
    """The exponent nearest to a float; halfway between two powers goes up, and so does
    all between the smallest two."""
    if math.isnan(x) or math.isinf(x):
        return 255
    if x < 2.0**-126:
        return int(x > 2.0**-127)
    byte = math.frexp(x)[1] - 1 + 127
    return byte + (Fraction(x) >= Fraction(3, 2) * Fraction(2) ** (byte - 127))


def floats(name):
    """Numbers in and around the range of a format: all values, all midpoints, and
    the floats next to these."""
    values = [value_of(name, byte) for byte in range(256)]
    finite = sorted({v for v in values if isinstance(v, Fraction)})
    middles = [(a + b) / 2 for a, b in pairwise(finite)]
    ends = [finite[-1] * Fraction(n, 16) for n in range(15, 40)]
    exact = [float(v) for v in (*finite, *middles, *ends, *[-v for v in ends])]
    exact = [v for v in exact if abs(v) < 3.4e38]
    extra = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 3.4e38, 1e-20]
    return [*exact, *(neighbour(v, d) for v in exact for d in (-1, 1)), *extra]


def neighbour(x, direction):
    """The next float32 up or down."""
    (bits,) = struct.unpack("<i", struct.pack("<f", x))
    bits += direction if bits >= 0 else -direction
    return struct.unpack("<f", struct.pack("<i", bits))[0] if bits else 0.0


# --- values ---------------------------------------------------------------------------


def test_every_pattern(name, dtype):
    got = patterns(dtype).float().tolist()
    for byte, x in enumerate(got):
        expected = value_of(name, byte)
        if expected is None:
            assert math.isnan(x), byte
        else:
            assert x == float(expected), byte


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_rounding(name, dtype, source):
    values = floats(name)
    x = ember.tensor(values, dtype=ember.float32).to(getattr(ember, source))
    got = bytes_of(x.to(dtype))
    for v, byte in zip(x.tolist(), got):
        assert byte == nearest(name, v), (v, byte)
    # one at a time, strided, and by numbers
    assert bytes_of(ember.stack([v.to(dtype) for v in x[:50]])) == got[:50]
    assert bytes_of(x.repeat_interleave(3)[::3].to(dtype)) == got
    numbers = ember.tensor(x.tolist(), dtype=dtype)
    assert bytes_of(numbers) == got


def test_known_bytes():
    x = ember.tensor([1.0, -1.5, 448.0, 1000.0, 0.3])
    assert bytes_of(x.to(ember.float8_e4m3fn)) == [0x38, 0xBC, 0x7E, 0x7E, 0x2A]
    assert bytes_of(x.to(ember.float8_e5m2)) == [0x3C, 0xBE, 0x5F, 0x64, 0x35]
    assert bytes_of(x.to(ember.float8_e8m0fnu)) == [127, 128, 136, 137, 125]


OTHERS = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float64 "
    "complex32 complex64 complex128"
).split()


@pytest.mark.parametrize("other", OTHERS + NAMES)
def test_casts_go_through_float(dtype, other):
    other = getattr(ember, other)
    x = patterns(dtype)
    x = x[x.float().isfinite() & (x.float().abs() < 100)]
    if not other.is_signed:
        x = x[x.float() >= 0]
    there, expected = x.to(other), x.float().to(other)
    assert there.dtype == other
    assert bytes_of(there) == bytes_of(expected)
    small = expected.abs() if other == ember.int8 else expected
    assert bytes_of(small.to(dtype)) == bytes_of(
        small.to(ember.complex64).real.to(dtype)
    )
    # enough for several chunks, with strides
    many = x.repeat(2000 // len(x) + 1)[::2]
    assert bytes_of(many.to(other)) == bytes_of(many.float().to(other))


# --- the dtype ------------------------------------------------------------------------


def test_properties(name, dtype):
    assert str(dtype) == f"torch.{name}"
    assert dtype.itemsize == 1 and dtype.is_floating_point and not dtype.is_complex
    assert dtype.is_signed is (name != "float8_e8m0fnu")
    assert dtype.to_real() is dtype
    assert dtype.abbr == name.replace("loat8_", "8")
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Float8"):
        dtype.to_complex()
    assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype
    with pytest.raises(TypeError):
        ember.set_default_dtype(dtype)


def test_finfo(name, dtype):
    info = ember.finfo(dtype)
    values = [value_of(name, byte) for byte in range(256)]
    finite = [v for v in values if isinstance(v, Fraction)]
    assert info.max == float(max(finite)) and info.min == float(min(finite))
    assert info.bits == 8 and info.dtype == name and info.resolution == 1.0
    one = values.index(1)
    step = float(values[one + 1] - 1)
    assert info.eps == (step / 2 if name == "float8_e5m2fnuz" else step)
    digits = FORMATS.get(name, (0,))[0]
    assert (
        info.tiny == info.smallest_normal == float(values[1 << digits if digits else 0])
    )


def test_promotion(dtype):
    assert ember.promote_types(dtype, dtype) is dtype
    for other in (ember.float32, ember.int64, ember.bool, ember.complex64):
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types"):
            ember.promote_types(dtype, other)
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types"):
            ember.promote_types(other, dtype)
    x = ember.ones(2).to(dtype)
    assert ember.result_type(x, 1) is ember.result_type(x, 2.5) is dtype
    assert ember.result_type(x, ember.tensor(1.0)) is dtype
    assert ember.can_cast(dtype, ember.float32) and ember.can_cast(ember.int64, dtype)
    assert not ember.can_cast(dtype, ember.int64)
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType"):
        ember.result_type(x, 1j)
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types"):
        ember.cat([x, ember.ones(2)])


# --- what moves bytes -----------------------------------------------------------------


def test_factories(dtype):
    like = ember.zeros(2, 3, dtype=dtype)
    one = ember.tensor([1.0]).to(dtype).view(ember.uint8).item()
    for made, byte in (
        (like, 0),
        (ember.ones(2, 3, dtype=dtype), one),
        (ember.full((2, 3), 1.0, dtype=dtype), one),
        (ember.zeros_like(like), 0),
        (ember.ones_like(like), one),
        (ember.full_like(like, 1), one),
        (like.new_ones(2, 3), one),
        (like.new_full((2, 3), 1.0), one),
        (ember.empty_like(like).fill_(1.0), one),
        (like.clone().copy_(ember.ones(2, 3)), one),
    ):
        assert made.dtype is dtype and bytes_of(made) == [[byte] * 3] * 2
    assert ember.empty(0, dtype=dtype).tolist() == []
    assert ember.tensor(1, dtype=dtype).item() == 1.0
    assert ember.scalar_tensor(1.0, dtype=dtype).shape == ()
    assert bytes_of(ember.eye(2, dtype=dtype)) == [[one, 0], [0, one]]
    with pytest.raises(RuntimeError, match="without overflow"):
        ember.full((2,), 1e39, dtype=dtype)


def test_shapes_and_indices(dtype):
    x = patterns(dtype)
    grid = ember.arange(256, dtype=ember.uint8).view(16, 16)
    steps = [
        lambda t: t.view(16, 16).t().contiguous(),
        lambda t: t.view(16, 16)[2:14:3, ::2],
        lambda t: t.reshape(4, 64).transpose(0, 1).reshape(-1),
        lambda t: t.view(16, 16)[:, 3].expand(2, 16).clone(),
        lambda t: t.view(16, 16)[ember.tensor([3, 1]), ember.tensor([0, 15])],
        lambda t: t.view(16, 16)[ember.arange(16) % 3 == 0],
        lambda t: ember.cat([t[:3], t[200:]]),
        lambda t: ember.stack([t[:3], t[200:203]], 1),
        lambda t: t.view(16, 16).flip(0).roll(1, 1),
        lambda t: t.index_select(0, ember.tensor([5, 250])),
        lambda t: t.view(16, 16).gather(1, ember.tensor([[1], [2]])),
        lambda t: t.unfold(0, 3, 2).contiguous(),
        lambda t: t.repeat(2).chunk(3)[1].clone(),
        lambda t: ember.where(ember.arange(256) % 2 == 0, t, t.flip(0)),
        lambda t: t.masked_select(ember.arange(256) > 200),
        lambda t: ember.nn.functional.embedding(ember.tensor([1]), t.view(16, 16)),
    ]
    for step in steps:
        made = step(x)
        assert made.dtype is dtype
        assert bytes_of(made) == step(grid.view(-1)).tolist()
    y = ember.zeros(4, dtype=dtype)
    y[1] = 1.0
    y[ember.tensor([2, 3])] = ember.tensor([1.0, 2.0]).to(dtype)
    assert y[1:].tolist() == [1.0, 1.0, 2.0]
    assert x.view(ember.int16).shape == (128,)
    assert x.view(ember.float32).view(dtype).data_ptr() == x.data_ptr()


def test_comparisons(dtype):
    x = ember.tensor([1.0, 2.0, 4.0]).to(dtype)
    assert (x == x).all() and not (x != x).any()
    assert (x == 2).tolist() == [False, True, False]
    assert (x == x.flip(0)).tolist() == [False, True, False]
    nan = ember.tensor([math.nan]).to(dtype)
    assert nan.isnan().item() and (nan != nan).item()
    assert bool(x[0]) and float(x[1]) == 2.0 and int(x[2]) == 4
    assert x.tolist() == [1.0, 2.0, 4.0]
    assert ember.equal(x, x) and x.isclose(x, rtol=0, atol=0).all()
    ember.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError):
        ember.testing.assert_close(x, x.flip(0))


def test_arithmetic_is_refused(dtype):
    x = ember.ones(2, 2).to(dtype)
    calls = [
        lambda: x + x,
        lambda: 1 + x,
        lambda: -x,
        lambda: x < x,
        lambda: x.sum(),
        lambda: x.mean(),
        lambda: x.max(),
        lambda: x.amax(),
        lambda: x.argmax(),
        lambda: x.sort(),
        lambda: x.topk(1),
        lambda: x.median(),
        lambda: x.cumsum(0),
        lambda: x.softmax(0),
        lambda: x.exp(),
        lambda: x.relu(),
        lambda: x**2,
        lambda: x.norm(),
        lambda: ember.bmm(x[None], x[None]),
        lambda: x.clone().add_(1),
        lambda: ember.rand(2, dtype=dtype),
        lambda: ember.randn(2, dtype=dtype),
        lambda: ember.arange(3, dtype=dtype),
        lambda: ember.linspace(0, 1, 3, dtype=dtype),
        lambda: ember.nn.functional.layer_norm(x, (2,)),
        lambda: ember.nn.functional.conv1d(x[None], x[None]),
        lambda: ember._foreach_add([x], [x]),
        lambda: x.unique(),
    ]
    for call in calls:
        with pytest.raises(NotImplementedError, match="not implemented for"):
            call()
    with pytest.raises(RuntimeError, match="Promotion for Float8"):
        x + ember.ones(2)
    for call in (
        lambda: ember.stft(x[0], 2, return_complex=True),
        lambda: ember.fft.rfft(x),
        lambda: ember.linalg.inv(x),
        x.var,
    ):
        with pytest.raises(RuntimeError):
            call()
    assert ember.hash_tensor(x).item() == ember.hash_tensor(x.float()).item()
    assert x.sum(dtype=ember.float32).item() == 4
    assert x.softmax(0, dtype=ember.float32).tolist() == [[0.5, 0.5]] * 2
    assert x.any().item() and x.all().item()
    assert (x * x).tolist() == (2 * x * 0.5).tolist() == x.tolist()


@pytest.mark.parametrize("name", list(FORMATS))
def test_products_of_matrices(name):
    dtype = getattr(ember, name)
    ember.manual_seed(0)
    a, b, c = (ember.randn(8, 8).to(dtype) for _ in range(3))
    exact = a.double() @ b.double()
    for got, expected in (
        (a @ b, exact),
        (ember.mm(a, b.t().contiguous().t()), exact),
        (ember.addmm(c, a, b, beta=0.5, alpha=2), 0.5 * c.double() + 2 * exact),
        (ember.nn.functional.linear(a, b.t().contiguous()), exact),
    ):
        assert got.dtype is dtype
        assert bytes_of(got) == bytes_of(expected.float().to(dtype))


# --- other parts ----------------------------------------------------------------------


def test_gradients_pass_through_casts(dtype):
    x = ember.tensor([1.0, 2.0], requires_grad=True)
    x.to(dtype).float().mul(2).sum().backward()
    assert x.grad.dtype is ember.float32 and x.grad.tolist() == [2.0, 2.0]
    assert ember.ones(2, dtype=dtype, requires_grad=True).requires_grad


def test_printing():
    x = ember.tensor([1.0, 2.5, -3.0, 0.0])
    assert str(x.to(ember.float8_e4m3fn)) == (
        "tensor([ 1.0000,  2.5000, -3.0000,  0.0000], dtype=torch.float8_e4m3fn)"
    )
    zeros = ember.zeros(2, dtype=ember.float8_e8m0fnu)
    assert str(zeros) == "tensor([0., 0.], dtype=torch.float8_e8m0fnu)"
    mixed = ember.tensor([1.0, 0.0, 512.0]).to(ember.float8_e8m0fnu)
    assert str(mixed) == "tensor([  1.,   0., 512.], dtype=torch.float8_e8m0fnu)"
    assert ember.ones(1).to(ember.float8_e5m2).type() == "torch.Float8_e5m2Tensor"


def test_saving(dtype, tmp_path):
    x = patterns(dtype).view(16, 16).t()
    for saved in (ember.save, lambda t, f: pickle.dump(t, f)):
        file = io.BytesIO()
        saved({"x": x}, file)
        file.seek(0)
        loaded = ember.load(file) if saved is ember.save else pickle.load(file)
        assert loaded["x"].dtype is dtype and loaded["x"].stride() == x.stride()
        assert bytes_of(loaded["x"]) == bytes_of(x)
    safetensors.save_file({"x": x}, tmp_path / "x.safetensors")
    loaded = safetensors.load_file(tmp_path / "x.safetensors")["x"]
    assert loaded.dtype is dtype and bytes_of(loaded) == bytes_of(x)
    assert bytes_of(copy.deepcopy(x)) == bytes_of(x)


def test_storages(dtype):
    x = ember.ones(3, dtype=dtype)
    storage = x.storage()
    assert storage.dtype is dtype and storage.tolist() == [1.0] * 3
    assert x.untyped_storage().nbytes() == x.nbytes == 3
    assert ember.ones(2).storage().float8_e5m2().dtype is ember.float8_e5m2


def test_exchange(dtype):
    x = patterns(dtype)
    again = ember.from_dlpack(x)
    assert again.dtype is dtype and again.data_ptr() == x.data_ptr()
    for call in (x.numpy, lambda: memoryview(x)):
        with pytest.raises(TypeError, match="Got unsupported ScalarType Float8"):
            call()


def test_meta(dtype):
    x = ember.empty(2, 3, dtype=dtype, device="meta")
    assert x.t().contiguous().dtype is dtype
    assert x.to(ember.float32).shape == (2, 3)
    assert ember.cat([x, x]).shape == (4, 3)
    assert (x == x).dtype is ember.bool
    assert ember.ones(2, dtype=dtype).to("meta").dtype is dtype


def test_modules(dtype):
    layer = ember.nn.Linear(2, 2).to(dtype)
    assert layer.weight.dtype is dtype and layer.weight.requires_grad
    state = layer.state_dict()
    wide = ember.nn.Linear(2, 2)
    wide.load_state_dict(state)
    assert wide.weight.tolist() == layer.weight.tolist()


def test_random_tensors():
    for name in FORMATS:
        x = ember.testing.make_tensor((3, 4), dtype=getattr(ember, name), device="cpu")
        assert x.dtype is getattr(ember, name) and x.float().abs().max() <= 9
