"""The table of primitives: every row reaches a Python device and a recorder."""

import numpy as np
import pytest

import ember
import ember.nn.functional as F
from ember.backend import Backend, memory_of, primitives, record, register_backend

CALLS = []


def seen(name):
    def method(self, *args):
        CALLS.append((name, args))
        if name == "reduce" and args[0] == "all":
            memory_of(args[1])[:] = 1  # what is checked beforehand is in order
        if name in ("nonzero", "masked_select", "repeated_positions"):
            shape = (0, 2) if name == "nonzero" else (0,)
            dtype = ember.float32 if name == "masked_select" else ember.int64
            return ember.empty(shape, dtype=dtype, device="every")
        return None

    return method


class EveryBackend(Backend):
    """Has all primitives, of which none does anything."""

    def allocate(self, nbytes):
        return np.zeros(max(nbytes, 1), np.uint8)

    def copy_bytes(self, to, source, nbytes): ...
    def copy_from_host(self, to, source): ...

    def copy_to_host(self, to, source):
        np.frombuffer(to, np.uint8)[...] = memory_of(source)[: len(to)]


for _name in primitives():
    setattr(EveryBackend, _name, seen(_name))


@pytest.fixture(scope="module", autouse=True)
def device():
    register_backend("every", EveryBackend())


def new(*shape, dtype=ember.float32, grad=False):
    return ember.empty(shape, dtype=dtype, device="every", requires_grad=grad)


def backward(f, *shapes):
    inputs = [new(*shape, grad=True) for shape in shapes]
    return ember.autograd.grad(f(*inputs), inputs, new(*f(*inputs).shape))


def lstm(grad):
    layer = ember.nn.LSTM(4, 5, device="every")
    y, _ = layer(new(3, 2, 4))
    return y.sum().backward() if grad else y


def step(optimizer, **options):
    w = new(3, grad=True)
    w.grad = new(3)
    getattr(ember.optim, optimizer)([w], **options).step()


def rows():
    return ints(4), ints(5)


def X():
    return new(3, 4)


def A():
    return new(3, 3)


def ints(*shape):
    return new(*shape, dtype=ember.int64)


def P():
    return new(3, dtype=ember.int32)


def image():
    return new(2, 4, 6, 6)


def norm(training=True):
    return lambda x: F.batch_norm(x, new(4), new(4), training=training)


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


HEADS = (1, 2, 3, 4)
IMAGE = (2, 4, 6, 6)

# What ends in each primitive.
OPS = {
    "copy": lambda: X().t().contiguous(),
    "fill": lambda: X().fill_(1),
    "unary": lambda: X().exp(),
    "binary": lambda: X() + X(),
    "predicate": lambda: X().isnan(),
    "compare": lambda: X() < X(),
    "ternary": lambda: X().lerp(X(), X()),
    "unary_grad": lambda: backward(ember.tanh, (3,)),
    "list_pointwise": lambda: ember._foreach_add([X()], [X()]),
    "reduce": lambda: X().sum(),
    "extremes": lambda: X().max(0),
    "variance": lambda: X().var(),
    "index_get": lambda: X()[ints(2)],
    "index_put": lambda: X().index_put_((ints(2),), X()[:2]),
    "gather": lambda: X().gather(0, ints(3, 4)),
    "scatter": lambda: X().scatter(0, ints(3, 4), X()),
    "nonzero": lambda: X().nonzero(),
    "masked_select": lambda: X().masked_select(X() < 1),
    "masked_scatter": lambda: X().masked_scatter(X() < 1, X()),
    "flip": lambda: X().flip(0),
    "repeated_positions": lambda: ember.repeat_interleave(ints(3)),
    "join": lambda: ember.cat([X(), X()]),
    "arange": lambda: ember.arange(3, device="every"),
    "triangle": lambda: X().tril(),
    "matmul": lambda: A() @ A(),
    "weights_matmul": lambda: ember._weights_mm(
        A(), new(2, 3, dtype=ember.int8), new(2, 1)
    ),
    "scan": lambda: X().cumsum(0),
    "sort": lambda: X().sort(),
    "topk": lambda: X().topk(2),
    "pick": lambda: X().kthvalue(2),
    "search": lambda: ember.searchsorted(new(4), new(3)),
    "softmax": lambda: X().softmax(0),
    "softmax_grad": lambda: backward(lambda x: x.softmax(0), (3, 4)),
    "logsumexp": lambda: X().logsumexp(0),
    "random": lambda: X().normal_(),
    "random_slopes": lambda: F.rrelu(X(), training=True),
    "sample": lambda: ember.poisson(X()),
    "sample_grad": lambda: ember._C._ops["_standard_gamma_grad"](X(), X()),
    "cholesky": lambda: ember.linalg.cholesky_ex(A()),
    "solve_triangular": lambda: ember.linalg.solve_triangular(A(), A(), upper=True),
    "lu": lambda: ember.linalg.lu_factor_ex(A()),
    "lu_solve": lambda: ember.linalg.lu_solve(A(), P(), A()),
    "lu_inverse": lambda: ember.linalg.inv_ex(A()),
    "pivot_order": lambda: ember.lu_unpack(A(), P()),
    "ldl": lambda: ember.linalg.ldl_factor_ex(A()),
    "ldl_solve": lambda: ember.linalg.ldl_solve(A(), P(), A()),
    "qr": lambda: ember.geqrf(A()),
    "reflect_identity": lambda: ember.linalg.qr(A()),
    "reflect": lambda: ember.ormqr(A(), new(3), A()),
    "eigh": lambda: ember.linalg.eigh(A()),
    "eig": lambda: ember.linalg.eig(A()),
    "svd": lambda: ember.linalg.svd(A()),
    "least_squares": lambda: ember.linalg.lstsq(A(), A()),
    "fft_c2c": lambda: ember.fft.fft(new(4, dtype=ember.complex64)),
    "fft_r2c": lambda: ember.fft.rfft(X()),
    "fft_c2r": lambda: ember.fft.irfft(new(4, dtype=ember.complex64)),
    "conv": lambda: F.conv2d(image(), new(8, 4, 3, 3)),
    "conv_grad": lambda: backward(F.conv2d, IMAGE, (8, 4, 3, 3)),
    "unfold": lambda: F.unfold(image(), 2),
    "fold": lambda: F.fold(new(1, 8, 9), (4, 4), 2),
    "max_pool": lambda: F.max_pool2d(image(), 2),
    "max_pool_grad": lambda: backward(lambda x: F.max_pool2d(x, 2), IMAGE),
    "mean_pool": lambda: F.avg_pool2d(image(), 2),
    "mean_pool_grad": lambda: backward(lambda x: F.avg_pool2d(x, 2), IMAGE),
    "blend": lambda: F.interpolate(image(), scale_factor=2, mode="bilinear"),
    "blend_grad": lambda: backward(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE
    ),
    "norm_rows": lambda: F.layer_norm(X(), (4,)),
    "norm_rows_grad": lambda: backward(lambda x: F.layer_norm(x, (4,)), (3, 4)),
    "norm_groups": lambda: F.group_norm(image(), 2),
    "norm_groups_grad": lambda: backward(lambda x: F.group_norm(x, 2), IMAGE),
    "channel_moments": lambda: norm()(image()),
    "channel_scale": lambda: norm(False)(image()),
    "channel_dots": lambda: backward(norm(), IMAGE),
    "channel_combine": lambda: backward(norm(), IMAGE),
    "attention": lambda: attend(new(*HEADS), new(*HEADS), new(*HEADS)),
    "attention_grad": lambda: backward(attend, HEADS, HEADS, HEADS),
    "recurrent": lambda: lstm(False),
    "recurrent_grad": lambda: lstm(True),
    "class_loss": lambda: F.cross_entropy(X(), ints(3)),
    "class_loss_grad": lambda: backward(lambda x: F.cross_entropy(x, ints(3)), (3, 4)),
    "sparse_mm": lambda: ember._C._ops["_csr_mm"](*rows(), new(5), new(4, 2), 4),
    "sampled_mm": lambda: ember._C._ops["_csr_sample"](*rows(), new(3, 2), new(4, 2)),
    "update": lambda: step("NAdam"),
}


@pytest.mark.parametrize("name", primitives())
def test_a_python_device_gets_every_primitive(name):
    CALLS.clear()
    OPS[name]()
    found = [args for called, args in CALLS if called == name]
    assert found, f"the op ended in {[called for called, _ in CALLS]}"
    given = primitives()[name].split("(")[1].rstrip(")").split(", ")
    # The positions of an index are two arguments.
    assert len(found[0]) == len(given) + ("at" in given and name.startswith("index"))


@pytest.mark.parametrize("name", primitives())
def test_every_primitive_can_be_recorded(name):
    with record("every") as steps:
        OPS[name]()
    assert name in [step.primitive for step in steps]


def test_structs_arrive_as_dicts():
    CALLS.clear()
    F.conv2d(image(), new(8, 2, 3, 3), stride=2, groups=2)
    (moves,) = [args[-1] for called, args in CALLS if called == "conv"]
    assert moves == {
        "stride": (2, 2),
        "padding": (0, 0),
        "dilation": (1, 1),
        "groups": 2,
    }


def test_a_recording_is_the_same_for_the_same_work():
    def work(x, w, factor=2.0):
        with record() as steps:
            y = (x @ w).relu() * factor
            y.sum().backward()
        return steps

    ember.manual_seed(0)
    x, w = ember.randn(4, 3), ember.randn(3, 5, requires_grad=True)
    first = work(x, w)
    w.grad = None
    assert [s.primitive for s in first[:3]] == ["matmul", "unary", "binary"]
    assert first == work(x, w)
    assert first != work(x, w, 3.0)
    assert len({hash(step) for step in first}) > 1


def test_a_recording_tells_what_is_read_and_written():
    x = ember.arange(6.0).reshape(2, 3)
    with record() as steps:
        y = x.t() + 1
        y[0].mul_(2)
    add, mul = steps
    assert add.attributes == "f=add compute=float32 b=1"
    assert add.reads[0].strides == (1, 3) and add.reads[0].shape == (3, 2)
    assert mul.reads == mul.writes and mul.writes[0].storage == add.writes[0].storage
    np.testing.assert_array_equal(y, [[2, 8], [2, 5], [3, 6]])


def test_what_a_primitive_asks_of_others_is_part_of_it():
    x = ember.randn(3, 4)
    with record() as steps:
        F.avg_pool2d(x[None, None], (3, 4))
    assert [step.primitive for step in steps] == ["mean_pool"]


def test_recording_ends_with_an_error_and_does_not_nest():
    with pytest.raises(ZeroDivisionError), record() as steps:
        ember.ones(2)
        raise ZeroDivisionError
    assert [step.primitive for step in steps] == ["fill"]
    again = pytest.raises(RuntimeError, match="being recorded already")
    with record(), again, record():
        pass
    assert ember.ones(2).sum() == 2
