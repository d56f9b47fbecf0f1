"""Torch7's optimizers, and its files."""

import io
import struct

import numpy as np
import pytest

import ember
from ember.legacy import load, nn, optim


def rosenbrock(x):
    a, b = x[0].item(), x[1].item()
    value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
    gradient = [-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)]
    return value, ember.tensor(gradient, dtype=ember.float64)


STEPS = {
    "sgd": (4000, {"learningRate": 1e-3, "momentum": 0.5, "dampening": 0}),
    "nag": (4000, {"learningRate": 5e-4}),
    "adam": (3000, {"learningRate": 1e-2}),
    "adamax": (3000, {"learningRate": 2e-2}),
    "adagrad": (4000, {"learningRate": 0.3}),
    "rmsprop": (4000, {"learningRate": 2e-3}),
    "rprop": (400, {"learningRate": 0.01}),
    "asgd": (4000, {"learningRate": 1e-3}),
    "adadelta": (6000, {"learningRate": 1.0, "rho": 0.9}),
    "lbfgs": (10, {"lineSearch": True}),
    "cg": (6, {"maxIter": 20}),
}


@pytest.mark.parametrize("name", STEPS)
def test_descends(name):
    steps, config = STEPS[name]
    x = ember.tensor([-0.5, 0.8], dtype=ember.float64)
    first, _ = rosenbrock(x)
    state = {}
    for _ in range(steps):
        same, losses = getattr(optim, name)(rosenbrock, x, config, state)
        assert same is x
    assert rosenbrock(x)[0] < first * 0.02
    assert losses
    assert state


def test_sgd_does_what_it_says():
    x = ember.tensor([1.0])
    config = {"learningRate": 0.1, "learningRateDecay": 1.0, "momentum": 0.5}

    def opfunc(x):
        return 0.0, ember.ones(1)

    optim.sgd(opfunc, x, config)
    assert x.item() == pytest.approx(0.9)
    optim.sgd(opfunc, x, config)  # dampening is momentum: velocity 0.5 + 0.5
    assert x.item() == pytest.approx(0.9 - 0.05)
    assert config["evalCounter"] == 2


# --- .t7 ---


class Writer:
    """Just enough of Torch7's serialisation."""

    def __init__(self):
        self.data, self.count = b"", 0

    def put(self, layout, *values):
        self.data += struct.pack("<" + layout, *values)
        return self

    def text(self, value):
        self.put("i", len(value))
        self.data += value.encode()
        return self

    def number(self, value):
        return self.put("id", 1, value)

    def string(self, value):
        return self.put("i", 2).text(value)

    def index(self):
        self.count += 1
        return self.put("i", self.count)

    def table(self, items):
        self.put("i", 3).index().put("i", len(items))
        for key, value in items.items():
            self.value(key).value(value)
        return self

    def torch(self, name):
        return self.put("i", 4).index().text("V 1").text(name)

    def tensor(self, array):
        kind = {"f4": "Float", "f8": "Double", "i8": "Long"}[array.dtype.str[1:]]
        strides = [s // array.itemsize for s in array.strides]
        self.torch(f"torch.{kind}Tensor").put("i", array.ndim)
        self.put(f"{array.ndim}q", *array.shape).put(f"{array.ndim}q", *strides)
        self.put("q", 1).torch(f"torch.{kind}Storage").put("q", array.size)
        self.data += array.tobytes()
        return self

    def module(self, name, fields):
        return self.torch(f"nn.{name}").table(fields)

    def value(self, value):
        if callable(value):
            value(self)
            return self
        if isinstance(value, bool):
            return self.put("ii", 5, value)
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, int | float):
            return self.number(value)
        if isinstance(value, np.ndarray):
            return self.tensor(value)
        return self.table(value)


def read(value):
    return load(io.BytesIO(Writer().value(value).data))


def test_values_and_tables():
    assert read(3.5) == 3.5
    assert read(True) is True
    assert read({1: "a", 2: "b"}) == ["a", "b"]
    assert read({"x": 1, "y": {"z": False}}) == {"x": 1, "y": {"z": False}}
    array = np.arange(6.0).reshape(2, 3)
    tensor = read(array)
    assert tensor.dtype == ember.float64
    assert np.array_equal(tensor.numpy(), array)


def test_a_network():
    weight = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    bias = np.ones(2, np.float32)
    linear = {"weight": weight, "bias": bias, "gradWeight": weight, "gradBias": bias}
    model = read(
        lambda w: w.module(
            "Sequential",
            {
                "train": False,
                "modules": {
                    1: lambda w: w.module("Linear", linear),
                    2: lambda w: w.module("Threshold", {"threshold": 0, "val": 0}),
                    3: lambda w: w.module("HardTanh", {"min_val": -1, "max_val": 1}),
                },
            },
        )
    )
    assert isinstance(model, nn.Sequential)
    x = ember.randn(4, 3)
    wanted = (x @ ember.from_numpy(weight).t() + 1).relu().clamp(-1, 1)
    assert ember.allclose(model.forward(x), wanted, atol=1e-6)
    assert model.backward(x, ember.ones(4, 2)).shape == (4, 3)


def test_unknown_classes_keep_their_fields():
    value = read(lambda w: w.torch("my.Class").table({"a": 1}))
    assert value.torch_typename == "my.Class"
    assert value.fields == {"a": 1}


def test_shared_objects_stay_shared():
    def twice(w):
        w.put("i", 3).index().put("i", 2)
        w.number(1)
        w.tensor(np.zeros(2))
        first = 2
        w.number(2)
        w.put("ii", 4, first)

    a, b = read(twice)
    a[0] = 5
    assert b[0] == 5


@pytest.mark.parametrize("seed", range(5))
def test_damaged_files_give_exceptions(seed):
    array = np.arange(6.0).reshape(2, 3)
    data = Writer().value({"a": array, "b": {1: "x", 2: array}}).data
    rng = np.random.default_rng(seed)
    for _ in range(300):
        broken = bytearray(data[: rng.integers(1, len(data) + 1)])
        for _ in range(rng.integers(0, 4)):
            broken[rng.integers(len(broken))] = rng.integers(256)
        try:
            load(io.BytesIO(bytes(broken)))
        except (ValueError, EOFError, UnicodeDecodeError, MemoryError):
            pass
    with pytest.raises(ValueError, match="Lua function"):
        load(io.BytesIO(struct.pack("<i", 6)))
