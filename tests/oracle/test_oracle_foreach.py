"""The family of torch._foreach_*: every function and overload beside torch's."""

import itertools

import pytest

import ember

torch = pytest.importorskip("torch")

NAMES = [n for n in dir(torch) if n.startswith("_foreach_")]
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64"]


def lists(m, dtype, count=3, strided=False, seed=0):
    made = []
    for i in range(count):
        shape = [(3,), (2, 5), (), (0,), (4, 1)][i % 5]
        n = 1
        for s in shape:
            n *= s
        values = [(k * 7 + 3 + i + seed) % 11 / 4 + 0.25 for k in range(n)]
        t = m.tensor(values, dtype=m.float64).reshape(shape).to(getattr(m, dtype))
        if strided and len(shape) == 2:
            t = t.t().contiguous().t()
        made.append(t)
    return made


# The arguments after self, given the module and the dtype.
ARGUMENTS = {
    "none": lambda m, d: ((), {}),
    "int": lambda m, d: ((2,), {}),
    "float": lambda m, d: ((1.5,), {}),
    "complex": lambda m, d: ((1.5 + 2j,), {}),
    "bool": lambda m, d: ((True,), {}),
    "scalars": lambda m, d: (([2, 0.5, -1],), {}),
    "ints": lambda m, d: (([2, 3, 1],), {}),
    "too few": lambda m, d: (([2.0],), {}),
    "list": lambda m, d: ((lists(m, d, seed=5),), {}),
    "short list": lambda m, d: ((lists(m, d, 2),), {}),
    "alpha": lambda m, d: ((lists(m, d, seed=5),), {"alpha": 2}),
    "float alpha": lambda m, d: ((lists(m, d, seed=5),), {"alpha": 0.5}),
    "alpha with a number": lambda m, d: ((2,), {"alpha": 2}),
    "tensor": lambda m, d: ((m.tensor(2.0),), {}),
    "tensor of one": lambda m, d: ((m.tensor([2.0]),), {}),
    "two lists": lambda m, d: ((lists(m, d, seed=5), lists(m, d, seed=2)), {}),
    "two, one short": lambda m, d: ((lists(m, d), lists(m, d, 2)), {}),
    "two, value": lambda m, d: (
        (lists(m, d, seed=5), lists(m, d, seed=2)),
        {"value": 0.5},
    ),
    "two, scalars": lambda m, d: ((lists(m, d), lists(m, d), [1.0, 2, 3]), {}),
    "two, few scalars": lambda m, d: ((lists(m, d), lists(m, d), [1.0, 2]), {}),
    "two, packed": lambda m, d: (
        (lists(m, d), lists(m, d), m.tensor([1.0, 2, 3])),
        {},
    ),
    "list, number": lambda m, d: ((lists(m, d, seed=5), 0.3), {}),
    "list, numbers": lambda m, d: ((lists(m, d, seed=5), [0.3, 0.5, 1.0]), {}),
    "None": lambda m, d: ((None,), {}),
    "text": lambda m, d: (("x",), {}),
}


def run(m, name, dtype, arguments, **how):
    """The results, as lists and dtypes, or the type of error."""
    self = lists(m, dtype, **how)
    args, options = ARGUMENTS[arguments](m, dtype)
    try:
        result = getattr(m, name)(self, *args, **options)
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        return type(error)
    if name.endswith("_"):
        assert result is self
    else:
        assert type(result) is tuple
    return [(t.to(m.complex128), str(t.dtype), t.stride()) for t in result]


def same(a, b, dtype):
    close = 1e-2 if dtype in ("float16", "bfloat16") else 1e-5
    for (x, kind, strides), (y, other, others) in zip(a, b, strict=True):
        assert kind.split(".")[-1] == other.split(".")[-1]
        assert tuple(strides) == tuple(others)
        x, y = torch.tensor(x.tolist(), dtype=torch.complex128), y
        assert torch.allclose(
            x.reshape(y.shape), y, rtol=close, atol=1e-6, equal_nan=True
        )


def test_names():
    assert not [n for n in NAMES if not hasattr(ember, n)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_overload(name, dtype):
    worked = False
    for arguments, strided in itertools.product(ARGUMENTS, (False, True)):
        if name == "_foreach_clone" and arguments != "none":
            continue
        expected = run(torch, name, dtype, arguments, strided=strided)
        got = run(ember, name, dtype, arguments, strided=strided)
        case = (arguments, strided, got, expected)
        if (dtype, arguments) == ("float16", "complex"):
            continue  # complex32
        if isinstance(expected, type) or isinstance(got, type):
            # ember may have a kernel that torch has not
            lacks = expected in (NotImplementedError, RuntimeError) and dtype == "bool"
            both = [expected, got] in (
                [RuntimeError, NotImplementedError],
                [NotImplementedError, RuntimeError],
            )
            assert lacks or both or str(got) == str(expected), case
        else:
            worked = True
            same(got, expected, dtype)
    assert worked or dtype not in ("float32", "float64") or name == "_foreach_mm"


@pytest.mark.parametrize("name", NAMES)
def test_empty_lists(name):
    for args in [(), (1,), ([],), ([], []), ([], [], 1)]:
        results = []
        for m in (torch, ember):
            try:
                results.append(getattr(m, name)([], *args))
            except (RuntimeError, TypeError) as error:
                results.append((type(error), str(error)[:20] * ("list" in str(error))))
        if results[0] and results[0][0] is TypeError:
            assert results[1][0] is TypeError
        else:
            assert results[0] == results[1]
