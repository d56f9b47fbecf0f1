"""Convolutions, pooling, padding and resampling against plain loops over NumPy."""

import itertools
import multiprocessing

import numpy as np
import pytest

import ember
from ember import nn
from ember.nn import functional as F


def convolved(x, w, stride, padding, dilation, groups):
    """conv2d by its definition."""
    x = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    batch, _, high, wide = x.shape
    out, per_group, kh, kw = w.shape
    rows = (high - dilation * (kh - 1) - 1) // stride + 1
    columns = (wide - dilation * (kw - 1) - 1) // stride + 1
    y = np.zeros((batch, out, rows, columns))
    for o, i, j in itertools.product(range(out), range(rows), range(columns)):
        first = o // (out // groups) * per_group
        part = x[:, first : first + per_group]
        part = part[:, :, i * stride :, j * stride :][:, :, ::dilation, ::dilation]
        y[:, o, i, j] = (part[:, :, :kh, :kw] * w[o]).sum((1, 2, 3))
    return y


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"),
    [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 1), (3, 2, 2, 4)],
)
def test_conv2d_is_its_definition(stride, padding, dilation, groups):
    ember.manual_seed(0)
    x = ember.randn(2, 4, 9, 8, dtype=ember.float64)
    w = ember.randn(8, 4 // groups, 3, 2, dtype=ember.float64)
    y = F.conv2d(x, w, None, stride, padding, dilation, groups)
    expected = convolved(x.numpy(), w.numpy(), stride, padding, dilation, groups)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12, atol=1e-12)


# (input, weight, options): each reaches another kernel.
CONVOLUTIONS = {
    "columns": ((2, 3, 9, 8), (4, 3, 3, 3), {"padding": 1}),
    "pointwise": ((3, 24, 20, 20), (40, 24, 1, 1), {}),
    "pointwise, strided": ((2, 24, 21, 20), (40, 24, 1, 1), {"stride": 2}),
    "blocked": ((2, 20, 23, 24), (36, 20, 3, 3), {"padding": 1, "stride": (1, 2)}),
    "few channels": ((2, 3, 32, 32), (16, 3, 5, 5), {"padding": 2}),
    "groups": ((2, 32, 16, 15), (64, 8, 3, 3), {"padding": (0, 1), "groups": 4}),
    "dilated": ((2, 16, 24, 24), (16, 16, 3, 3), {"padding": 2, "dilation": 2}),
    "depthwise": ((2, 9, 19, 37), (9, 1, 3, 3), {"padding": 1, "groups": 9}),
    "depthwise, narrow": ((2, 5, 6, 3), (5, 1, 3, 3), {"padding": 1, "groups": 5}),
    "depthwise, stride 2": (
        (2, 5, 18, 21),
        (5, 1, 3, 5),
        {"padding": (1, 2), "groups": 5, "stride": 2},
    ),
    "depthwise, stride 3": (
        (1, 4, 20, 22),
        (4, 1, 2, 4),
        {"groups": 4, "stride": 3, "dilation": (1, 2)},
    ),
    "one axis": ((3, 16, 100), (24, 16, 5), {"padding": 2, "stride": 2}),
    "three axes": ((2, 8, 9, 10, 11), (8, 8, 3, 3, 3), {"padding": 1}),
}


@pytest.mark.parametrize("channels_last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_kernels_of_convolutions_agree(case, channels_last):
    """float32, whichever kernel it takes, against float64."""
    shape, kernel, options = CONVOLUTIONS[case]
    if channels_last and len(shape) != 4:
        pytest.skip("the format is one of images")
    ember.manual_seed(0)
    random = {s: ember.rand(*s, dtype=ember.float64) for s in (shape, kernel)}
    random[kernel[:1]] = ember.rand(kernel[0], dtype=ember.float64)
    conv = getattr(F, f"conv{len(shape) - 2}d")
    found = []
    for dtype in (ember.float64, ember.float32):
        x, w, b = (t.to(dtype) for t in random.values())
        if channels_last and dtype == ember.float32:
            x = x.contiguous(memory_format=ember.channels_last)
            w = w.contiguous(memory_format=ember.channels_last)
        inputs = [t.detach().requires_grad_() for t in (x, w, b)]
        y = conv(*inputs, **options)
        weights = y.detach() / y.detach().max()
        grads = ember.autograd.grad(y, inputs, weights, create_graph=True)
        again = sum((g * g.detach()).sum() for g in grads)
        second = ember.autograd.grad(again, inputs[:2])
        plain = conv(*inputs, **options)
        fused = ember.autograd.grad(plain, inputs, weights)
        assert y.is_contiguous() != (channels_last and dtype == ember.float32)
        found.append([y, *grads, *second, *fused])
    for one, other in zip(*found):
        scale = float(one.abs().max())
        np.testing.assert_allclose(
            other.detach().numpy(), one.detach().numpy(), rtol=1e-4, atol=2e-5 * scale
        )


def _trained_step(_=None):
    ember.manual_seed(0)
    conv = nn.Conv2d(16, 32, 3, padding=1)
    x = ember.rand(4, 16, 24, 24, requires_grad=True)
    conv(x).square().mean().backward()
    return [t.tolist() for t in (conv.weight.grad[0, 0], x.grad[0, 0, 0])]


def test_convolution_in_a_forked_process():
    """The threads of the parent, which its kernels were made for, are not there."""
    expected = _trained_step()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.map_async(_trained_step, [0]).get(timeout=60)[0]
    for one, other in zip(expected, found):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [(0, 2, 5, 5), (2, 0, 5, 5)])
def test_convolution_of_nothing(size):
    x = ember.ones(*size, requires_grad=True)
    w = ember.ones(3, size[1], 2, 2, requires_grad=True)
    b = ember.arange(3.0)
    y = F.conv2d(x, w, b)
    assert y.shape == (size[0], 3, 4, 4)
    assert (y == b.view(3, 1, 1)).all()
    y.sum().backward()
    assert x.grad.shape == x.shape
    assert (w.grad == 0).all()


POOLS = {
    "max, stride 2": ((2, 5, 19, 23), lambda x: F.max_pool2d(x, 3, 2, 1)),
    "max, dilated": ((2, 5, 19, 40), lambda x: F.max_pool2d(x, 3, 1, 1, (1, 2))),
    "max, stride 3": ((2, 5, 9, 20), lambda x: F.max_pool2d(x, 2, 3, ceil_mode=True)),
    "max, one axis": ((2, 5, 100), lambda x: F.max_pool1d(x, 3, 2)),
    "max, three axes": ((2, 3, 5, 6, 17), lambda x: F.max_pool3d(x, 2, 2, 1)),
    "mean": ((2, 5, 19, 23), lambda x: F.avg_pool2d(x, 3, 1, 1)),
    "mean, stride 2": ((2, 5, 18, 23), lambda x: F.avg_pool2d(x, 3, 2, 1, True, False)),
    "mean, stride 3": ((2, 5, 19, 23), lambda x: F.avg_pool2d(x, (2, 4), 3)),
    "mean of all": ((2, 5, 7, 7), lambda x: F.adaptive_avg_pool2d(x, 1)),
    "adaptive mean": ((2, 5, 13, 20), lambda x: F.adaptive_avg_pool2d(x, (6, None))),
    "adaptive max": ((2, 5, 13, 20), lambda x: F.adaptive_max_pool2d(x, (6, 7))),
}


@pytest.mark.parametrize("channels_last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("case", POOLS)
def test_kernels_of_pooling_agree(case, channels_last):
    """float32 against float64, whose vectors end elsewhere, in both memory formats."""
    shape, pool = POOLS[case]
    if channels_last and len(shape) != 4:
        pytest.skip("the format is one of images")
    ember.manual_seed(0)
    base = ember.rand(*shape).double()  # the same order in both dtypes
    found = []
    for dtype in (ember.float64, ember.float32):
        x = base.to(dtype)
        if channels_last and dtype == ember.float32:
            x = x.contiguous(memory_format=ember.channels_last)
        x = x.detach().requires_grad_()
        y = pool(x)
        (dx,) = ember.autograd.grad(y, x, y.detach(), create_graph=True)
        weights = ember.arange(y.numel(), dtype=dtype).reshape(y.shape).sin()
        (again,) = ember.autograd.grad(pool(x), x, weights)
        found.append([y, dx, again])
    for one, other in zip(*found):
        np.testing.assert_allclose(
            other.detach().numpy(), one.detach().numpy(), rtol=1e-5, atol=1e-6
        )


def test_max_pool_of_nothing_but_the_smallest():
    """The first position inside the input stands for a window without a maximum."""
    x = ember.full((1, 1, 4, 4), -float("inf"))
    values, places = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    assert values.tolist() == x[:, :, :2, :2].tolist()
    assert places.tolist() == [[[[0, 1], [4, 5]]]]
    x[0, 0, 3, 3] = float("nan")
    assert F.max_pool2d(x, 3, 2, 1)[0, 0].isnan().tolist() == [[0, 0], [0, 1]]


def test_pooling_of_nothing():
    x = ember.ones(0, 2, 5, 5, requires_grad=True)
    y = F.max_pool2d(x, 2) + F.avg_pool2d(x, 2) + F.adaptive_avg_pool2d(x, 2)
    assert y.shape == (0, 2, 2, 2)
    y.sum().backward()
    assert x.grad.shape == x.shape


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolution_is_the_gradient(dims):
    """<conv(x), y> == <x, conv_transpose(y)> for all x and y."""
    ember.manual_seed(0)
    conv = getattr(F, f"conv{dims}d")
    transposed = getattr(F, f"conv_transpose{dims}d")
    w = ember.randn(6, 2, *[3] * dims, dtype=ember.float64)
    x = ember.randn(2, 4, *[7] * dims, dtype=ember.float64, requires_grad=True)
    out = conv(x, w, None, 2, 1, 1, 2)
    y = ember.randn(*out.shape, dtype=ember.float64)
    (out * y).sum().backward()
    back = transposed(y, w, None, 2, 1, 0, 2)
    np.testing.assert_allclose(back.numpy(), x.grad.numpy(), rtol=1e-10, atol=1e-10)


def test_same_padding_keeps_the_size():
    conv = nn.Conv2d(3, 5, (3, 4), padding="same", dilation=(2, 1))
    assert conv(ember.ones(2, 3, 7, 6)).shape == (2, 5, 7, 6)
    assert conv(ember.ones(3, 7, 6)).shape == (5, 7, 6)  # without a batch
    with pytest.raises(ValueError, match="strided"):
        nn.Conv1d(3, 5, 3, padding="same", stride=2)


def test_circular_convolution_wraps_around():
    conv = nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular", bias=False)
    with ember.no_grad():
        conv.weight.fill_(1.0)
    y = conv(ember.tensor([[1.0, 2.0, 3.0, 4.0]]))
    assert y.tolist() == [[7.0, 6.0, 9.0, 8.0]]


def test_convolutions_reject_what_does_not_fit():
    conv = nn.Conv2d(3, 4, 3)
    with pytest.raises(RuntimeError, match="to have 3 channels, but got 2"):
        conv(ember.ones(1, 2, 5, 5))
    with pytest.raises(RuntimeError, match="Kernel size can't be greater"):
        conv(ember.ones(1, 3, 2, 5))
    with pytest.raises(RuntimeError, match="should be the same"):
        conv(ember.ones(1, 3, 5, 5, dtype=ember.float64))


def test_pad_modes():
    x = ember.tensor([[1, 2, 3]])
    assert F.pad(x, (1, 2), value=9).tolist() == [[9, 1, 2, 3, 9, 9]]
    assert F.pad(x, (-1, 1)).tolist() == [[2, 3, 0]]
    assert F.pad(x, (2, 1), "reflect").tolist() == [[3, 2, 1, 2, 3, 2]]
    assert F.pad(x, (2, 1), "replicate").tolist() == [[1, 1, 1, 2, 3, 3]]
    assert F.pad(x, (2, 1), "circular").tolist() == [[2, 3, 1, 2, 3, 1]]
    with pytest.raises(RuntimeError, match="less than the corresponding"):
        F.pad(x, (3, 0), "reflect")


def test_max_pool_finds_places_that_unpool_uses():
    ember.manual_seed(0)
    x = ember.randn(2, 3, 6, 6)
    values, places = F.max_pool2d(x, 2, return_indices=True)
    assert bool((x.flatten(2).gather(2, places.flatten(2)) == values.flatten(2)).all())
    back = F.max_unpool2d(values, places, 2)
    assert back.shape == x.shape
    assert bool(((back == x) | (back == 0)).all())


def test_padding_never_wins_a_maximum():
    x = -ember.ones(1, 1, 4)
    assert F.max_pool1d(x, 3, 1, 1).tolist() == x.tolist()
    lowest = ember.full((1, 1, 2), float("-inf"))
    _, places = F.max_pool1d(lowest, 2, 2, 1, return_indices=True)
    assert places.tolist() == [[[0, 1]]]


def test_avg_pool_counts():
    x = ember.ones(1, 1, 5)
    padded = F.avg_pool1d(x, 3, 2, 1)
    np.testing.assert_allclose(padded.numpy()[0, 0], [2 / 3, 1, 2 / 3], rtol=1e-6)
    alone = F.avg_pool1d(x, 3, 2, 1, count_include_pad=False)
    assert alone.tolist() == [[[1.0, 1.0, 1.0]]]


def test_adaptive_pools_cover_everything():
    x = ember.arange(7.0).view(1, 1, 7)
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[[1.0, 3.0, 5.0]]]
    assert F.adaptive_max_pool1d(x, 3).tolist() == [[[2.0, 4.0, 6.0]]]
    assert F.adaptive_avg_pool2d(ember.ones(2, 3, 5, 7), (None, 1)).shape == (
        2,
        3,
        5,
        1,
    )


def test_fold_undoes_unfold_up_to_counts():
    x = ember.randn(2, 3, 6, 5, dtype=ember.float64)
    options = {"kernel_size": 3, "stride": 2, "padding": 1}
    total = F.fold(F.unfold(x, **options), (6, 5), **options)
    counts = F.fold(F.unfold(ember.ones_like(x), **options), (6, 5), **options)
    np.testing.assert_allclose((total / counts).numpy(), x.numpy(), rtol=1e-12)


def test_interpolation_keeps_lines_straight():
    line = ember.arange(5.0).view(1, 1, 5)
    fine = F.interpolate(line, size=9, mode="linear", align_corners=True)
    np.testing.assert_allclose(fine.numpy()[0, 0], np.arange(9) / 2, atol=1e-6)
    twice = F.interpolate(line, scale_factor=2)
    assert twice.tolist() == [[[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]]


def test_the_identity_grid_samples_the_image():
    x = ember.randn(2, 3, 4, 5)
    theta = ember.tensor([[1.0, 0, 0], [0, 1, 0]]).expand(2, 2, 3)
    for mode, align in itertools.product(
        ("bilinear", "nearest", "bicubic"), (True, False)
    ):
        grid = F.affine_grid(theta, (2, 3, 4, 5), align)
        same = F.grid_sample(x, grid, mode, align_corners=align)
        np.testing.assert_allclose(same.numpy(), x.numpy(), atol=1e-5)


def test_pixel_shuffle_and_back():
    x = ember.randn(2, 8, 3, 4)
    assert bool((F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2) == x).all())


def test_power_pooling_of_infinite_order():
    x = ember.tensor([[[-5.0, 2.0, -3.0, -4.0, 1.0, 1.0]]])
    assert F.lp_pool1d(x, float("inf"), 2).tolist() == [[[5, 4, 1]]]
    assert F.lp_pool1d(x, -float("inf"), 2).tolist() == [[[2, 3, 1]]]


def test_adaptive_pools_refuse_impossible_sizes_at_once():
    x = ember.ones(2, 3, 6, 6)
    for pool in (ember.nn.AdaptiveAvgPool2d, ember.nn.AdaptiveMaxPool2d):
        with pytest.raises(RuntimeError, match=r"allocate|overflowed"):
            pool((2**31 - 1, 2**31 - 1))(x)
    for size in ((), (1, 1, 1, 1)):
        with pytest.raises(RuntimeError, match="1 to 3 numbers"):
            ember._C._adaptive_avg_pool(x, size)


@pytest.mark.parametrize("sides", [(-5, 2), (2, -5), (-3, -2), (-9, 9)])
def test_padding_cuts_off_no_more_than_there_is(sides):
    with pytest.raises(RuntimeError, match=r"pad|size"):
        F.pad(ember.ones(4), sides)
    with pytest.raises(RuntimeError, match=r"pad|size"):
        F.pad(ember.ones(2, 4, 3), (0, 0) + sides)
    assert F.pad(ember.ones(4), (-4, 2)).tolist() == [0, 0]
