"""A whole device in plain Python, on NumPy arrays; an MLP trains on it."""

import numpy as np
import pytest

import ember
from ember.backend import Backend, memory_of, register_backend


def view(t):
    """The elements of a tensor of this device as a NumPy array, without copying."""
    dtype = np.dtype(str(t.dtype).split(".")[-1])
    return np.ndarray(
        tuple(t.shape),
        dtype,
        buffer=memory_of(t),
        offset=t.storage_offset() * dtype.itemsize,
        strides=[s * dtype.itemsize for s in t.stride()],
    )


def values(x):
    return view(x) if isinstance(x, ember.Tensor) else x


UNARY = {
    "neg": np.negative,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "sqrt": np.sqrt,
    "square": np.square,
    "sgn": np.sign,
}
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "maximum": np.maximum,
}
COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


class NumpyBackend(Backend):
    def allocate(self, nbytes):
        return np.empty(max(nbytes, 1), np.uint8)

    def copy_bytes(self, to, source, nbytes):
        to[:nbytes] = source[:nbytes]

    def copy_from_host(self, to, source):
        view(to)[...] = np.frombuffer(source, view(to).dtype).reshape(to.shape)

    def copy_to_host(self, to, source):
        np.frombuffer(to, view(source).dtype)[...] = view(source).ravel()

    def copy(self, out, x):
        view(out)[...] = view(x)

    def fill(self, out, value):
        view(out)[...] = value

    def unary(self, f, compute, out, x, params):
        view(out)[...] = UNARY[f](values(x))

    def binary(self, f, compute, out, a, b):
        view(out)[...] = BINARY[f](values(a), values(b))

    def compare(self, f, compute, out, a, b, params):
        view(out)[...] = COMPARE[f](values(a), values(b))

    def ternary(self, f, compute, out, a, b, c, params):
        assert f == "where"
        view(out)[...] = np.where(values(a), values(b), values(c))

    def reduce(self, f, out, x, dims, p):
        axes = tuple(dims)
        functions = {"sum": np.sum, "mean": np.mean, "max": np.amax, "any": np.any}
        view(out)[...] = functions[f](view(x), axis=axes, keepdims=True)

    def matmul(self, out, a, b, alpha, beta):
        product = alpha * (view(a) @ view(b))
        view(out)[...] = product + beta * view(out) if beta else product


@pytest.fixture(scope="module", autouse=True)
def numpy_device():
    register_backend("numpy", NumpyBackend())


def test_values_go_there_and_back():
    x = ember.arange(6.0).reshape(2, 3)
    y = x.to("numpy")
    assert y.device.type == "numpy"
    assert (y * 2 + 1).cpu().tolist() == (x * 2 + 1).tolist()
    assert y.t().cpu().tolist() == x.t().tolist()


def test_an_mlp_trains_to_the_same_weights_as_on_the_cpu():
    def train(device):
        ember.manual_seed(0)
        x = ember.randn(32, 4).to(device)
        y = ember.randn(32, 2).to(device)
        w1 = (ember.randn(4, 8) * 0.5).to(device).requires_grad_()
        b1 = ember.zeros(8).to(device).requires_grad_()
        w2 = (ember.randn(8, 2) * 0.5).to(device).requires_grad_()
        losses = []
        for _ in range(20):
            loss = ((ember.tanh(x @ w1 + b1).relu() @ w2 - y) ** 2).mean()
            loss.backward()
            losses.append(loss.item())
            with ember.no_grad():
                for w in (w1, b1, w2):
                    w -= 0.1 * w.grad
                    w.grad = None
        return losses, [w.detach().cpu() for w in (w1, b1, w2)]

    losses, weights = train("numpy")
    expected_losses, expected = train("cpu")
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    for a, b in zip(weights, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_decompose(transposed):
    """A device without kernels for them has them nevertheless, with gradients."""
    ember.manual_seed(0)
    conv = getattr(ember, "conv_transpose2d" if transposed else "conv2d")
    tensors = [ember.randn(2, 4, 7, 6), ember.randn(4, 2, 3, 2), ember.randn(4)]
    found = []
    for device in ("cpu", "numpy"):
        inputs = [t.to(device).detach().requires_grad_() for t in tensors]
        y = conv(*inputs, stride=2, padding=1, dilation=(1, 2), groups=2)
        y.backward(y.detach())
        found.append([y, *(t.grad for t in inputs)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(
            b.detach().cpu().numpy(), a.detach().numpy(), rtol=1e-4, atol=1e-4
        )


def test_a_missing_primitive_is_named():
    x = ember.ones(3).to("numpy")
    with pytest.raises(NotImplementedError, match=r"'variance' on device 'numpy'"):
        x.var()


def test_an_unregistered_device_is_an_error():
    with pytest.raises(RuntimeError, match="nowhere"):
        ember.ones(2, device="nowhere")


def test_tensors_of_two_devices_do_not_mix():
    x = ember.ones(3)
    with pytest.raises(RuntimeError, match="same device"):
        x + x.to("numpy")
