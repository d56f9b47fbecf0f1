"""Arrays in and out: NumPy, buffers and DLPack."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import ember

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("name", DTYPES)
def test_round_trip_shares_memory(name):
    a = np.arange(6).reshape(2, 3).astype(name)
    t = ember.from_numpy(a)
    assert t.dtype == getattr(ember, name)
    back = t.numpy()
    assert back.dtype == a.dtype
    np.testing.assert_array_equal(back, a)
    a[0, 0] = 1
    assert back[0, 0] == 1 and t[0, 0].item() == 1
    assert np.shares_memory(a, back)


def test_strides_survive():
    a = np.arange(24).reshape(2, 3, 4)
    for view in (a.T, a[:, ::2], a[1], a[..., 1:3], a[:0], np.array(5)):
        t = ember.from_numpy(view)
        assert t.shape == view.shape
        np.testing.assert_array_equal(t.numpy(), view)
        np.testing.assert_array_equal(t.T.numpy(), view.T)


def test_from_numpy_refuses():
    with pytest.raises(TypeError, match=r"expected np\.ndarray"):
        ember.from_numpy([1])
    with pytest.raises(ValueError, match="negative"):
        ember.from_numpy(np.arange(3)[::-1])
    with pytest.raises(ValueError, match="byte order"):
        ember.from_numpy(np.arange(3, dtype=">i4"))
    with pytest.raises(TypeError, match=r"numpy\.object_"):
        ember.from_numpy(np.array([object()]))
    with pytest.raises(TypeError, match=r"numpy\.datetime64"):
        ember.from_numpy(np.array(["2020-01-01"], dtype="M8[D]"))
    record = np.zeros(3, dtype=[("a", "i1"), ("b", "f4")])["b"]
    with pytest.raises(ValueError, match="multiple of the element"):
        ember.from_numpy(record)


def test_numpy_refuses():
    x = ember.ones(2, requires_grad=True)
    for read in (x.numpy, lambda: np.asarray(x), lambda: memoryview(x)):
        with pytest.raises(RuntimeError, match="requires grad"):
            read()
    np.testing.assert_array_equal(x.numpy(force=True), np.ones(2))
    with pytest.raises(TypeError, match="BFloat16"):
        ember.ones(2, dtype=ember.bfloat16).numpy()
    with pytest.raises(TypeError, match="meta"):
        ember.ones(2, device="meta").numpy()


def test_array_protocols():
    t = ember.arange(6).reshape(2, 3)
    assert np.shares_memory(np.asarray(t), t.numpy())
    assert np.asarray(t, dtype=np.float32).dtype == np.float32
    assert not np.shares_memory(np.array(t, copy=True), t.numpy())
    assert memoryview(t).shape == (2, 3)
    assert bytes(memoryview(t.to(ember.uint8))) == bytes(range(6))
    column = memoryview(t[:, 1])
    assert column.strides == (24,) and column.tolist() == [1, 4]
    assert not hasattr(t, "__array_interface__")  # libraries probe it
    assert np.array([ember.tensor(1.0), ember.tensor(2.0)]).tolist() == [1, 2]


def test_operators_and_functions_of_numpy():
    t = ember.ones(3)
    for got in (t + np.ones(3), np.ones(3) + t):
        assert isinstance(got, ember.Tensor)
        assert got.dtype == ember.float64 and got.tolist() == [2, 2, 2]
    assert (t * np.float64(2)).dtype == ember.float32
    assert (np.float64(2) * t).dtype == ember.float32
    assert (t == np.ones(3)).tolist() == [True] * 3
    assert isinstance(np.sin(t), ember.Tensor)


def test_array_keeps_the_memory_alive():
    a = ember.ones(1000).numpy()
    gc.collect()
    assert a.sum() == 1000

    class Array(np.ndarray):
        pass

    source = np.ones(10).view(Array)
    alive = weakref.ref(source)
    t = ember.from_numpy(source)
    del source
    assert alive() is not None
    del t
    assert alive() is None


def test_as_tensor_shares():
    a = np.zeros(2)
    assert ember.as_tensor(a).numpy() is not a
    ember.as_tensor(a)[0] = 1
    assert a[0] == 1
    ember.asarray(a)[1] = 2
    assert a[1] == 2
    x = ember.ones(2)
    assert ember.as_tensor(x) is x
    assert ember.as_tensor(a, dtype=ember.float32).dtype == ember.float32
    copied = ember.asarray(a, copy=True)
    copied[0] = 9
    assert a[0] == 1
    with pytest.raises(ValueError, match="copy"):
        ember.asarray([1, 2], copy=False)


def test_frombuffer():
    data = bytearray(b"\x01\x00\x00\x00\x02\x00\x00\x00")
    t = ember.frombuffer(data, dtype=ember.int32)
    assert t.tolist() == [1, 2]
    data[0] = 7
    assert t[0].item() == 7
    assert ember.frombuffer(data, dtype=ember.int32, count=1, offset=4).tolist() == [2]
    with pytest.warns(UserWarning, match="not writable"):
        ember.frombuffer(b"abcd", dtype=ember.uint8)
    for options in ({"offset": 1}, {"count": 3}, {"offset": 8}, {"count": 0}):
        with pytest.raises(ValueError):
            ember.frombuffer(data, dtype=ember.int32, **options)
    with pytest.raises(ValueError, match="buffer protocol"):
        ember.frombuffer(3, dtype=ember.int32)


@pytest.mark.parametrize("name", DTYPES)
def test_dlpack_with_numpy(name):
    a = np.arange(6).reshape(2, 3).astype(name)[:, ::2]
    t = ember.from_dlpack(a)
    np.testing.assert_array_equal(t.numpy(), a)
    a[0, 0] = 1
    assert t[0, 0].item() == 1
    back = np.from_dlpack(t)
    assert np.shares_memory(back, a)


def test_dlpack_protocol():
    t = ember.arange(3)
    assert t.__dlpack_device__() == (1, 0)
    assert "dltensor_versioned" in repr(t.__dlpack__(max_version=(1, 0)))
    capsule = t.__dlpack__()
    assert "dltensor_versioned" not in repr(capsule)
    shared = ember.utils.dlpack.from_dlpack(capsule)
    assert shared.data_ptr() == t.data_ptr()
    with pytest.raises(RuntimeError, match="consumed only once"):
        ember.from_dlpack(capsule)
    assert ember.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    with pytest.raises(BufferError, match="require gradient"):
        ember.ones(2, requires_grad=True).__dlpack__()


def test_dlpack_frees_its_memory():
    before = ember.cpu.memory_allocated()
    t = ember.zeros(1_000_000)
    a = np.from_dlpack(t)
    b = ember.from_dlpack(a)
    del t, a
    assert ember.cpu.memory_allocated() - before >= 4_000_000
    del b
    assert ember.cpu.memory_allocated() - before < 1_000_000
    capsule = ember.zeros(1_000_000).__dlpack__()
    del capsule  # nobody took it
    assert ember.cpu.memory_allocated() - before < 1_000_000


def test_only_memory_that_is_shared_is_warned_of():
    """`tensor` copies, so a read-only array is as good as any."""
    code = """
import sys, warnings
import numpy as np
import ember
warnings.simplefilter("error")
array = np.arange(3.0)
array.flags.writeable = False
assert ember.tensor(array).tolist() == [0, 1, 2]
assert ember.tensor([array, array]).shape == (2, 3)
assert (ember.ones(3) + array).tolist() == [1, 2, 3]
index = np.array([0, 2])
index.flags.writeable = False
assert ember.ones(3)[index].shape == (2,)
for share in (ember.from_numpy, ember.as_tensor):
    warnings.simplefilter("always")
    ember.set_warn_always(True)
    with warnings.catch_warnings(record=True) as found:
        share(array)
    assert len(found) == 1 and "not writable" in str(found[0].message), share
    assert found[0].filename == "<string>", found[0].filename
"""
    subprocess.run([sys.executable, "-c", code], check=True)
