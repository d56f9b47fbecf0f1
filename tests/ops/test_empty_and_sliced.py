"""Tensors without elements, and slices of tensors in channels_last."""

import pytest

import ember

F = ember.nn.functional


def channels_last(*shape):
    return ember.rand(shape).to(memory_format=ember.channels_last)


@pytest.mark.parametrize(
    "shape", [(2, 0, 4), (0, 3), (3, 0), (1, 0, 1), (2, 3, 0, 4)], ids=str
)
def test_tensors_without_elements_are_contiguous(shape):
    x = ember.empty([n + 2 for n in shape])
    for d, n in enumerate(shape):
        x = x.narrow(d, 0, n)
    assert x.is_contiguous()
    assert x.transpose(0, 1).is_contiguous()


def test_slices_keep_their_layout():
    """Where the strides are in the order of channels_last, though with gaps."""
    x = channels_last(2, 8, 6, 6)[:, ::2].requires_grad_()
    plain = x.detach().contiguous()
    for f in (
        lambda t: F.max_pool2d(t, 2),
        lambda t: F.avg_pool2d(t, 2),
        lambda t: F.adaptive_avg_pool2d(t, 3),
        lambda t: F.adaptive_max_pool2d(t, 3),
        lambda t: F.conv2d(t, ember.ones(3, 4, 2, 2)),
        lambda t: F.interpolate(t, scale_factor=2),
        lambda t: ember.cat([t, t], 1),
        lambda t: ember.cat([t[:, :, 1:], t[:, :, 1:]], -1),
    ):
        made = f(x)
        assert made.is_contiguous(memory_format=ember.channels_last)
        assert f(plain).is_contiguous()
        assert ember.allclose(made, f(plain), atol=1e-6)
        (grad,) = ember.autograd.grad(made.square().sum(), x)
        turned = plain.clone().requires_grad_()
        (expected,) = ember.autograd.grad(f(turned).square().sum(), turned)
        assert ember.allclose(grad, expected, atol=1e-4)


def test_template_keeps_its_layout():
    flat = ember.rand(2 * 3 * 4 * 4)
    flat.resize_as_(channels_last(2, 3, 4, 4), memory_format=ember.preserve_format)
    assert flat.is_contiguous(memory_format=ember.channels_last)


def test_nothing_joins_along_any_dimension():
    empty = ember.empty(0)
    assert ember.cat([empty, empty], dim=1).shape == (0,)
    with pytest.raises(IndexError):
        ember.cat([ember.ones(2), empty], dim=1)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_adaptive_pools_of_nothing(dims):
    mean, most = (getattr(F, f"adaptive_{k}_pool{dims}d") for k in ("avg", "max"))
    assert mean(ember.ones(0, *[10] * dims), 5).shape == (0, *[5] * dims)
    x = ember.ones(1, 4, *[10] * dims, requires_grad=True)
    for pool in (mean, most):
        with pytest.raises(RuntimeError, match="grad_output to have non-zero size"):
            pool(x, 0).sum().backward()


def test_sums_of_products_over_nothing():
    a, b = ember.ones(0, 2, 2), ember.ones(1, 2, 3)
    assert ember.einsum("bik,bkj->bij", a, b).shape == (0, 2, 3)
    assert ember.tensordot(ember.ones(0, 0, 2), ember.ones(2), 1).shape == (0, 0)


@pytest.mark.parametrize("shape", [(0, 0), (10, 0)])
def test_sparse_gradients_of_embeddings_without_columns(shape):
    weight = ember.ones(shape, requires_grad=True)
    ids = ember.zeros(2 * (shape[0] > 0), dtype=ember.int64)
    F.embedding(ids, weight, sparse=True).sum().backward()
    assert weight.grad.is_sparse and weight.grad.shape == shape
