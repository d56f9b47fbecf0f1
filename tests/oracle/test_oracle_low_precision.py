"""float8, complex32 and products in 8 bits, against torch: every byte, the roundings of
many floats, and what each call does or how it fails."""

import io
import warnings

import numpy as np
import pytest

import ember

torch = pytest.importorskip("torch")

FLOAT8 = "e4m3fn e5m2 e4m3fnuz e5m2fnuz e8m0fnu".split()
FLOAT8 = [f"float8_{name}" for name in FLOAT8]
DTYPES = [*FLOAT8, "complex32"]
OTHERS = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 "
    "float64 complex64 complex128"
).split()

pytestmark = pytest.mark.filterwarnings("ignore")


def both(array, dtype):
    """The same bytes as a tensor of either library."""
    raw = np.ascontiguousarray(array).view(np.uint8)
    ours = ember.frombuffer(bytearray(raw.tobytes()), dtype=getattr(ember, dtype))
    theirs = torch.frombuffer(bytearray(raw.tobytes()), dtype=getattr(torch, dtype))
    return ours, theirs


def raw(t):
    """The bytes of a tensor."""
    lib = ember if isinstance(t, ember.Tensor) else torch
    return t.detach().contiguous().reshape(-1).view(lib.uint8).numpy().tobytes()


def same_bits(ours, theirs, nans=False):
    """Equal to the bit; with `nans`, any NaN for any other."""
    assert str(ours.dtype) == str(theirs.dtype)
    if raw(ours) == raw(theirs):
        return
    kind = {2: np.uint16, 4: np.float32, 8: np.float64}.get(ours.dtype.itemsize)
    assert nans and kind, "bits differ"
    wide = ours.to(ember.complex128 if ours.is_complex() else ember.float64)
    other = theirs.to(torch.complex128 if theirs.is_complex() else torch.float64)
    np.testing.assert_array_equal(wide.numpy(), other.numpy())


def float_patterns():
    """All upper halves of float32, with lower halves around which rounding turns."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    return (upper[:, None] | lower).reshape(-1)


@pytest.mark.parametrize("dtype", FLOAT8)
def test_every_byte(dtype):
    ours, theirs = both(np.arange(256, dtype=np.uint8), dtype)
    for other in ("float32", "float64", "float16", "bfloat16", "complex64", "bool"):
        mine, other_one = (
            ours.to(getattr(ember, other)),
            theirs.to(getattr(torch, other)),
        )
        same_bits(mine, other_one, nans=True)
    if dtype != "float8_e8m0fnu":  # whose NaN is finite for torch
        assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16", "float64"])
def test_roundings(dtype, source):
    if source == "float32":
        ours, theirs = both(float_patterns(), source)
    elif source == "float64":
        values = float_patterns().view(np.float32).astype(np.float64)
        ours, theirs = both(values * (1 + 2.0**-40), source)
    else:
        ours, theirs = both(np.arange(1 << 16, dtype=np.uint16), source)
    target = getattr(ember, dtype), getattr(torch, dtype)
    same_bits(ours.to(target[0]), theirs.to(target[1]))
    same_bits(ours[::3].to(target[0]), theirs[::3].to(target[1]))


@pytest.mark.parametrize("source", ["complex64", "complex128", "float32", "float16"])
def test_roundings_to_complex32(source):
    patterns = float_patterns()[::7].view(np.float32)
    patterns = patterns[~np.isnan(patterns)]
    values = patterns.astype({"complex128": np.float64}.get(source, np.float32))
    if source == "float16":
        values = np.arange(0x7C00, dtype=np.uint16)
    ours, theirs = both(values[: len(values) // 2 * 2], source)
    same_bits(ours.to(ember.complex32), theirs.to(torch.complex32))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", OTHERS + DTYPES)
def test_casts(dtype, other):
    small = torch.tensor([0.0, 1, 2, 0.5, 3, 100, 17, 0.3]).repeat(200)
    theirs = small.to(getattr(torch, dtype))
    ours = ember.tensor(small.tolist()).to(getattr(ember, dtype))
    same_bits(ours.to(getattr(ember, other)), theirs.to(getattr(torch, other)))
    mine = ember.tensor(small.tolist()).to(getattr(ember, other))
    same_bits(
        mine.to(getattr(ember, dtype)),
        small.to(getattr(torch, other)).to(getattr(torch, dtype)),
    )


FIELDS = "bits dtype eps max min resolution smallest_normal tiny".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_properties(dtype):
    ours, theirs = getattr(ember, dtype), getattr(torch, dtype)
    for name in "itemsize is_complex is_floating_point is_signed abbr".split():
        assert getattr(ours, name) == getattr(theirs, name)
    assert str(ours) == str(theirs)
    mine, other = ember.finfo(ours), torch.finfo(theirs)
    assert [getattr(mine, n) for n in FIELDS] == [getattr(other, n) for n in FIELDS]
    assert repr(mine) == repr(other)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", OTHERS + DTYPES)
@pytest.mark.parametrize("swap", [False, True])
def test_promotion(dtype, other, swap):
    names = (other, dtype) if swap else (dtype, other)
    check_same(lambda lib: lib.promote_types(*(of(lib, n) for n in names)))
    check_same(lambda lib: lib.can_cast(*(of(lib, n) for n in names)))
    for shapes in (((2,), ()), ((2,), (2,))):
        check_same(
            lambda lib, shapes=shapes: lib.result_type(
                *(lib.zeros(s, dtype=of(lib, n)) for s, n in zip(shapes, names))
            )
        )


def of(lib, dtype):
    return getattr(lib, dtype)


def outcome(call, lib):
    try:
        return call(lib)
    except Exception as error:
        return error


def check_same(call, wider=False):
    """The same result, or an exception of the same type. With `wider`, ours may be one
    of torch's other dtypes' results where torch has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = outcome(call, ember), outcome(call, torch)
    if isinstance(theirs, Exception):
        if wider and isinstance(theirs, NotImplementedError):
            return
        assert isinstance(ours, Exception), f"{theirs!r}, but {ours!r}"
        assert type(ours) is type(theirs), f"{theirs!r}, but {ours!r}"
        return
    if isinstance(ours, Exception):
        raise ours
    compare(ours, theirs)


def compare(ours, theirs):
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs):
            compare(mine, other)
    elif isinstance(theirs, torch.Tensor):
        assert ours.shape == tuple(theirs.shape) and ours.stride() == theirs.stride()
        same_bits(ours, theirs, nans=True)
    else:
        assert str(ours) == str(theirs)


# Calls of a library and a matrix.
CALLS = {
    "add": lambda lib, x: x + x,
    "add number": lambda lib, x: x + 1,
    "number minus": lambda lib, x: 1 - x,
    "add float": lambda lib, x: x + lib.ones(2),
    "add double": lambda lib, x: lib.ones(2, dtype=lib.float64) + x,
    "mul": lambda lib, x: x * x,
    "eq": lambda lib, x: x == x,
    "eq number": lambda lib, x: x == 0.3,
    "eq float": lambda lib, x: x == lib.ones(2),
    "ne": lambda lib, x: x != x.t(),
    "lt": lambda lib, x: x < x,
    "neg": lambda lib, x: -x,
    "sgn": lambda lib, x: x.sgn(),
    "square": lambda lib, x: x.square(),
    "sqrt": lambda lib, x: x.sqrt(),
    "exp": lambda lib, x: x.exp(),
    "div": lambda lib, x: x / x,
    "pow": lambda lib, x: x**2,
    "relu": lambda lib, x: x.relu(),
    "sum": lambda lib, x: x.sum(),
    "sum float": lambda lib, x: x.sum(dtype=lib.float32),
    "mean": lambda lib, x: x.mean(),
    "amax": lambda lib, x: x.amax(),
    "max": lambda lib, x: x.max(),
    "var": lambda lib, x: x.var(0),
    "cumsum": lambda lib, x: x.cumsum(0),
    "sort": lambda lib, x: x.sort(),
    "argmax": lambda lib, x: x.argmax(),
    "any": lambda lib, x: x.any(),
    "all": lambda lib, x: x.all(0),
    "isnan": lambda lib, x: x.isnan(),
    "isreal": lambda lib, x: x.isreal(),
    "where": lambda lib, x: lib.where(x == x, x, x.t()),
    "where number": lambda lib, x: lib.where(x == x, x, 2.0),
    "fill": lambda lib, x: x.clone().fill_(1.3),
    "fill much": lambda lib, x: x.clone().fill_(1e9),
    "fill -1": lambda lib, x: x.clone().fill_(-1),
    "fill 1e300": lambda lib, x: x.clone().fill_(1e300),
    "fill inf": lambda lib, x: x.clone().fill_(float("inf")),
    "full": lambda lib, x: lib.full((3,), 2.7, dtype=x.dtype),
    "zeros": lambda lib, x: lib.zeros(3, dtype=x.dtype),
    "eye": lambda lib, x: lib.eye(2, dtype=x.dtype),
    "arange": lambda lib, x: lib.arange(3, dtype=x.dtype),
    "linspace": lambda lib, x: lib.linspace(0, 1, 3, dtype=x.dtype),
    "tensor": lambda lib, x: lib.tensor([1, 2.5, True], dtype=x.dtype),
    "tensor j": lambda lib, x: lib.tensor([1j], dtype=x.dtype),
    "index": lambda lib, x: x[[1, 0], [0, 1]],
    "mask": lambda lib, x: x[x == x],
    "index_select": lambda lib, x: x.index_select(0, lib.tensor([1, 1])),
    "cat": lambda lib, x: lib.cat([x, x.t()], 1),
    "cat float": lambda lib, x: lib.cat([x, lib.ones(2, 2)]),
    "stack": lambda lib, x: lib.stack([x, x.t()]),
    "flip": lambda lib, x: x.flip(0),
    "roll": lambda lib, x: x.roll(1, 1),
    "repeat": lambda lib, x: x.repeat(2, 1),
    "t": lambda lib, x: x.t(),
    "view": lambda lib, x: x.view(lib.uint8),
    "item": lambda lib, x: x[0, 0].item(),
    "tolist": lambda lib, x: x.tolist(),
    "bool": lambda lib, x: bool(x[0, 0]),
    "mm": lambda lib, x: x @ x,
    "addmm": lambda lib, x: lib.addmm(x, x, x, beta=0.5),
    "linear": lambda lib, x: lib.nn.functional.linear(x, x, x[0]),
    "bmm": lambda lib, x: lib.bmm(x[None], x[None]),
    "real": lambda lib, x: x.real,
    "imag": lambda lib, x: x.imag,
    "conj": lambda lib, x: x.conj().clone(),
    "angle": lambda lib, x: x.angle(),
    "numpy": lambda lib, x: x.numpy(),
    "softmax": lambda lib, x: x.softmax(0),
    "fft": lambda lib, x: lib.fft.fft(x),
    "inv": lambda lib, x: lib.linalg.inv(x),
    "clamp": lambda lib, x: x.clamp(0, 1),
    "dropout": lambda lib, x: lib.nn.functional.dropout(x, 0.5, training=False),
    "pad": lambda lib, x: lib.nn.functional.pad(x, (1, 1), value=2.0),
    "kron": lambda lib, x: lib.kron(x[:1], x),
    "type": lambda lib, x: x.type(),
    "repr": lambda lib, x: repr(x),
    "default": lambda lib, x: lib.set_default_dtype(x.dtype),
    "rand": lambda lib, x: lib.rand(2, dtype=x.dtype).shape,
    "requires_grad": lambda lib, x: x.requires_grad_().requires_grad,
}
# What PyTorch has for complex32 alone, or for float8 alone, works there; these work for
# both, as they move elements or read them one by one.
WIDER = {
    "mul number": lambda lib, x: x * 2,
    "mul 0-d": lambda lib, x: x * lib.tensor(0.3),
    "abs": lambda lib, x: x.abs(),
    "nonzero": lambda lib, x: x.nonzero(),
    "count_nonzero": lambda lib, x: x.count_nonzero(),
    "gather": lambda lib, x: x.gather(0, lib.tensor([[0, 1]])),
    "scatter": lambda lib, x: x.scatter(0, lib.tensor([[0, 0]]), x),
    "take": lambda lib, x: x.take(lib.tensor([0, 3])),
    "tril": lambda lib, x: x.tril(),
    "masked_fill": lambda lib, x: x.masked_fill(x == x, 2.0),
    "index_add": lambda lib, x: x.index_add(0, lib.tensor([0, 1]), x),
    "equal": lambda lib, x: lib.equal(x, x.clone()),
    "norm": lambda lib, x: x.norm(),
    "eye": lambda lib, x: lib.eye(2, dtype=x.dtype),
    "mv": lambda lib, x: x @ x[0],
    "isfinite": lambda lib, x: x.isfinite(),
    "isinf": lambda lib, x: x.isinf(),
}


def matrix(lib, dtype):
    return lib.tensor([[1.0, 2.5], [0.3, 7.0]]).to(getattr(lib, dtype))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_calls(name, dtype):
    wider = dtype == "complex32" and name == "eye"
    check_same(lambda lib: CALLS[name](lib, matrix(lib, dtype)), wider)


@pytest.mark.parametrize("name", WIDER)
@pytest.mark.parametrize("dtype", DTYPES)
def test_calls_that_take_more(name, dtype):
    check_same(lambda lib: WIDER[name](lib, matrix(lib, dtype)), wider=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_printing(dtype):
    generator = np.random.default_rng(0)
    for scale in (1, 100, 1e-3, 1e4):
        values = generator.normal(size=(7, 3)) * scale
        values[0, 0] = 0
        ours = ember.tensor(values).to(getattr(ember, dtype))
        assert repr(ours) == repr(torch.tensor(values).to(getattr(torch, dtype)))
    # without the NaN of float8_e8m0fnu, which is finite for torch
    ours, theirs = both(generator.integers(0, 255, 4096).astype(np.uint8), dtype)
    assert repr(ours) == repr(theirs)
    assert repr(ours[:12]) == repr(theirs[:12])


@pytest.mark.parametrize("dtype", DTYPES)
def test_checkpoints(dtype):
    ours, theirs = both(np.arange(240, dtype=np.uint8), dtype)
    for save, load, given in (
        (torch.save, ember.load, theirs),
        (ember.save, torch.load, ours),
    ):
        file = io.BytesIO()
        save({"whole": given, "part": given[3:9], "kind": given.dtype}, file)
        loaded = load(io.BytesIO(file.getvalue()))
        assert str(loaded["kind"]) == str(given.dtype)
        assert raw(loaded["whole"]) == raw(given) and raw(loaded["part"]) == raw(
            given[3:9]
        )
        assert loaded["part"].storage_offset() == 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack(dtype):
    ours, theirs = both(np.arange(240, dtype=np.uint8), dtype)
    assert raw(ember.from_dlpack(theirs)) == raw(theirs)
    assert raw(torch.from_dlpack(ours)) == raw(ours)
    assert torch.from_dlpack(ours).dtype is theirs.dtype


OUTPUTS = ["float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", None]


@pytest.mark.parametrize("out", OUTPUTS)
@pytest.mark.parametrize("kinds", [("e4m3fn", "e4m3fn"), ("e5m2", "e4m3fn")])
@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("bias", [None, "float32", "bfloat16"])
def test_scaled_mm(out, kinds, lines, bias):
    # Small whole numbers, so that no order of sums matters.
    generator = np.random.default_rng(0)
    a, b = generator.integers(-6, 7, (16, 32)), generator.integers(-6, 7, (48, 32))
    scales = [2.0 ** generator.integers(-3, 3, s) for s in ((16, 1), (1, 48))]
    scales = scales if lines else [np.float64(0.5), np.float64(0.25)]
    added = generator.integers(-9, 9, 48)

    def call(lib):
        x, y = (
            lib.tensor(v.tolist(), dtype=lib.float32).to(of(lib, f"float8_{k}"))
            for v, k in zip((a, b), kinds)
        )
        sides = [lib.tensor(s.tolist(), dtype=lib.float32) for s in scales]
        extra = lib.tensor(added.tolist()).to(of(lib, bias)) if bias else None
        kind = of(lib, out) if out else None
        return lib._scaled_mm(x, y.t(), *sides, bias=extra, out_dtype=kind)

    check_same(call)


def test_int_mm():
    def call(lib):
        a = lib.arange(-40, 40, dtype=lib.int8).view(8, 10)
        return lib._int_mm(a, a.t().contiguous())

    check_same(call)
