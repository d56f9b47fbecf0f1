"""complex32: pairs of float16 that are stored, converted and a little computed with."""

import io
import math
import pickle

import pytest

import ember

C32 = ember.complex32


def example():
    return ember.tensor([[1 + 2j, 0 - 3.5j], [0.1 + 0.3j, 1000 - 2000j]], dtype=C32)


def test_dtype():
    assert ember.chalf is C32 and str(C32) == "torch.complex32"
    assert C32.itemsize == 4 and C32.is_complex and not C32.is_floating_point
    assert C32.is_signed and C32.abbr == "c32"
    assert C32.to_real() is ember.float16 and C32.to_complex() is C32
    assert ember.float16.to_complex() is C32
    assert ember.bfloat16.to_complex() is ember.complex64
    assert ember.finfo(C32).dtype == "float16" and ember.finfo(C32).max == 65504
    assert pickle.loads(pickle.dumps(C32)) is C32
    for d in (ember.int64, ember.bool):
        with pytest.raises(RuntimeError, match="Unknown Complex ScalarType"):
            d.to_complex()


def test_promotion():
    pairs = {
        "float16": "complex32",
        "bfloat16": "complex64",
        "float32": "complex64",
        "float64": "complex128",
        "complex64": "complex64",
        "complex128": "complex128",
        "int64": "complex32",
        "bool": "complex32",
    }
    for other, expected in pairs.items():
        other, expected = getattr(ember, other), getattr(ember, expected)
        assert ember.promote_types(C32, other) is expected
        assert ember.promote_types(other, C32) is expected
    half = ember.ones(2, dtype=ember.float16)
    assert (half * 1j).dtype is C32
    assert (half.bfloat16() * 1j).dtype is ember.complex64
    assert ember.result_type(example(), 1j) is C32
    assert not ember.can_cast(C32, ember.float32) and ember.can_cast(
        C32, ember.complex64
    )


REALS = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()


@pytest.mark.parametrize("other", [*REALS, "complex64", "complex128"])
def test_casts(other):
    other = getattr(ember, other)
    x = ember.tensor([0j, 1 + 2j, 3 - 1j, 100j]).to(C32)
    wide = x.to(ember.complex64)
    assert wide.tolist() == [0, 1 + 2j, 3 - 1j, 100j]
    assert x.to(other).tolist() == wide.to(other).tolist()
    y = ember.tensor([0, 1, 2, 100]).to(other)
    assert y.to(C32).tolist() == y.to(ember.complex64).tolist()
    many = x.repeat(500)[::2]
    assert many.to(other).tolist() == many.to(ember.complex64).to(other).tolist()


def test_rounding_is_that_of_float16():
    values = [0.1, 1 / 3, 65504.0, 65520.0, 1e-8, 6e-8, math.inf, -0.0]
    x = ember.tensor(values, dtype=ember.float64)
    pairs = ember.stack([x, x.flip(0)], 1)
    for kind in (ember.float32, ember.float64):
        made = ember.view_as_complex(pairs.to(kind)).to(C32)
        assert ember.view_as_real(made).tolist() == pairs.half().tolist()


def test_parts():
    x = example()
    assert x.real.dtype is x.imag.dtype is ember.float16
    pairs = ember.view_as_real(x)
    assert pairs.shape == (2, 2, 2) and pairs.data_ptr() == x.data_ptr()
    assert ember.view_as_complex(pairs).tolist() == x.tolist()
    x.real[0, 0] = 7
    assert x[0, 0].item() == 7 + 2j
    half = ember.ones(2, dtype=ember.float16)
    assert ember.complex(half, half).dtype is C32
    with pytest.raises(RuntimeError, match="half, float and double"):
        ember.view_as_complex(ember.ones(2, 2, dtype=ember.bfloat16))


def test_factories_and_moves():
    assert ember.zeros(2, dtype=C32).tolist() == [0j, 0j]
    assert ember.full((2,), 1 - 1j, dtype=C32).tolist() == [1 - 1j] * 2
    x = example()
    assert x.chalf() is x and ember.ones(2).chalf().dtype is C32
    assert ember.cat([x, x]).dtype is ember.stack([x, x.t()]).dtype is C32
    assert x.t().contiguous().tolist() == x.to(ember.complex64).t().tolist()
    assert x[ember.tensor([1, 0])].tolist() == x.flip(0).tolist()
    assert x.tril()[0, 1].item() == 0 and ember.ones_like(x).dtype is C32
    ember.manual_seed(0)
    assert ember.rand(3, dtype=C32).dtype is ember.randn(3, dtype=C32).dtype is C32
    assert ember.tensor(2.5, dtype=C32).item() == 2.5
    y = ember.zeros(3, dtype=C32).index_add(0, ember.tensor([1, 1]), x[0])
    assert y.tolist() == [0, 1 - 1.5j, 0]
    y[2] = 1j
    assert y[2].item() == 1j


def test_arithmetic():
    x = example()
    wide = x.to(ember.complex64)
    for f in (
        lambda t: t + t,
        lambda t: t - 2,
        lambda t: 1j * t,
        lambda t: t * t[0],
        lambda t: -t,
        lambda t: t.conj(),
        lambda t: t.sgn(),
        lambda t: t.abs(),
        lambda t: ember.addcmul(t, t, t),
        lambda t: ember.where(t == t, t, t[0]),
    ):
        got, exact = f(x), f(wide)
        expected = exact.to(C32) if exact.is_complex() else exact.half()
        assert got.dtype is expected.dtype and got.tolist() == expected.tolist()
    assert (x == x).all() and (x != 0).all() and x.isfinite().all()
    assert x.count_nonzero().item() == 4 and len(x.nonzero()) == 4
    assert x.norm().dtype is ember.float16 and x.var().dtype is ember.float16
    assert x[0].norm().item() == pytest.approx(wide[0].norm().item(), rel=1e-3)
    assert ember.allclose(x, x) and ember.equal(x, x)
    ember.testing.assert_close(x, x.clone())
    x.add_(1)
    assert x.tolist() == (wide + 1).to(C32).tolist()


def test_what_is_refused():
    x = example()
    for call in (
        lambda: x / x,
        lambda: x.exp(),
        lambda: x.sqrt(),
        lambda: x**2,
        lambda: x.sum(),
        lambda: x.mean(),
        lambda: x.cumsum(0),
        lambda: x @ x,
        lambda: ember.arange(3, dtype=C32),
        lambda: x.softmax(0),
    ):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            call()
    for call in (
        lambda: ember.fft.fft(x),
        lambda: ember.linalg.inv(x),
        lambda: ember.stft(x[0], 2),
        lambda: ember.istft(ember.ones(3, 4, dtype=C32), 4),
        lambda: ember.stft(ember.ones(9).half(), 2, return_complex=True),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_gradients():
    x = ember.tensor([1 + 2j, 3j], requires_grad=True)
    y = (x.to(C32) * (2 - 1j)).to(ember.complex64)
    ember.view_as_real(y).sum().backward()
    z = x.detach().requires_grad_()
    ember.view_as_real(z * (2 - 1j)).sum().backward()
    assert x.grad.dtype is ember.complex64 and x.grad.tolist() == z.grad.tolist()


def test_text_and_files():
    x = example()
    assert str(x[0]) == "tensor([1.+2.0000j, 0.-3.5000j], dtype=torch.complex32)"
    assert x.type() == "torch.ComplexHalfTensor"
    file = io.BytesIO()
    ember.save(x.t(), file)
    loaded = ember.load(io.BytesIO(file.getvalue()))
    assert loaded.dtype is C32 and loaded.tolist() == x.t().tolist()
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert ember.from_dlpack(x).tolist() == x.tolist()
    assert x.storage().tolist() == x.flatten().tolist()
    with pytest.raises(TypeError, match="Got unsupported ScalarType ComplexHalf"):
        x.numpy()
    meta = ember.empty(2, dtype=C32, device="meta")
    assert (meta + meta).dtype is C32 and meta.real.dtype is ember.float16


def test_default_dtype():
    try:
        ember.set_default_dtype(ember.float16)
        assert ember.tensor(1j).dtype is C32
    finally:
        ember.set_default_dtype(ember.float32)
