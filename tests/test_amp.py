"""Mixed precision: which op runs in which dtype, scaled gradients."""

import pytest

import ember
import ember.nn.functional as F
from ember import nn

BF16, F32 = ember.bfloat16, ember.float32


@pytest.fixture
def x():
    ember.manual_seed(0)
    return ember.randn(3, 3)


@pytest.mark.parametrize(
    "run, dtype",
    [
        (lambda x: x @ x, BF16),
        (lambda x: x.mm(x), BF16),
        (lambda x: F.linear(x, x), BF16),
        (lambda x: F.conv1d(x[None], x[:, :, None]), BF16),
        (lambda x: ember.einsum("ij,jk->ik", x, x), BF16),
        (lambda x: F.softmax(x @ x, 0), BF16),
        (lambda x: F.gelu(x @ x), BF16),
        (lambda x: F.mse_loss(x @ x, x @ x), F32),
        (lambda x: F.cross_entropy(x @ x, ember.arange(3)), F32),
        (lambda x: ember.prod(x @ x), F32),
        (lambda x: ember.cat([x, x @ x]), F32),
        (lambda x: x + x @ x, F32),
        (lambda x: ember.dot(x[0], x[0]), F32),
        (lambda x: x.double() @ x.double(), ember.float64),
    ],
)
def test_dtypes(x, run, dtype):
    with ember.autocast("cpu"):
        assert run(x).dtype == dtype


def test_nesting_and_state(x):
    assert not ember.is_autocast_enabled("cpu")
    with ember.autocast("cpu", dtype=ember.float16):
        assert (x @ x).dtype == ember.float16
        with ember.autocast("cpu", enabled=False):
            assert (x @ x).dtype == F32
        with ember.autocast("cpu"):
            assert (x @ x).dtype == ember.float16
        assert ember.is_autocast_enabled("cpu")
    assert (x @ x).dtype == F32 and ember.get_autocast_dtype("cpu") == BF16


def test_decorator_and_errors(x):
    @ember.autocast("cpu")
    def product(a):
        return a @ a

    assert product(x).dtype == BF16 and (x @ x).dtype == F32
    with pytest.raises(ZeroDivisionError), ember.autocast("cpu"):
        1 / 0
    assert not ember.is_autocast_enabled("cpu")
    with pytest.warns(UserWarning, match="not supported"):
        assert not ember.autocast("cpu", dtype=ember.int32)._enabled
    with pytest.raises(RuntimeError, match="device"):
        ember.autocast("toaster")


def test_training_keeps_weights_and_gradients_wide(x):
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    with ember.autocast("cpu"):
        loss = F.mse_loss(model(x), ember.zeros(3, 1))
    loss.backward()
    grads = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    F.mse_loss(model(x), ember.zeros(3, 1)).backward()
    for p, low in zip(model.parameters(), grads, strict=True):
        assert low.dtype == F32
        assert ember.allclose(low, p.grad, rtol=0.1, atol=0.02)


def test_weights_are_cast_once(x):
    weight = nn.Parameter(x)
    with ember.autocast("cpu"):
        a, b = F.linear(x, weight), F.linear(x, weight)
    casts = [n.grad_fn.next_functions for n in (a, b)]
    found = [{id(n) for n, _ in edges if n is not None} for edges in casts]
    assert found[0] & found[1]


def test_custom_functions(x):
    seen = []

    class Product(ember.autograd.Function):
        @staticmethod
        @ember.amp.custom_fwd(device_type="cpu", cast_inputs=F32)
        def forward(ctx, a):
            seen.append((a.dtype, ember.is_autocast_enabled("cpu")))
            return a * 2

        @staticmethod
        @ember.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append(ember.is_autocast_enabled("cpu"))
            return g * 2

    leaf = x.clone().requires_grad_()
    with ember.autocast("cpu"):
        Product.apply(leaf @ leaf).sum().backward()
    assert seen == [(F32, False), False]


def test_scaler_skips_steps_that_overflow():
    w = nn.Parameter(ember.ones(1))
    optimizer = ember.optim.SGD([w], lr=0.5)
    scaler = ember.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    scales = []
    for factor in (1.0, 1.0, float("inf"), 1.0):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [4.0, 8.0, 4.0, 4.0] and w.item() == -0.5
    other = ember.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 4.0


def test_scaler_order_of_calls():
    w = nn.Parameter(ember.ones(1))
    optimizer = ember.optim.SGD([w], lr=0.5)
    scaler = ember.amp.GradScaler("cpu")
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    assert w.grad.item() == 1.0
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    scaler.update()
    off = ember.amp.GradScaler("cpu", enabled=False)
    assert off.scale(3) == 3 and off.get_scale() == 1.0 and off.state_dict() == {}


def test_names_with_the_device_in_them():
    with pytest.warns(DeprecationWarning, match="get_autocast_dtype"):
        assert ember.get_autocast_cpu_dtype() == ember.bfloat16
    with pytest.warns(DeprecationWarning):
        assert ember.get_autocast_gpu_dtype() == ember.float16
    with pytest.warns(DeprecationWarning):
        assert not ember.is_autocast_cpu_enabled()
    x = ember.ones(2, 2)
    assert ember.autocast_increment_nesting() == 1
    try:
        with pytest.warns(DeprecationWarning):
            ember.set_autocast_cpu_enabled(True)
        assert (x @ x).dtype == ember.bfloat16
        with pytest.warns(DeprecationWarning):
            ember.set_autocast_cpu_dtype(ember.float16)
        assert (x @ x).dtype == ember.float16
    finally:
        ember.set_autocast_dtype("cpu", ember.bfloat16)
        ember.set_autocast_enabled("cpu", False)
        assert ember.autocast_decrement_nesting() == 0
    assert (x @ x).dtype == ember.float32
