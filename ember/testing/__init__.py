"""Helpers for tests: comparison with tolerances, and tensors to test with.

>>> import ember
>>> ember.testing.assert_close(ember.tensor([1.0]), ember.tensor([1.0 + 1e-7]))
"""

from ember import _lazy
from ember.testing._comparison import (
    assert_allclose as assert_allclose,
    assert_close as assert_close,
)
from ember.testing._make_tensor import make_tensor as make_tensor

__getattr__ = _lazy.missing(__name__)
