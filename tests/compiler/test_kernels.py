"""Programs on tensors: layouts, tails, dtypes and conversions, reductions, lists."""

import pytest

import ember
from ember.compiler import _rows
from ember.compiler._program import Builder, Node, Program

from . import needs_jit

pytestmark = needs_jit


def fused(program):
    from ember.compiler._kernel import Fused

    return Fused(program)


def exact(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    both = (a == b) | (a.isnan() & b.isnan()) if a.is_floating_point() else a == b
    assert both.all(), (a, b)


def three():
    """x * y + exp(z) - 1.5, the number an argument."""
    b = Builder()
    x, y, z = b.load(), b.load(), b.load()
    total = b.binary("add", b.binary("mul", x, y), b.unary("exp", z))
    return fused(b.program([b.binary("sub", total, b.number())]))


@pytest.mark.parametrize("size", [0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000])
def test_lengths(size):
    x, y, z = (ember.randn(size) for _ in range(3))
    guard = ember.full((size + 64,), 7.0)
    out = guard[32 : 32 + size]
    three()(x, y, z, numbers=[1.5], out=[out])
    exact(out, x * y + z.exp() - 1.5)
    assert (guard[:32] == 7).all() and (guard[32 + size :] == 7).all()


LAYOUTS = {
    "transposed": lambda: (
        ember.randn(40, 33).t(),
        ember.randn(33, 40),
        ember.randn(40),
    ),
    "steps": lambda: tuple(ember.randn(50, 90)[::2, 1::3] for _ in range(3)),
    "row": lambda: (ember.randn(1, 70), ember.randn(9, 70), ember.randn(9, 1)),
    "number": lambda: (ember.randn(()), ember.randn(5, 6), ember.randn(1, 1)),
    "short": lambda: (ember.randn(300, 3), ember.randn(300, 1), ember.randn(3)),
    "planes": lambda: (
        ember.randn(4, 5, 6, 7).permute(2, 0, 3, 1),
        ember.randn(6, 1, 7, 5),
        ember.randn(4, 1, 1),
    ),
    "flipped": lambda: (ember.randn(64).flip(0), ember.randn(3, 64), ember.randn(3, 1)),
    "none": lambda: (ember.randn(()), ember.randn(()), ember.randn(())),
    "empty": lambda: (ember.randn(3, 0), ember.randn(3, 1), ember.randn(0)),
    "long": lambda: (ember.randn(3, 40000), ember.randn(40000), ember.randn(3, 1)),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    x, y, z = LAYOUTS[name]()
    want = x * y + z.exp() - 0.25
    exact(three()(x, y, z, numbers=[0.25])[0], want)
    # Into a strided output, and nowhere else.
    if want.dim():
        room = ember.full([2 * n + 1 for n in want.shape], 7.0)
        out = room[tuple(slice(1, 2 * n + 1, 2) for n in want.shape)]
        three()(x, y, z, numbers=[0.25], out=[out])
        exact(out, want)
        out.fill_(7.0)
        assert (room == 7).all()


def test_in_place():
    b = Builder()
    x, y = b.load(), b.load()
    f = fused(b.program([b.binary("sub", x, y), b.binary("add", x, y)]))
    for size in (5, 33, 70000):
        p, q = ember.randn(size), ember.randn(size)
        want = p - q, p + q
        version = p._version
        f(p, q, out=[p, q])
        exact(p, want[0])
        exact(q, want[1])
        assert p._version > version


NUMBERS = list(_rows.VALUE)


@pytest.mark.parametrize("source", NUMBERS)
def test_casts(source):
    from .rows import values

    for to in NUMBERS:
        x = values(source, 3, mild=True)
        if source.startswith(("float", "bfloat")):
            x = (x * 20).abs()  # what is out of range is undefined in C++, too
        b = Builder()
        y = fused(b.program([b.cast(b.load(source), to)]))(x)[0]
        exact(y, x.to(getattr(ember, to)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_round_after_each_row(dtype):
    kind = getattr(ember, dtype)
    x, y = ember.randn(777).to(kind), ember.randn(777).to(kind)
    b = Builder()
    i, j = b.load(dtype), b.load(dtype)
    s = b.binary("mul", b.binary("add", i, j), j)
    outputs = [b.unary("exp", s), b.binary("div", s, b.number()), b.unary("tanh", i)]
    outputs += [b.binary("xlogy", i, j), b.binary("floor_divide", i, j)]
    got = fused(b.program(outputs))(x, y, numbers=[3.7])
    want = (x + y) * y
    exact(got[0], want.exp())
    exact(got[1], want / 3.7)
    exact(got[2], x.tanh())
    exact(got[3], ember.special.xlogy(x, y))
    exact(got[4], ember.floor_divide(x, y))


def test_dtypes_meet():
    """Rows read what they get in the dtype they compute in, as eager ones do."""
    x, n, c = ember.randn(100), ember.randint(-5, 5, (100,)), ember.rand(100) > 0.5
    b = Builder()
    i, j, k = b.load("float32"), b.load("int64"), b.load("bool")
    outputs = [
        b.binary("mul", i, j),
        b.compare("gt", j, b.number("int64"), compute="int64"),
        b.where(k, i, b.unary("neg", i)),
        b.binary("add", j, k, compute="int64"),
    ]
    got = fused(b.program(outputs))(x, n, c, numbers=[2])
    for one, want in zip(
        got, (x * n, n > 2, ember.where(c, x, -x), n + c), strict=True
    ):
        exact(one, want)


def test_integer_division_by_zero_is_an_error():
    b = Builder()
    f = fused(b.program([b.binary("floor_divide", b.load("int32"), b.load("int32"))]))
    x, y = ember.arange(1, 40).int(), ember.ones(39).int()
    exact(f(x, y)[0], x)  # what follows the last element is no divisor
    y[17] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        f(x, y)


def test_huge_angles_take_the_exact_way():
    x = ember.linspace(-3, 3, 1000)
    x[::100] = 1e20
    b = Builder()
    i = b.load()
    f = fused(b.program([b.binary("add", b.unary("sin", i), b.unary("cos", i))]))
    exact(f(x)[0], x.sin() + x.cos())


# --- reductions ---


@pytest.mark.parametrize("shape", [(1, 1), (5, 31), (3, 64), (7, 1000), (2, 30000)])
def test_rows(shape):
    x = ember.randn(*shape)
    b = Builder()
    i = b.load()
    names = ["sum", "mean", "max", "min", "prod"]
    outputs = [b.reduce(name, i) for name in names]
    limit = b.constant(2.5)
    more = b.compare("gt", i, limit, compute="float32")
    less = b.compare("lt", i, limit, compute="float32")
    outputs += [b.reduce("any", more), b.reduce("all", less)]
    outputs.append(b.variance(i, b.number(), b.constant(0.0)))
    got = fused(b.program(outputs, [1] * 8))(x, numbers=[shape[1]])
    wide = x.double()
    tolerance = {"rtol": 3e-6, "atol": 3e-5}
    for k, y in enumerate((wide.sum(1), wide.mean(1))):
        ember.testing.assert_close(got[k][:, 0].double(), y, **tolerance)
    exact(got[2], x.amax(1, keepdim=True))
    exact(got[3], x.amin(1, keepdim=True))
    ember.testing.assert_close(got[4][:, 0], x.prod(1), rtol=1e-4, atol=1e-30)
    exact(got[5], (x > 2.5).any(1, keepdim=True))
    exact(got[6], (x < 2.5).all(1, keepdim=True))
    want = wide.var(1, correction=0)
    ember.testing.assert_close(got[7][:, 0].double(), want, **tolerance)


def softmax():
    b = Builder()
    x = b.load()
    e = b.unary("exp", b.binary("sub", x, b.reduce("max", x)))
    return fused(b.program([b.binary("div", e, b.reduce("sum", e))]))


@pytest.mark.parametrize("shape", [(4, 9), (3, 100), (2, 5000), (3, 4, 50)])
def test_softmax(shape):
    x = ember.randn(*shape) * 30
    ember.testing.assert_close(softmax()(x)[0], x.softmax(-1), rtol=2e-6, atol=1e-30)
    y = ember.randn(*shape).transpose(0, -1)
    ember.testing.assert_close(softmax()(y)[0], y.softmax(-1), rtol=2e-6, atol=1e-30)


def test_variance_does_not_cancel():
    x = 1e4 + ember.randn(3, 2000)
    b = Builder()
    f = fused(b.program([b.variance(b.load(), b.number(), b.number())], [1]))
    want = x.double().var(1, keepdim=True).float()
    ember.testing.assert_close(f(x, numbers=[2000, 1])[0], want, rtol=1e-4, atol=0)


def test_nan_wins_in_rows():
    x = ember.randn(3, 100)
    x[1, 50] = float("nan")
    b = Builder()
    i = b.load()
    most, least = fused(b.program([b.reduce("max", i), b.reduce("min", i)], [1, 1]))(x)
    assert most[1].isnan() and least[1].isnan() and not most[0].isnan()


def test_rows_do_not_depend_on_threads():
    x = ember.randn(37, 20000)
    b = Builder()
    f = fused(b.program([b.reduce("sum", b.load())], [1]))
    threads = ember.get_num_threads()
    try:
        found = []
        for n in (1, 2, 3):
            ember.set_num_threads(n)
            found.append(f(x)[0])
    finally:
        ember.set_num_threads(threads)
    exact(found[0], found[1])
    exact(found[0], found[2])


@pytest.mark.parametrize("shape", [(), (1,), (100,), (8192,), (9000,), (33, 3001)])
def test_totals(shape):
    from ember.compiler._total import Total

    b = Builder()
    x, y = b.load(), b.load()
    product = b.binary("mul", x, y)
    root = b.unary("sqrt", b.reduce("sum", b.unary("square", x)))
    outputs = [b.reduce("mean", product), root, b.reduce("max", x)]
    total = Total(b.program(outputs, [1, 1, 1]))
    p, q = ember.randn(shape), ember.randn(shape)
    threads, found = ember.get_num_threads(), []
    try:
        for n in (1, 3):
            ember.set_num_threads(n)
            found.append(total(p, q))
    finally:
        ember.set_num_threads(threads)
    for one, other in zip(*found, strict=True):
        exact(one, other)
    p, q = p.double(), q.double()
    for one, want in zip(found[0], ((p * q).mean(), p.norm(), p.max()), strict=True):
        ember.testing.assert_close(one.double(), want, rtol=1e-5, atol=1e-6)


def test_total_of_a_strided_space():
    from ember.compiler._total import Total

    b = Builder()
    total = Total(b.program([b.reduce("sum", b.load("int64"))], [1]))
    x = ember.arange(600).reshape(20, 30).t()[::2]
    assert total(x)[0].item() == x.sum().item()


# --- lists ---


def test_lists():
    b = Builder()
    p, g = b.load(), b.load()
    f = fused(b.program([b.binary("sub", p, b.binary("mul", g, b.number()))]))
    shapes = [(3,), (40, 50), (1,), (100000,), (7, 7), (0,)]
    params = [ember.randn(s) for s in shapes]
    grads = [ember.randn(s) for s in shapes]
    want = [p - g * 0.1 for p, g in zip(params, grads, strict=True)]
    f.run_list([((p, g), (p,), (0.1,)) for p, g in zip(params, grads, strict=True)])
    for p, y in zip(params, want, strict=True):
        exact(p, y)


# --- what is refused ---


def test_wrong_calls():
    f = three()
    x = ember.randn(4)
    with pytest.raises(TypeError, match="float64 in place of float32"):
        f(x, x, x.double(), numbers=[1.0])
    with pytest.raises(ValueError, match="4 tensors and 0 numbers"):
        f(x, x, x)
    with pytest.raises(ValueError, match=r"shape \(3,\) in place of \(4,\)"):
        f(x, x, x, numbers=[1.0], out=[ember.empty(3)])
    with pytest.raises(NotImplementedError, match="complex64"):
        fused(Program((Node("load", "complex64", slot=0),), (0,)))


def test_memory_is_checked():
    from array import array

    from ember import _C

    x = ember.zeros(4)
    code = _C._load_code(b"\xc3", 0)

    def run(first, last, size=4):
        ranges = array("q", [size, first, last, 0]).tobytes()
        return _C._run_kernel(code, (((x,), ranges, b"", 0),), 1)

    run(0, 3)  # no units: nothing is called
    with pytest.raises(RuntimeError, match="lie outside"):
        run(0, 4)
    with pytest.raises(RuntimeError, match="lie outside"):
        run(-1, 3)
    for first, last in ((-(2**62), 3), (0, 2**62), (-(2**63), 2**63 - 1)):
        with pytest.raises(RuntimeError, match="lie outside"):
            run(first, last)
    with pytest.raises(TypeError, match="elements of 8 bytes"):
        run(0, 3, size=8)
    with pytest.raises(RuntimeError, match="memory of the CPU"):
        x = ember.zeros(4, device="meta")
        run(0, 3)


def test_programs_are_values():
    a, b = Builder(), Builder()
    for one in (a, b):
        one.unary("exp", one.load())
    assert a.program([1]) == b.program([1])
    assert hash(a.program([1])) == hash(b.program([1]))


def test_constants_keep_their_sign():
    b = Builder()
    x = b.load()
    zeros = [b.constant(v) for v in (0.0, -0.0)]
    outputs = [b.binary("copysign", x, z, compute="float32") for z in zeros]
    plus, minus = fused(b.program(outputs))(ember.ones(40))
    assert (plus == 1).all() and (minus == -1).all()


def test_only_code_that_was_loaded_is_called():
    from ember import _C

    disk = _C._disk_cache("", 1)
    for other in (0, 1 << 40, -1, None, b"", disk, object()):
        with pytest.raises(TypeError, match="expected what _load_code gives"):
            _C._run_kernel(other, (), 1)
    for entry in (1, -1, 2**62):
        with pytest.raises(ValueError, match="no place"):
            _C._load_code(b"\xc3", entry)
    with pytest.raises(TypeError):
        _C._load_code("text", 0)
