"""x[...] and x[...] = v: NumPy is the reference, for values and for gradients."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ember

SHAPE = (2, 3, 4)
MASK = np.array([[True, False, True], [False, True, False]])


def fresh(dtype=np.float64) -> np.ndarray:
    return np.arange(24, dtype=dtype).reshape(SHAPE)


def to_ember(key):
    """The same index with tensors in place of arrays."""
    if isinstance(key, np.ndarray):
        return ember.from_numpy(key.copy())
    if isinstance(key, tuple):
        return tuple(map(to_ember, key))
    return key


# NumPy counts an int beside arrays as one of them, so the result's dimensions move.
INT_BESIDE = (0, slice(None), np.array([0, 1]))
VIEWS = [
    0,
    -1,
    (0, 1),
    (0, 1, 2),
    slice(None),
    slice(1, None),
    slice(None, None, 2),
    (slice(None), slice(-2, None)),
    (slice(None), slice(1, 100)),
    (slice(None), slice(5, None)),
    Ellipsis,
    None,
    (Ellipsis, 0),
    (0, Ellipsis),
    (Ellipsis, None),
    (None, Ellipsis, None, 1),
    (slice(None), None, 1),
    (),
]
COPIES = [
    np.array([0, 1, 1]),
    np.array([-1, 0]),
    np.array([[0, 1], [1, 0]]),
    np.array([], dtype=np.int64),
    (np.array([0, 1]), np.array([1, 2])),
    (slice(None), np.array([0, 2])),
    (slice(None), np.array([0, 2]), np.array([1, 3])),
    (np.array([0, 1]), slice(None), np.array([1, 2])),
    INT_BESIDE,
    (slice(None), None, np.array([0, 1])),
    (np.array([0, 1]), None),
    (Ellipsis, np.array([0, 1])),
    (np.array([[0], [1]]), np.array([0, 2])),
    np.array([True, False]),
    MASK,
    (MASK, 0),
    (MASK, slice(1, 3)),
    (MASK, None),
    (slice(None), MASK[0]),
    (slice(None), MASK[0], slice(1, 3)),
    (0, MASK[0]),
    fresh() > 11,
    np.zeros(SHAPE, dtype=bool),
    True,
    False,
    (0, True),
    (slice(None), True),
    [0, 1],
    [True, False],
    ([0, 1], [1, 2]),
    (slice(None), [0, 2]),
]


def where(a: np.ndarray, key) -> tuple:
    """An array and an index of it: NumPy's for `key`, but ints make views first."""
    return (a[0], key[1:]) if key is INT_BESIDE else (a, key)


def expected(a: np.ndarray, key) -> np.ndarray:
    view, rest = where(a, key)
    return view[rest]


@pytest.mark.parametrize("key", VIEWS, ids=repr)
def test_get_view(key):
    a = fresh()
    x = ember.from_numpy(a)
    got = x[to_ember(key)]
    np.testing.assert_array_equal(got.numpy(), a[key])
    assert got._base is x
    if got.numel():
        a += 1  # shares memory
        np.testing.assert_array_equal(got.numpy(), a[key])


@pytest.mark.parametrize("key", COPIES, ids=repr)
def test_get_copy(key):
    a = fresh()
    got = ember.from_numpy(a)[to_ember(key)]
    want = expected(a, key)
    assert tuple(got.shape) == want.shape
    np.testing.assert_array_equal(got.numpy(), want)
    assert got._base is None


@pytest.mark.parametrize("key", VIEWS + COPIES, ids=repr)
def test_set_number(key):
    a = fresh()
    x = ember.tensor(a)
    x[to_ember(key)] = 7
    view, rest = where(a, key)
    view[rest] = 7
    np.testing.assert_array_equal(x.numpy(), a)


@pytest.mark.parametrize("key", VIEWS + COPIES, ids=repr)
def test_set_tensor(key):
    a = fresh()
    values = np.arange(expected(a, key).size, dtype=float).reshape(
        expected(a, key).shape
    )
    values += 100
    x = ember.tensor(a)
    x[to_ember(key)] = ember.tensor(values)
    view, rest = where(a, key)
    view[rest] = values
    np.testing.assert_array_equal(x.numpy(), a)


@pytest.mark.parametrize("key", VIEWS + COPIES, ids=repr)
def test_gradient_of_get(key):
    x = ember.tensor(fresh(), requires_grad=True)
    got = x[to_ember(key)]
    weight = ember.arange(got.numel(), dtype=ember.float64).reshape(got.shape) + 1
    (got * weight).sum().backward()
    want = np.zeros(SHAPE)
    np.add.at(*where(want, key), weight.numpy())
    np.testing.assert_array_equal(x.grad.numpy(), want)


@pytest.mark.parametrize("key", VIEWS + COPIES, ids=repr)
def test_gradient_of_set(key):
    x = ember.tensor(fresh(), requires_grad=True)
    y = x * 1
    part = y[to_ember(key)]
    v = ember.ones(part.shape, dtype=ember.float64, requires_grad=True)
    y[to_ember(key)] = v * 2
    weight = ember.tensor(fresh()) + 1
    (y * weight).sum().backward()
    taken = np.zeros(SHAPE)
    view, rest = where(taken, key)
    view[rest] = 1
    np.testing.assert_array_equal(x.grad.numpy(), (1 - taken) * weight.numpy())
    repeats = isinstance(key, np.ndarray) and key.dtype != bool and key.size > 2
    if not repeats:  # otherwise the last assignment wins
        want = 2 * weight[to_ember(key)].numpy()
        np.testing.assert_array_equal(v.grad.numpy(), want)


def test_double_backward_of_index():
    x = ember.tensor(fresh(), requires_grad=True)
    index = ember.tensor([0, 1, 1])
    (first,) = ember.autograd.grad((x[index] ** 3).sum(), x, create_graph=True)
    (second,) = ember.autograd.grad(first.sum(), x)
    counts = np.array([1.0, 2.0])[:, None, None]
    np.testing.assert_allclose(second.numpy(), 6 * fresh() * counts)


def test_set_in_view_reaches_base():
    x = ember.zeros(3, 4, requires_grad=True)
    y = x * 1
    row = y[1]
    row[ember.tensor([0, 2])] = ember.tensor([5.0, 6.0])
    assert y.tolist()[1] == [5, 0, 6, 0]
    y.sum().backward()
    assert x.grad.tolist() == [[1, 1, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1]]


def test_augmented_assignment():
    x = ember.zeros(4)
    x[ember.tensor([1, 1, 2])] += 1
    assert x.tolist() == [0, 1, 1, 0]
    x[x > 0] *= 3
    assert x.tolist() == [0, 3, 3, 0]
    x[1:3] -= 1
    assert x.tolist() == [0, 2, 2, 0]


def test_value_is_cast_and_broadcast():
    x = ember.zeros(2, 3, dtype=ember.int64)
    x[0] = 1.7
    x[1] = ember.tensor([1.5, 2.5, 3.5])
    assert x.tolist() == [[1, 1, 1], [1, 2, 3]]
    y = ember.zeros(2, 3)
    y[ember.tensor([0, 1])] = ember.tensor([1.0, 2.0, 3.0])
    assert y.tolist() == [[1, 2, 3], [1, 2, 3]]
    y[0] = ember.ones(1, 1, 3)  # leading ones are dropped
    assert y.tolist() == [[1, 1, 1], [1, 2, 3]]
    y[y > 2] = ember.tensor(9)
    assert y.tolist() == [[1, 1, 1], [1, 2, 9]]


def test_assignment_from_overlapping_memory():
    x = ember.arange(5)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3]


def test_integer_tensors_select_views():
    x = ember.tensor([[0, 1, 2], [3, 4, 5]])
    assert x[ember.tensor(1)]._base is x
    assert x[ember.tensor(1, dtype=ember.int8), 2].item() == 5
    assert x[: ember.tensor(1)].tolist() == [[0, 1, 2]]
    assert x[np.int64(1)].tolist() == [3, 4, 5]
    assert x[np.array(1)].tolist() == [3, 4, 5]


def test_other_kinds_of_sequence():
    x = ember.arange(12).reshape(3, 4)
    assert x[range(2)].tolist() == x[:2].tolist()
    assert x[np.array([2, 0])].tolist() == [[8, 9, 10, 11], [0, 1, 2, 3]]
    assert x[[[0, 1], [1, 2]]].tolist() == [1, 6]  # a list of lists stands for a tuple
    assert x[[0, slice(1, 3)]].tolist() == [1, 2]
    assert x[(0, 1),].tolist() == x[:2].tolist()


def test_uint8_mask_warns():
    x = ember.arange(3)
    with pytest.warns(UserWarning, match="torch.uint8 is now deprecated"):
        got = x[ember.tensor([1, 0, 1], dtype=ember.uint8)]
    assert got.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        (-3, IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
        ((0, 3), IndexError, "index 3 is out of bounds for dimension 1 with size 3"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        (np.array([2]), IndexError, "index 2 is out of bounds for dimension 0"),
        (np.array([0.5]), IndexError, "must be long, int, byte or bool"),
        (np.array([True, False, True]), IndexError, r"mask \[3\] at index 0"),
        ((np.array([0, 1, 0]), np.array([0, 1])), IndexError, "could not be broadcast"),
        (0.5, IndexError, "only integers"),
        ("a", TypeError, "invalid data type 'str'"),
        ({}, IndexError, "only integers"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (slice(None, None, 0), ValueError, "step cannot be zero"),
        (slice(1.0, None), TypeError, "slice indices must be integers"),
        (10**30, ValueError, "Overflow"),
    ],
    ids=repr,
)
def test_errors(key, error, text):
    x = ember.zeros(SHAPE)
    with pytest.raises(error, match=text):
        x[to_ember(key)]
    with pytest.raises(error, match=text):
        x[to_ember(key)] = 1


def test_errors_of_a_0d_tensor():
    x = ember.tensor(5.0)
    with pytest.raises(IndexError, match="0-dim tensor"):
        x[0]
    with pytest.raises(IndexError, match="0-dim tensor"):
        x[:]
    assert x[None].tolist() == [5]
    assert x[...].item() == 5
    assert x[True].tolist() == [5]
    assert x[False].tolist() == []
    x[()] = 3
    assert x.item() == 3


def test_errors_of_assignment():
    x = ember.zeros(SHAPE)
    with pytest.raises(RuntimeError, match=r"expanded size|must match"):
        x[0] = ember.ones(3)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        x[ember.tensor([0])] = ember.ones(3)
    with pytest.raises(RuntimeError, match="dtypes match"):
        x[ember.tensor([0])] = ember.ones(3, 4, dtype=ember.int64)
    with pytest.raises(TypeError, match="can't assign a list"):
        x[0] = [1, 2]
    with pytest.raises(RuntimeError, match="without overflow"):
        x[0] = 1j
    with pytest.raises(RuntimeError, match="without overflow"):
        ember.zeros(2, dtype=ember.uint8)[0] = 300
    with pytest.raises(TypeError, match="deleting"):
        del x[0]
    leaf = ember.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        leaf[0] = 1
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        leaf[leaf > -1] = 1


def test_meta():
    x = ember.empty(SHAPE, device="meta")
    assert x[0].shape == (3, 4)
    assert x[:, [0, 2]].shape == (2, 2, 4)
    x[0] = 1
    x[ember.tensor([0, 1])] = 1


# --- any index at all -----------------------------------------------------------------


def one_index(size: int):
    bound = st.none() | st.integers(-size - 2, size + 2)
    return st.one_of(
        st.integers(-size, size - 1),
        st.builds(slice, bound, bound, st.none() | st.integers(1, 3)),
    )


@st.composite
def basic_index(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=0, max_size=4))
    used = draw(st.integers(0, len(shape)))
    front = draw(st.integers(0, used))
    back = used - front
    key = [draw(one_index(n)) for n in shape[:front]] + [Ellipsis]
    key += [draw(one_index(n)) for n in shape[len(shape) - back :]]
    for _ in range(draw(st.integers(0, 2))):
        key.insert(draw(st.integers(0, len(key))), None)
    return tuple(shape), tuple(key)


@settings(max_examples=150, deadline=None)
@given(basic_index(), st.booleans())
def test_any_view(case, requires_grad):
    shape, key = case
    a = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    x = ember.tensor(a, requires_grad=requires_grad)
    got = x[key]
    np.testing.assert_array_equal(got.detach().numpy(), a[key])
    if requires_grad:
        got.sum().backward()
        want = np.zeros(shape, dtype=np.float32)
        want[key] = 1
        np.testing.assert_array_equal(x.grad.numpy(), want)
    y = ember.tensor(a)
    y[key] = -1
    a[key] = -1
    np.testing.assert_array_equal(y.numpy(), a)


@pytest.mark.parametrize(
    "key",
    [
        np.s_[0, 1:3, None],
        np.s_[..., ::2, -1],
        np.s_[None, :, 2],
        np.s_[1:, [0, 2, 2]],
        np.s_[None, [1, 0], ..., 1],
    ],
    ids=str,
)
def test_an_index_is_one_node(key):
    """One for all that makes the view, with gradients of gradients."""
    x = ember.arange(60.0, dtype=ember.float64).reshape(3, 4, 5).requires_grad_()
    y = x[key]
    made = [node for node, _ in y.grad_fn.next_functions if node]
    if "index" in y.grad_fn.name().lower():  # positions in the view
        made = [n for node in made for n, _ in node.next_functions if n] or made
    assert [type(node).__name__ for node in made] == ["AccumulateGrad"]
    counts = np.zeros((3, 4, 5))
    np.add.at(counts, key, 1)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.tolist(), counts)
    assert ember.autograd.gradgradcheck(lambda t: t[key] ** 3, (x,))


@pytest.mark.parametrize(
    "key",
    [*VIEWS, (0, 0, 0), (..., 0), (slice(None), 1), (0, [1, 2]), ([0, 1], 2), MASK],
    ids=str,
)
def test_gradients_of_every_order(key):
    """Of t**2 * (a * t * x)[key], three times: by t, by t, by a."""
    x = ember.from_numpy(fresh())
    t = ember.tensor(0.5, dtype=ember.float64, requires_grad=True)
    a = ember.tensor(0.7, dtype=ember.float64, requires_grad=True)
    y = (t**2 * (a * t * x)[to_ember(key)]).sum()
    (first,) = ember.autograd.grad(y, t, create_graph=True)
    (second,) = ember.autograd.grad(first, t, create_graph=True)
    (third,) = ember.autograd.grad(second, a, create_graph=True)
    (fourth,) = ember.autograd.grad(third, t)
    total = x[to_ember(key)].sum()
    assert ember.allclose(third, 6 * t * total)
    assert ember.allclose(fourth, 6 * total)
