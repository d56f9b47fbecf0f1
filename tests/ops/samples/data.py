"""Tensors from data and storages: core/python. Most of it is tested in tests/test_numpy.py,
tests/test_creation.py and tests/test_tensor_object.py."""

# fmt: off
import numpy as np

import ember
from tests.ops.entry import S, T, op

LISTS = [S([1.5, 2.0]), S([[1, 2], [3, 4]]), S(3), S([True, False]), S([])]
op("tensor", *LISTS, ref=lambda data: np.asarray(data), errors=[
    (S([[1, 2], [3]]), ValueError, "expected sequence of length 2 at dim 1"),
    (S("ab"), TypeError, "invalid data type"), (S([None]), RuntimeError, "infer dtype")])
op("as_tensor", *LISTS, ref=lambda data: np.asarray(data))
op("asarray", *LISTS, ref=lambda data: np.asarray(data))
op("new_tensor", S(T(2), [1.0, 2.0]), ref=lambda x, data: np.asarray(data), grad=False)
op("frombuffer", S(bytearray(b"abcd"), dtype=ember.uint8),
   ref=lambda b, dtype: np.frombuffer(b, np.uint8),
   errors=[(S(bytearray(b"abc"), dtype=ember.int16), ValueError, "multiple")])
op("from_dlpack", T(2, 3), ref=np.copy, dtypes="bifhc", result="same", grad=False,
   skip="meta", errors=[(S(3), AttributeError, "__dlpack__")])
op("set_", S(T(2), T(3, 2)), ref=lambda x, y: y, grad=False, skip="noncontiguous leaks meta empty")
op("_tensor_from_storage", S(ember.arange(4).untyped_storage(), ember.int64, 1, (2,), (1,)),
   ref=lambda *args: np.array([1, 2]))
