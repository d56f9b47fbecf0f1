"""The families of neural networks give what the CPU gives, forward and backward."""

import os
import subprocess
import sys

import pytest

import ember
import ember.nn.functional as F
from ember.testing import assert_close

FLOATS = [ember.float32, ember.float64, ember.float16, ember.bfloat16]
TOLERANCE = {
    ember.float32: {"rtol": 1e-4, "atol": 1e-4},
    ember.float64: {"rtol": 1e-10, "atol": 1e-10},
    ember.float16: {"rtol": 1e-2, "atol": 2e-2},
    ember.bfloat16: {"rtol": 5e-2, "atol": 1e-1},
}


def numbers(*shape, seed=0, dtype=ember.float32):
    made = ember.randn(*shape, generator=ember.Generator().manual_seed(seed))
    return made.to(dtype)


def plain(t):
    return t


def channels_last(t):
    return t.contiguous(memory_format=ember.channels_last)


def strided(t):
    """Every second element of a larger tensor."""
    wide = ember.zeros(*t.shape, 2, dtype=t.dtype, device=t.device)
    return ember.cat([t.unsqueeze(-1), wide[..., :1]], -1)[..., 0]


LAYOUTS = [plain, channels_last, strided]


def order(t):
    """The strides that matter."""
    return [k for n, k in zip(t.shape, t.stride(), strict=True) if n > 1]


def both(f, *inputs, **options):
    """f and its gradients on the CPU and on the device."""
    results = []
    for device in ("cpu", "opencl"):
        given = [t.detach().clone().to(device) for t in inputs]
        for t in given:
            t.requires_grad_(t.is_floating_point())
        y = f(*given)
        assert y.device.type == device
        found = [y.detach()]
        if y.requires_grad:
            g = numbers(*y.shape, 1, seed=9).reshape(y.shape)
            y.backward(g.to(y.dtype).to(device))
            found += [t.grad for t in given if t.requires_grad]
        results.append([t.cpu() for t in found])
    tolerance = {**TOLERANCE.get(inputs[0].dtype, {}), **options}
    for expected, actual in zip(*results, strict=True):
        assert order(actual) == order(expected)
        assert_close(actual, expected, equal_nan=True, **tolerance)


# --- convolution ----------------------------------------------------------------------

CONVOLUTIONS = {
    "plain": ((2, 5, 9, 8), (7, 5, 3, 3), {}),
    "padded": ((2, 5, 9, 8), (7, 5, 3, 2), {"padding": (1, 2)}),
    "strided": ((2, 4, 9, 11), (6, 4, 3, 3), {"stride": (2, 3), "padding": 1}),
    "dilated": ((1, 4, 13, 11), (6, 4, 3, 3), {"dilation": (2, 3), "stride": 2}),
    "dilation_shares_stride": (
        (1, 3, 14, 9),
        (4, 3, 3, 3),
        {"dilation": 2, "stride": 4},
    ),
    "pointwise": ((3, 8, 5, 5), (70, 8, 1, 1), {}),
    "groups": ((2, 6, 9, 8), (9, 2, 3, 3), {"groups": 3, "padding": 1}),
    "depthwise": ((2, 6, 9, 8), (6, 1, 3, 3), {"groups": 6, "padding": 1}),
    "depthwise_twice": ((2, 6, 9, 8), (12, 1, 3, 3), {"groups": 6, "stride": 2}),
    "one_result": ((2, 6, 9, 8), (1, 6, 9, 8), {}),
    "stride_over_kernel": ((2, 3, 9, 10), (3, 3, 2, 2), {"stride": 4}),
    "many_rows": ((1, 3, 20, 20), (65, 3, 3, 3), {"padding": 1}),
    "long_depth": ((9, 3, 40, 40), (5, 3, 3, 3), {"padding": 1}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution(case, layout):
    x, w, options = CONVOLUTIONS[case]
    both(
        lambda x, w, b: F.conv2d(layout(x), w, b, **options),
        numbers(*x),
        numbers(*w, seed=1),
        numbers(w[0], seed=2),
        atol=1e-3,
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_convolution_dtypes(dtype):
    x, w = numbers(2, 4, 7, 6, dtype=dtype), numbers(5, 4, 3, 3, dtype=dtype)
    both(lambda x, w: F.conv2d(x, w, padding=1, stride=2), x, w)
    both(
        lambda x, w: F.conv2d(x, w, groups=4),
        x,
        numbers(4, 1, 3, 3, seed=1, dtype=dtype),
    )


@pytest.mark.parametrize("dtype", [ember.int64, ember.int32, ember.uint8], ids=str)
def test_integer_convolution(dtype):
    x = (numbers(2, 3, 7, 6) * 5).abs().to(dtype)
    w = (numbers(4, 3, 3, 3, seed=1) * 3).abs().to(dtype)
    both(lambda x, w: F.conv2d(x, w, padding=1), x, w)


def test_complex_convolution():
    x = ember.complex(numbers(2, 3, 7, 6), numbers(2, 3, 7, 6, seed=1))
    w = ember.complex(numbers(4, 3, 3, 3, seed=2), numbers(4, 3, 3, 3, seed=3))
    b = ember.complex(numbers(4, seed=4), numbers(4, seed=5))
    for f in (
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
        lambda x, w, b: F.conv_transpose2d(x, w.transpose(0, 1), b, stride=2),
        lambda x, w, b: F.fold(F.unfold(x, 3), (7, 6), 3) * w.sum() * b.sum(),
    ):
        results = []
        for device in ("cpu", "opencl"):
            given = [t.detach().clone().to(device).requires_grad_() for t in (x, w, b)]
            y = f(*given)
            y.abs().square().sum().backward()
            results.append([t.cpu() for t in (y.detach(), *(t.grad for t in given))])
        for expected, actual in zip(*results, strict=True):
            assert_close(actual, expected, rtol=1e-4, atol=1e-2)


def test_convolution_of_other_dimensions():
    both(
        lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=2, dilation=3),
        numbers(3, 4, 50),
        numbers(6, 4, 5, seed=1),
        numbers(6, seed=2),
    )
    both(
        lambda x, w: F.conv3d(x, w, stride=(1, 2, 3), padding=1, groups=2),
        numbers(2, 4, 6, 7, 8),
        numbers(6, 2, 3, 2, 3, seed=1),
    )
    both(
        lambda x, w, b: F.conv_transpose3d(x, w, b, stride=2, output_padding=1),
        numbers(2, 4, 3, 4, 3),
        numbers(4, 3, 3, 2, 3, seed=1),
        numbers(3, seed=2),
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1, "output_padding": 1},
        {"stride": 3, "dilation": 2, "groups": 2},
        {"stride": (1, 4), "padding": (2, 0)},
    ],
    ids=str,
)
def test_transposed_convolution(options, layout):
    both(
        lambda x, w: F.conv_transpose2d(layout(x), w, **options),
        numbers(2, 6, 5, 7),
        numbers(6, 4, 3, 3, seed=1),
    )


def test_convolution_has_second_gradients():
    x, w = numbers(2, 3, 6, 6), numbers(4, 3, 3, 3, seed=1)
    found = []
    for device in ("cpu", "opencl"):
        a = x.to(device).requires_grad_()
        b = w.to(device).requires_grad_()
        (g,) = ember.autograd.grad(
            F.conv2d(a, b, stride=2).square().sum(), a, create_graph=True
        )
        found.append([t.cpu() for t in ember.autograd.grad(g.square().sum(), (a, b))])
    for expected, actual in zip(*found, strict=True):
        assert_close(actual, expected, rtol=1e-4, atol=1e-2)


def test_empty_batch():
    m = ember.nn.Sequential(
        ember.nn.Conv2d(3, 4, 3), ember.nn.MaxPool2d(2), ember.nn.Flatten()
    ).to("opencl")
    y = m(ember.zeros(0, 3, 8, 8, device="opencl"))
    assert y.shape == (0, 36)
    y.sum().backward()
    assert m[0].weight.grad.abs().sum().item() == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fold_and_unfold(layout):
    options = {
        "kernel_size": (3, 2),
        "padding": (1, 0),
        "stride": 2,
        "dilation": (1, 2),
    }
    both(lambda x: F.unfold(layout(x), **options), numbers(2, 3, 9, 8))
    places = F.unfold(numbers(2, 3, 9, 8), **options).shape[-1]
    both(lambda x: F.fold(x, (9, 8), **options), numbers(2, 18, places))


# --- pooling and resampling -----------------------------------------------------------

POOLS = {
    "max": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_dilated": lambda x: F.max_pool2d(x, (2, 3), 1, 1, dilation=2, ceil_mode=True),
    "mean": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "mean_inside": lambda x: F.avg_pool2d(
        x, (3, 2), 2, 1, count_include_pad=False, ceil_mode=True
    ),
    "mean_divided": lambda x: F.avg_pool2d(x, 2, 1, divisor_override=3),
    "adaptive_mean": lambda x: F.adaptive_avg_pool2d(x, (5, 4)),
    "adaptive_mean_larger": lambda x: F.adaptive_avg_pool2d(x, (17, 20)),
    "adaptive_max": lambda x: F.adaptive_max_pool2d(x, (5, 4)),
    "global_mean": lambda x: F.adaptive_avg_pool2d(x, 1),
    "nearest": lambda x: F.interpolate(x, size=(5, 26)),
    "bilinear": lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(
        x, size=(20, 6), mode="bicubic", align_corners=True
    ),
    "antialias": lambda x: F.interpolate(
        x, size=(5, 6), mode="bicubic", antialias=True
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", POOLS)
def test_pooling(name, layout):
    both(lambda x: POOLS[name](layout(x)), numbers(2, 5, 13, 11))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["max", "mean", "adaptive_mean"])
def test_pooling_dtypes(name, dtype):
    both(POOLS[name], numbers(2, 5, 13, 11, dtype=dtype))


def test_pooling_of_other_dimensions():
    both(lambda x: F.max_pool1d(x, 3, 2, 1), numbers(4, 6, 20))
    both(lambda x: F.avg_pool1d(x, 3, 2, 1), numbers(4, 6, 20))
    both(lambda x: F.max_pool3d(x, 2, 2, 1), numbers(2, 3, 5, 6, 7))
    both(lambda x: F.avg_pool3d(x, 2, 2, 1), numbers(2, 3, 5, 6, 7))
    both(lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)), numbers(2, 3, 5, 6, 7))
    both(lambda x: F.interpolate(x, scale_factor=2.5, mode="linear"), numbers(2, 3, 7))


def test_places_of_maxima():
    x = numbers(2, 3, 8, 9)
    x[0, 0, 2, 2] = float("nan")
    x[1] = x[1].round()  # ties
    both(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True)[1], x)
    both(lambda x: F.max_pool2d(x, 3, 2, 1), x)
    both(lambda x: F.max_pool2d(x, 2), (x.nan_to_num() * 10).long())


# --- normalization --------------------------------------------------------------------


def run_stats(x, value):
    return ember.full((x.shape[1],), value, dtype=x.dtype, device=x.device)


NORMS = {
    "batch": lambda x, w, b: F.batch_norm(
        x, run_stats(x, 0.0), run_stats(x, 1.0), w, b, True
    ),
    "batch_in_evaluation": lambda x, w, b: F.batch_norm(
        x, run_stats(x, 0.5), run_stats(x, 2.0), w, b
    ),
    "batch_alone": lambda x, w, b: F.batch_norm(x, None, None, None, None, True),
    "group": lambda x, w, b: F.group_norm(x, 3, w, b),
    "group_alone": lambda x, w, b: F.group_norm(x, 2),
    "instance": lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
}


def of_norm(f):
    """f, with all inputs in the result, so that each has a gradient."""
    return lambda x, w, b: f(x, w, b) + 0 * (w.sum() + b.sum())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NORMS)
def test_channel_norms(name, layout):
    f = of_norm(NORMS[name])
    x = numbers(4, 6, 13, 11) * 3 + 1
    both(lambda x, w, b: f(layout(x), w, b), x, numbers(6, seed=1), numbers(6, seed=2))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_channel_norm_dtypes(name, dtype):
    x = numbers(3, 6, 7, 5, dtype=dtype)
    w, b = (numbers(6, seed=k, dtype=dtype) for k in (1, 2))
    both(of_norm(NORMS[name]), x, w, b)


@pytest.mark.parametrize("n", [1, 5, 16, 33, 300])
def test_row_norms(n):
    x, w, b = numbers(70, n) * 2 + 1, numbers(n, seed=1), numbers(n, seed=2)
    both(lambda x, w, b: F.layer_norm(x, (n,), w, b), x, w, b, atol=1e-3)
    both(lambda x: F.layer_norm(x, (n,)), x, atol=1e-3)
    both(lambda x, w: F.rms_norm(x, (n,), w), x, w)
    both(lambda x, w: F.layer_norm(x.t(), (70,), w), x, numbers(70))


def test_batch_norm_of_rows_and_its_statistics():
    x = numbers(50, 6) * 2 + 5
    both(lambda x: F.batch_norm(x, None, None, None, None, True), x, atol=1e-4)
    here, there = ember.nn.BatchNorm1d(6), ember.nn.BatchNorm1d(6).to("opencl")
    here(x)
    there(x.to("opencl"))
    assert_close(there.running_mean.cpu(), here.running_mean)
    assert_close(there.running_var.cpu(), here.running_var)


def test_large_means_keep_their_variance():
    x = numbers(64, 3, 9, 9) + 1000
    both(lambda x: x.to(ember.float32).var((0, 2, 3)), x, rtol=1e-3)
    for layout in (plain, channels_last):
        both(
            lambda x, layout=layout: F.batch_norm(
                layout(x), None, None, None, None, True
            ),
            x,
            rtol=1e-2,
            atol=1e-2,
        )


# --- losses ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(7, 5), (300, 10), (3, 200), (4, 5, 3, 2)], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_class_losses(shape, reduction):
    classes = shape[1]
    target = (numbers(shape[0], *shape[2:], seed=3) * 100).long().abs() % classes
    target.view(-1)[1] = -100
    weight = numbers(classes, seed=4).abs()
    for options in ({}, {"weight": weight}, {"label_smoothing": 0.1}):
        for more in ({}, {"weight": weight}):
            chosen = {**options, **more, "reduction": reduction}

            def loss(x, chosen=chosen):
                moved = dict(chosen)
                if "weight" in moved:
                    moved["weight"] = moved["weight"].to(x.device)
                return F.cross_entropy(x, target.to(x.device), **moved)

            both(loss, numbers(*shape))
    both(
        lambda x: F.nll_loss(x, target.to(x.device), reduction=reduction),
        numbers(*shape),
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_class_loss_dtypes(dtype):
    target = ember.tensor([0, 3, 1])
    both(
        lambda x: F.cross_entropy(x, target.to(x.device), label_smoothing=0.2),
        numbers(3, 4, dtype=dtype),
    )


def test_target_out_of_bounds():
    x, target = numbers(3, 4).to("opencl"), ember.tensor([0, 4, 1]).to("opencl")
    with pytest.raises(IndexError, match="4 is out of bounds"):
        F.cross_entropy(x, target).item()


# --- optimizers -----------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": lambda p: ember.optim.SGD(p, 0.1),
    "nesterov": lambda p: ember.optim.SGD(
        p, 0.1, momentum=0.9, weight_decay=0.1, nesterov=True
    ),
    "dampened": lambda p: ember.optim.SGD(
        p, 0.1, momentum=0.9, dampening=0.2, maximize=True
    ),
    "adam": lambda p: ember.optim.Adam(p, 0.1, weight_decay=0.1),
    "adamw": lambda p: ember.optim.AdamW(p, 0.1, weight_decay=0.1, amsgrad=True),
    "rmsprop": lambda p: ember.optim.RMSprop(
        p, 0.1, centered=True, momentum=0.9, weight_decay=0.1
    ),
    "adagrad": lambda p: ember.optim.Adagrad(p, 0.1, lr_decay=0.1, weight_decay=0.1),
    "adamax": lambda p: ember.optim.Adamax(p, 0.1, weight_decay=0.1),
    "nadam": lambda p: ember.optim.NAdam(p, 0.1, weight_decay=0.1),
    "radam": lambda p: ember.optim.RAdam(p, 0.1, betas=(0.5, 0.99)),
    "adadelta": lambda p: ember.optim.Adadelta(p, 0.1, weight_decay=0.1),
    "rprop": lambda p: ember.optim.Rprop(p, 0.1),
    "asgd": lambda p: ember.optim.ASGD(p, 0.1, lambd=0.1, t0=1),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_steps_are_fused(name, dtype, monkeypatch):
    answers = []
    for step in [name for name in dir(ember._C) if name.startswith("_fused_")]:
        fused = getattr(ember._C, step)

        def noted(*args, fused=fused, **options):
            answers.append(fused(*args, **options))
            return answers[-1]

        monkeypatch.setattr(ember._C, step, noted)
    results = []
    for device in ("cpu", "opencl"):
        whole = numbers(5, 7, dtype=dtype).to(device)
        params = [whole[:2], whole[2:].t().contiguous(), whole[0, 0].clone()]
        params = [p.detach().requires_grad_() for p in params]
        optimizer = OPTIMIZERS[name](params)
        for k in range(3):
            for p in params:
                grad = numbers(*p.shape, 1, seed=k, dtype=dtype)
                p.grad = grad.reshape(p.shape).to(device)
            optimizer.step()
        results.append([p.detach().cpu() for p in params])
    assert answers == [True] * 6
    for expected, actual in zip(*results, strict=True):
        assert_close(actual, expected)


# --- recurrent layers -----------------------------------------------------------------

LAYERS = {
    "lstm": lambda: ember.nn.LSTM(5, 6, 2, bidirectional=True),
    "projected": lambda: ember.nn.LSTM(5, 6, proj_size=3, bias=False),
    "gru": lambda: ember.nn.GRU(5, 6, 2, bidirectional=True),
    "gru_without_bias": lambda: ember.nn.GRU(5, 6, bias=False),
    "tanh": lambda: ember.nn.RNN(5, 6),
    "relu": lambda: ember.nn.RNN(5, 6, nonlinearity="relu"),
}


@pytest.mark.parametrize("lengths", [[7, 7, 7, 7], [7, 5, 3, 1]], ids=str)
@pytest.mark.parametrize("dtype", [ember.float32, ember.float64], ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers(name, dtype, lengths):
    results = []
    for device in ("cpu", "opencl"):
        ember.manual_seed(0)
        layer = LAYERS[name]().to(dtype).to(device)
        x = numbers(7, 4, 5, dtype=dtype).to(device).requires_grad_()
        packed = ember.nn.utils.rnn.pack_padded_sequence(x, lengths)
        y, states = layer(packed)
        states = states if isinstance(states, tuple) else (states,)
        total = y.data.square().sum() + sum((s * s.sin()).sum() for s in states)
        total.backward()
        found = [y.data, *states, x.grad, *(p.grad for p in layer.parameters())]
        results.append([t.detach().cpu() for t in found])
    for expected, actual in zip(*results, strict=True):
        assert_close(actual, expected, rtol=1e-4, atol=1e-5)


# --- products with sparse matrices ----------------------------------------------------


@pytest.mark.parametrize("dtype", [*FLOATS, ember.int64], ids=str)
@pytest.mark.parametrize("n", [1, 16, 21])
def test_sparse_products(n, dtype):
    start, columns = ember.tensor([0, 2, 2, 5]), ember.tensor([0, 3, 1, 2, 3])
    dense = (numbers(4, n) * 5).to(dtype)
    rows = (numbers(3, n, seed=1) * 5).to(dtype)
    values = (numbers(5, seed=2) * 5).to(dtype)
    tolerance = TOLERANCE.get(dtype, {})
    for transposed in (False, True):
        other = rows if transposed else dense
        given = (start, columns, values, other)
        expected = ember._C._csr_mm(*given, 4, transposed)
        moved = [t.to("opencl") for t in given]
        actual = ember._C._csr_mm(*moved, 4, transposed)
        assert_close(actual.cpu(), expected, **tolerance)
    given = (start, columns, rows, dense)
    actual = ember._C._csr_sample(*(t.to("opencl") for t in given))
    tolerance = {**tolerance, "atol": 20 * tolerance.get("atol", 0), "rtol": 0.02}
    assert_close(actual.cpu(), ember._C._csr_sample(*given), **tolerance)


def test_sparse_positions_out_of_bounds():
    start, columns = ember.tensor([0, 1]), ember.tensor([4])
    given = (start, columns, ember.ones(1), ember.ones(4, 2))
    with pytest.raises(RuntimeError, match="4 is out of bounds"):
        ember._C._csr_mm(*(t.to("opencl") for t in given), 4).cpu()


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_embeddings(mode):
    index, offsets = ember.tensor([1, 2, 4, 5, 4, 3, 2, 9]), ember.tensor([0, 3, 3, 7])
    both(
        lambda w: F.embedding_bag(
            index.to(w.device), w, offsets.to(w.device), mode=mode
        ),
        numbers(10, 5),
    )


# --- kernels for other devices --------------------------------------------------------


def test_kernels_whose_items_share_work(request):
    """A CPU runs work-groups of one item; here it runs those of a GPU."""
    if "EMBER_OPENCL_STAGED" in os.environ:
        pytest.skip("this is the run with shared work")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, __file__, "-k", "not dtypes and not strided"],
        env={**os.environ, "EMBER_OPENCL_STAGED": "1"},
        cwd=request.config.rootpath,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
