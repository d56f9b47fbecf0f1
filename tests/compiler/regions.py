"""What the tests of regions share: programs run as they are and in regions, and values
to compare.
"""

import numpy as np
import pytest

import ember
from ember import _C
from ember.compiler import _queue
from ember.compiler._regions import region

needs_compiler = pytest.mark.skipif(
    not _queue.is_available(), reason="there is no compiler here"
)
SIZE = 5000  # enough to be put off


def stats(key):
    return _C._lazy_stats(key)


def bits(value):
    """A value as something to compare: tensors by their bytes."""
    if isinstance(value, ember.Tensor):
        whole = value.detach().clone(memory_format=ember.contiguous_format)
        return value.shape, value.dtype, bytes(whole.untyped_storage())
    if isinstance(value, (tuple, list)):
        return [bits(v) for v in value]
    return value


def check(f, *given):
    def fresh():
        ember.manual_seed(5)
        return [g() for g in given]

    wanted = bits(f(*fresh()))
    for _ in range(3):  # op by op, in groups, and by machine code if there is some
        given_now = fresh()
        with region(wait=True):
            found = f(*given_now)
        assert bits(found) == wanted


def vector(seed=0, n=SIZE):
    numbers = np.random.default_rng(seed).standard_normal(n).astype("f")
    return lambda: ember.tensor(numbers)


def close(f, *given):
    """As check(), but that sums of generated code agree to rounding only."""

    def flat(values):
        if isinstance(values, ember.Tensor):
            return [values]
        return [t for v in values for t in flat(v)]

    wanted = flat(f(*(g() for g in given)))
    for _ in range(3):
        fresh = [g() for g in given]
        with region(key=6, wait=True):
            found = flat(f(*fresh))
        for a, b in zip(found, wanted, strict=True):
            ember.testing.assert_close(a, b, rtol=2e-5, atol=1e-6)
    return stats(6)["groups"]


def matrix(seed=0, rows=60, columns=100):
    flat = vector(seed, rows * columns)  # eighths, of which sums are exact
    return lambda: ((flat() * 8).round() / 8).view(rows, columns)
