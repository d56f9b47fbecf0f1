"""_foreach_*: the fused loop gives what one tensor after another would."""

import numpy as np
import pytest

import ember
from ember._functions.foreach import BINARY, FUNCTIONS, TERNARY, UNARY
from ember.utils._foreach_utils import _group_tensors_by_device_and_dtype

SHAPES = [(5,), (), (3, 7), (0,), (1031,), (40_000,)]


def tensors(dtype=ember.float32, seed=0):
    ember.manual_seed(seed)
    return [ember.rand(s, dtype=dtype) + 0.5 for s in SHAPES]


def same(got, expected):
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist() or ember.equal(a.isnan(), b.isnan())


@pytest.mark.parametrize("dtype", [ember.float32, ember.float64, ember.bfloat16])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one(name, dtype):
    x = tensors(dtype)
    expected = [getattr(ember, name)(t) for t in x]
    same(getattr(ember, f"_foreach_{name}")(x), expected)
    assert getattr(ember, f"_foreach_{name}_")(x) is x
    same(x, expected)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name):
    x, y = tensors(), tensors(seed=1)
    function, change = FUNCTIONS[f"_foreach_{name}"], FUNCTIONS[f"_foreach_{name}_"]
    one = getattr(ember, name)
    number = getattr(
        ember, {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name, name)
    )
    numbers = [0.5, 2, 1.5, 3, -1, 0.25]
    same(function(x, y), [one(a, b) for a, b in zip(x, y, strict=True)])
    same(function(x, 0.75), [number(a, 0.75) for a in x])
    expected = [number(a, b) for a, b in zip(x, numbers, strict=True)]
    same(function(x, numbers), expected)
    change(x, numbers)
    same(x, expected)


@pytest.mark.parametrize("name", TERNARY)
def test_functions_of_three(name):
    x, y, z = tensors(), tensors(seed=1), tensors(seed=2)
    one, rows = getattr(ember, name), list(zip(x, y, z, strict=True))
    values = [0.5, 2, 1.5, 3, -1, 0.25]
    function = getattr(ember, f"_foreach_{name}")
    same(function(x, y, z), [one(*r) for r in rows])
    same(function(x, y, z, value=0.3), [one(*r, value=0.3) for r in rows])
    expected = [one(*r, value=v) for r, v in zip(rows, values, strict=True)]
    same(function(x, y, z, values), expected)
    same(function(x, y, z, ember.tensor(values)), expected)
    same(ember._foreach_lerp(x, y, 0.3), [ember.lerp(a, b, 0.3) for a, b, _ in rows])
    same(ember._foreach_lerp(x, y, z), [ember.lerp(*r) for r in rows])


def test_the_same_tensor_twice_changes_twice():
    x = ember.ones(3)
    ember._foreach_mul_([x, x], [2.0, 3.0])
    assert x.tolist() == [6, 6, 6]
    y = ember.arange(4.0)
    ember._foreach_add_([y[:3], y[1:]], 1.0)
    assert y.tolist() == [1, 3, 4, 4]


def test_an_operand_that_is_changed_on_the_way():
    x, y = ember.ones(3), ember.ones(3)
    ember._foreach_add_([x, y], [y, x])
    assert (x.tolist(), y.tolist()) == ([2, 2, 2], [3, 3, 3])


def test_gradients():
    x = [ember.ones(2, requires_grad=True), ember.ones(3, requires_grad=True)]
    total = sum(t.sum() for t in ember._foreach_mul(x, [2.0, 3.0]))
    total.backward()
    assert [t.grad.tolist() for t in x] == [[2, 2], [3, 3, 3]]
    with pytest.raises(RuntimeError, match="leaf"):
        ember._foreach_add_(x, 1)
    with ember.no_grad():
        ember._foreach_add_(x, 1)
    assert x[0].tolist() == [2, 2]


def test_a_change_is_noticed_by_the_tape():
    w = ember.ones(2, requires_grad=True)
    y = w * 2
    z = y * y
    ember._foreach_mul_([y.detach()], 3.0)
    with pytest.raises(RuntimeError, match="modified"):
        z.sum().backward()


def test_errors_name_what_is_wrong():
    x = [ember.ones(2), ember.ones(3)]
    with pytest.raises(RuntimeError, match="at least one tensor"):
        ember._foreach_exp([])
    with pytest.raises(RuntimeError, match="got 2 and 1"):
        ember._foreach_add(x, x[:1])
    with pytest.raises(RuntimeError, match="same number of elements as scalar list"):
        ember._foreach_mul(x, [1.0])
    with pytest.raises(TypeError, match="element 1"):
        ember._foreach_sqrt([x[0], 3])
    with pytest.raises(TypeError, match="_foreach_add"):
        ember._foreach_add(x, None)
    with pytest.raises(RuntimeError, match="0 dim"):
        ember._foreach_mul(x, ember.ones(2))
    with pytest.raises(RuntimeError, match="empty tensor"):
        ember._foreach_max([ember.ones(0)])


@pytest.mark.parametrize("kind", ["float32", "float16", "float64", "int64"])
def test_numbers_of_numpy_are_numbers(kind):
    x = [ember.full((2,), 3.0), ember.ones(3)]
    two = np.dtype(kind).type(2)
    for name in ("add", "sub", "mul", "div", "pow", "clamp_min", "maximum"):
        function = getattr(ember, f"_foreach_{name}")
        for by in (two, [two, two]):
            found = function(x, by)
            assert all(map(ember.equal, found, function(x, 2))), (name, by)
    lerp, addcmul = ember._foreach_lerp, ember._foreach_addcmul
    assert all(map(ember.equal, lerp(x, x, two), lerp(x, x, 2)))
    for options in (
        {"value": two},
        {"value": ember.tensor(2.0)},
        {"scalars": [two] * 2},
    ):
        found = addcmul(x, x, x, **options)
        assert all(map(ember.equal, found, addcmul(x, x, x, value=2)))
    assert all(map(ember.equal, lerp(x, x, ember.tensor(2.0)), lerp(x, x, 2)))


def test_a_sum_of_bools_with_alpha_stays_bool():
    x = ember.tensor([True, False])
    assert ember.add(x, x, alpha=2).tolist() == [True, False]
    assert ember._foreach_add([x], [x], alpha=2)[0].dtype == ember.bool


def test_groups():
    a, b, c = ember.ones(1), ember.ones(1).double(), ember.ones(2)
    groups = _group_tensors_by_device_and_dtype([[a, b, c], [c, None, a], []], True)
    (lists, indices), (doubles, at) = groups.values()
    assert lists == [[a, c], [c, a], []]
    assert indices == [0, 2]
    assert doubles == [[b], [None], []]
    assert at == [1]
    assert _group_tensors_by_device_and_dtype([[]]) == {}
    with pytest.raises(RuntimeError, match="2"):
        _group_tensors_by_device_and_dtype([[a, b], [a]])
