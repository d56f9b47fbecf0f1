"""Products of float8 matrices with scales: exact sums, rounded once."""

import pytest

import ember
import ember.nn.functional as F

E4, E5 = ember.float8_e4m3fn, ember.float8_e5m2


def matrices(m=6, k=16, n=10, a=E4, b=E4):
    ember.manual_seed(0)
    return ember.randn(m, k).to(a), ember.randn(n, k).to(b).t()


@pytest.mark.parametrize("out", [ember.float32, ember.bfloat16, ember.float16, E4, E5])
@pytest.mark.parametrize("kinds", [(E4, E4), (E5, E4), (E4, E5), (E5, E5)])
def test_one_scale(out, kinds):
    a, b = matrices(a=kinds[0], b=kinds[1])
    scale_a, scale_b = ember.tensor(0.5), ember.tensor([[0.25]])
    got = ember._scaled_mm(a, b, scale_a, scale_b, out_dtype=out)
    exact = (a.double() @ b.double()) * 0.125
    assert got.dtype is out
    assert got.double().tolist() == exact.float().to(out).double().tolist()


def test_defaults():
    a, b = matrices()
    one = ember.tensor(1.0)
    assert ember._scaled_mm(a, b, one, one).dtype is E4
    doubled = ember._scaled_mm(a, b, one, one, scale_result=ember.tensor(2.0))
    plain = ember._scaled_mm(a, b, one, one, out_dtype=ember.float32)
    assert doubled.tolist() == (2 * plain).to(E4).tolist()
    out = ember.empty(0, dtype=ember.float32)
    assert ember._scaled_mm(a, b, one, one, out_dtype=ember.float32, out=out) is out
    assert out.tolist() == plain.tolist()
    # neither layout nor a flag for other devices changes anything
    same = ember._scaled_mm(
        a.t().contiguous().t(),
        b.contiguous(),
        one,
        one,
        out_dtype=ember.float32,
        use_fast_accum=True,
    )
    assert same.tolist() == plain.tolist()


def test_scales_of_lines_and_bias():
    a, b = matrices()
    rows, columns = 2.0 ** ember.arange(6.0)[:, None], 0.5 ** ember.arange(10.0)[None]
    bias = ember.arange(10.0)
    exact = (a.double() * rows) @ (b.double() * columns)
    for kind in (ember.float32, ember.bfloat16):
        got = ember._scaled_mm(a, b, rows, columns, bias.to(kind), out_dtype=kind)
        assert got.double().tolist() == (exact + bias).to(kind).double().tolist()


def test_empty():
    a, b = matrices()
    one = ember.tensor(1.0)
    assert ember._scaled_mm(a[:0], b, one, one).shape == (0, 10)
    nothing = ember._scaled_mm(a[:, :0], b[:0], one, one)
    assert nothing.shape == (6, 10) and not nothing.float().any()
    meta = ember._scaled_mm(*(t.to("meta") for t in (a, b, one, one)))
    assert meta.shape == (6, 10) and meta.dtype is E4


def test_errors():
    a, b = matrices()
    one = ember.tensor(1.0)
    bad = [
        (a.float(), b, one, one),
        (a, b, one.double(), one.double()),
        (a, b, ember.ones(6, 1), one),
        (a, b, ember.ones(6), ember.ones(10)),
        (a, b, ember.ones(10, 1), ember.ones(1, 6)),
    ]
    for arguments in bad:
        with pytest.raises(ValueError, match="Invalid scaling configuration"):
            ember._scaled_mm(*arguments)
    with pytest.raises(TypeError):
        ember._scaled_mm(a, b)


def test_public_name():
    a, b = matrices()
    whole, lines = F.ScalingType.TensorWise, F.ScalingType.RowWise
    half = ember.tensor(0.5)
    got = F.scaled_mm(a, b, half, whole, half, whole)
    assert got.dtype is ember.bfloat16
    assert got.tolist() == (0.25 * (a.float() @ b.float())).bfloat16().tolist()
    rows, columns = ember.full((6, 1), 2.0), ember.full((1, 10), 0.5)
    got = F.scaled_mm(a, b, [rows], [lines], [columns], [lines], output_dtype=None)
    assert got.dtype is E4
    for recipe in (F.ScalingType.BlockWise1x32, lines):
        with pytest.raises(ValueError, match="Invalid scaling configuration"):
            F.scaled_mm(a, b, half, whole, half, recipe)
    with pytest.raises(ValueError, match="Invalid scaling configuration"):
        F.scaled_mm(a, b, half, whole, half, whole, F.SwizzleType.SWIZZLE_32_4_4)
