"""Memory that nobody wrote to, which deterministic mode fills."""

import pytest

import ember
from ember.utils import deterministic

DTYPES = [
    ember.float32,
    ember.bfloat16,
    ember.complex64,
    ember.float8_e5m2,
    ember.int16,
    ember.uint64,
    ember.bool,
]
MAKERS = {
    "empty": lambda d: ember.empty(3, 2, dtype=d),
    "empty out": lambda d: ember.empty(3, 2, out=ember.zeros(3, 2, dtype=d)),
    "channels last": lambda d: ember.empty(
        1, 2, 3, 2, dtype=d, memory_format=ember.channels_last
    ),
    "empty_like": lambda d: ember.empty_like(ember.zeros(3, 2, dtype=d).t()),
    "empty_strided": lambda d: ember.empty_strided((3, 2), (1, 5), dtype=d),
    "empty_permuted": lambda d: ember.empty_permuted((3, 2), (1, 0), dtype=d),
    "new_empty": lambda d: ember.zeros(1, dtype=d).new_empty(3, 2),
    "new_empty_strided": lambda d: ember.zeros(1, dtype=d).new_empty_strided(
        (3, 2), (1, 5)
    ),
    "resize_": lambda d: ember.zeros(2, dtype=d).resize_(5)[2:],
}


@pytest.fixture(autouse=True)
def restored():
    yield
    ember.use_deterministic_algorithms(False)
    deterministic.fill_uninitialized_memory = True


def is_filled(t) -> bool:
    if t.dtype.is_floating_point or t.dtype.is_complex:
        return bool(t.to(ember.complex64).isnan().all())
    most = True if t.dtype is ember.bool else ember.iinfo(t.dtype).max
    return all(v == most for v in t.flatten().tolist())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_filled_in_deterministic_mode(make, dtype):
    ember.use_deterministic_algorithms(True)
    assert is_filled(make(dtype))


def test_what_was_there_stays():
    ember.use_deterministic_algorithms(True)
    x = ember.tensor([1.0, 2.0, 3.0])
    x.resize_(2)
    x.resize_(3)
    assert x.tolist() == [1, 2, 3]
    assert ember.zeros(2).tolist() == [0, 0] and ember.full((1,), 7).tolist() == [7]


def test_only_in_deterministic_mode_and_if_it_is_wanted():
    assert not is_filled(ember.empty(2, out=ember.zeros(2)))
    deterministic.fill_uninitialized_memory = False
    ember.use_deterministic_algorithms(True)
    assert not deterministic.fill_uninitialized_memory
    assert not is_filled(ember.empty(2, out=ember.zeros(2)))
    deterministic.fill_uninitialized_memory = True
    assert is_filled(ember.empty(2))
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        deterministic.fill_uninitialized_memory = 1
