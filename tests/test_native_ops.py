"""Ops called by PyTorch's own names: normalisations, segments, `ember.ops`."""

import math

import pytest

import ember
from ember.autograd import gradcheck, gradgradcheck


def doubles(*shape: int) -> ember.Tensor:
    return ember.randn(*shape, dtype=ember.float64).requires_grad_()


def test_gradients_of_native_norms() -> None:
    x, w, b = doubles(3, 4), doubles(4), doubles(4)

    def layer(x, w, b):
        return ember.native_layer_norm(x, (4,), w, b, 1e-5)[0]

    def batch(x, w, b):
        return ember.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)[0]

    for f in (layer, batch):
        assert gradcheck(f, (x, w, b))
        assert gradgradcheck(f, (x, w, b))


def test_native_batch_norm_follows_the_batch() -> None:
    mean, var, x = ember.zeros(2), ember.ones(2), ember.randn(50, 2) * 3 + 1
    out, saved_mean, saved_rstd = ember.native_batch_norm(
        x, None, None, mean, var, True, 0.5, 0.0
    )
    assert ember.allclose(saved_mean, x.mean(0), atol=1e-6)
    assert ember.allclose(saved_rstd, 1 / x.std(0, correction=0), atol=1e-5)
    assert ember.allclose(mean, x.mean(0) / 2, atol=1e-6)
    assert ember.allclose(var, 0.5 + x.var(0) / 2, atol=1e-5)
    assert ember.allclose(out.mean(0), ember.zeros(2), atol=1e-6)


def test_empty_segments() -> None:
    x, lengths = ember.tensor([1.0, 2.0, 3.0]), ember.tensor([2, 0, 1])

    def empty_of(reduce: str, **options) -> float:
        return ember.segment_reduce(x, reduce, lengths=lengths, **options)[1].item()

    assert empty_of("sum") == 0 and empty_of("prod") == 1
    assert empty_of("max") == -math.inf and empty_of("min") == math.inf
    assert math.isnan(empty_of("mean"))
    assert empty_of("max", initial=7) == empty_of("mean", initial=7) == 7
    assert ember.segment_reduce(x, "max", lengths=lengths, initial=2.5)[2].item() == 3


def test_a_hash_sees_every_bit_and_no_order() -> None:
    x = ember.randn(1001)
    assert ember.hash_tensor(x).item() == ember.hash_tensor(x.flip(0)).item()
    y = x.clone()
    y[500] += 1e-3
    assert ember.hash_tensor(x).item() != ember.hash_tensor(y).item()


def test_ops_by_their_aten_names() -> None:
    x = ember.randn(3)
    aten = ember.ops.aten
    assert (aten.add.Tensor(x, x) == x + x).all()
    assert (aten.special_expm1(x) == ember.special.expm1(x)).all()
    assert (aten.slice.Tensor(x, 0, 1, 3) == x[1:3]).all()
    assert (aten.gelu(x) == ember.nn.functional.gelu(x)).all()
    assert aten.add is aten.add
    with pytest.raises(AttributeError, match="no operator 'nonsense'"):
        _ = aten.nonsense


def test_grid_sampler_takes_numbers_for_modes() -> None:
    image, grid = ember.randn(1, 1, 4, 4), ember.rand(1, 2, 2, 2)
    want = ember.nn.functional.grid_sample(image, grid, "nearest", "border", True)
    assert (ember.grid_sampler_2d(image, grid, 1, 1, True) == want).all()
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        ember.grid_sampler_3d(image, grid, 0, 0, True)
    with pytest.raises(RuntimeError, match="0, 1 or 2"):
        ember.grid_sampler(image, grid, 3, 0, True)


def test_losses_with_numbered_reductions() -> None:
    functional = ember.nn.functional
    x, y = ember.randn(5, 3), ember.rand(5, 3)
    sign = ember.tensor([1, -1, 1, -1, 1])
    pairs = [
        (
            lambda r: ember.binary_cross_entropy_with_logits(x, y, reduction=r),
            lambda r: functional.binary_cross_entropy_with_logits(x, y, reduction=r),
        ),
        (
            lambda r: ember.cosine_embedding_loss(x, y, sign, 0.1, r),
            lambda r: functional.cosine_embedding_loss(x, y, sign, 0.1, reduction=r),
        ),
        (
            lambda r: ember.poisson_nll_loss(x, y, True, False, 1e-8, r),
            lambda r: functional.poisson_nll_loss(x, y, reduction=r),
        ),
        (
            lambda r: ember.triplet_margin_loss(x, y, y.flip(0), reduction=r),
            lambda r: functional.triplet_margin_loss(x, y, y.flip(0), reduction=r),
        ),
    ]
    for ours, theirs in pairs:
        for number, name in enumerate(("none", "mean", "sum")):
            assert (ours(number) == theirs(name)).all()
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        ember.kl_div(x, y, 3)
    assert ember.kl_div(x.log_softmax(1), y, 2).shape == ()


def test_layers_under_their_aten_names() -> None:
    x, w = ember.randn(4, 3, 5), ember.randn(3)
    functional = ember.nn.functional
    ours = ember.batch_norm(x, w, w, None, None, True, 0.1, 1e-5, False)
    assert (ours == functional.batch_norm(x, None, None, w, w, True)).all()
    ours = ember.instance_norm(x, w, w, None, None, True, 0.1, 1e-5, False)
    assert (ours == functional.instance_norm(x, weight=w, bias=w)).all()
    values, indices = ember.adaptive_max_pool1d(x, 2)
    assert (x.gather(2, indices) == values).all()
    assert (ember.embedding(x[0], ember.tensor([2, 0])) == x[0][[2, 0]]).all()
    assert ember.norm_except_dim(x, 2, 1).shape == (1, 3, 1)
    assert ember.allclose(ember.norm_except_dim(x, 2, -1), x.norm())


def test_fill_diagonal_of_a_view_reaches_the_base() -> None:
    leaf = ember.zeros(4, 4, requires_grad=True)
    x = leaf.clone()
    assert x[1:, 1:].fill_diagonal_(3.0).trace().item() == 9
    assert x.diagonal().tolist() == [0, 3, 3, 3]
    x.sum().backward()
    assert leaf.grad.diagonal().tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("names", [("max", "min"), ("amax", "amin")])
def test_extremes_of_segments_start_from_their_elements(names) -> None:
    x, lengths = ember.tensor([-1.0, -2.0, 3.0, 4.0]), ember.tensor([2, 2])
    most, least = (ember.segment_reduce(x, name, lengths=lengths) for name in names)
    assert most.tolist() == [-1, 4] and least.tolist() == [-2, 3]


def gradient(f, values: list) -> list:
    x = ember.tensor(values, requires_grad=True)
    f(x).sum().backward()
    return x.grad.tolist()


def test_gradients_of_extremes_are_shared_among_ties_and_nans() -> None:
    nan = float("nan")
    assert gradient(lambda x: x.max(), [1, nan, 3, nan]) == [0, 0.5, 0, 0.5]
    assert gradient(lambda x: x.min(), [1.0, 1.0, 3.0]) == [0.5, 0.5, 0]
    assert gradient(lambda x: x.median(), [1, 2, 2, 2, 2, 3.0]) == [0, *[0.25] * 4, 0]
    assert gradient(lambda x: x.nanmedian(), [nan, 2.0, 5.0, 2.0]) == [0, 0.5, 0, 0.5]

    def by_segment(x):
        return ember.segment_reduce(x, "max", lengths=ember.tensor([2, 3]))

    assert gradient(by_segment, [1, nan, 4, 4, 3.0]) == [0, 1, 0.5, 0.5, 0]
    rows = ember.tensor([[1.0, 5.0], [2.0, 5.0]], dtype=ember.float64)
    rows.requires_grad_()
    assert gradcheck(lambda x: by_segment(ember.cat([x, x[:1] * 3, x * 2])), (rows,))


def test_gradient_by_a_complex_exponent_of_a_negative_base() -> None:
    e = ember.tensor(2 + 0j, dtype=ember.complex128, requires_grad=True)
    assert gradcheck(lambda e: ember.pow(ember.tensor(-1.5), e), (e,))
