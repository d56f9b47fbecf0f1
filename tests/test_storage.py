"""Storages: bytes and elements, conversions, buffers, files."""

import copy
import gc
import sys
import weakref

import pytest

import ember


@pytest.fixture
def three():
    return ember.UntypedStorage([1, 2, 255])


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("byte", ember.uint8),
        ("char", ember.int8),
        ("short", ember.int16),
        ("int", ember.int32),
        ("long", ember.int64),
        ("half", ember.float16),
        ("bfloat16", ember.bfloat16),
        ("float", ember.float32),
        ("double", ember.float64),
        ("complex_float", ember.complex64),
        ("complex_double", ember.complex128),
        ("bool", ember.bool),
    ],
)
def test_conversions(three, name, dtype):
    made = getattr(three, name)()
    assert made.dtype == dtype
    expected = ember.tensor([1, 2, 255], dtype=ember.uint8).to(dtype)
    assert made.tolist() == expected.tolist()
    typed = getattr(ember.tensor([1.5, 0.0]).storage(), name)()
    assert typed.tolist() == ember.tensor([1.5, 0.0]).to(dtype).tolist()


def test_a_conversion_is_a_copy(three):
    made = three.byte()
    made[0] = 9
    assert three.tolist() == [1, 2, 255]


def test_types(three):
    assert three.type() == "torch.storage.UntypedStorage"
    assert three.type(ember.UntypedStorage) is three
    assert three.type("torch.ByteStorage").tolist() == [1, 2, 255]
    typed = ember.ones(2).storage()
    assert typed.type() == "torch.FloatStorage"
    assert typed.type(ember.DoubleStorage).dtype == ember.float64
    assert typed.pickle_storage_type() == "FloatStorage"
    with pytest.raises(RuntimeError, match="no type of storages"):
        typed.type("float")


def test_is_storage(three):
    assert ember.is_storage(three) and ember.is_storage(ember.ones(2).storage())
    assert not ember.is_storage(ember.ones(2)) and not ember.is_storage([1])


def test_devices(three):
    assert three.to(device="cpu") is three
    assert three.to(device="meta").device.type == "meta"
    assert three.get_device() is None and not three.is_pinned()
    assert three.new().nbytes() == 0
    with pytest.raises(TypeError):
        three.to("cpu")
    with pytest.raises(AssertionError, match="CUDA"):
        three.cuda()


@pytest.mark.parametrize(
    "dtype, swapped",
    [
        (ember.int8, [1, 2, 3, 4, 5, 6, 7, 8]),
        (ember.int16, [2, 1, 4, 3, 6, 5, 8, 7]),
        (ember.float32, [4, 3, 2, 1, 8, 7, 6, 5]),
        (ember.complex64, [4, 3, 2, 1, 8, 7, 6, 5]),
        (ember.int64, [8, 7, 6, 5, 4, 3, 2, 1]),
    ],
)
def test_byteswap(dtype, swapped):
    storage = ember.UntypedStorage([1, 2, 3, 4, 5, 6, 7, 8])
    storage.byteswap(dtype)
    assert storage.tolist() == swapped


def test_byteswap_wants_whole_elements(three):
    with pytest.raises(RuntimeError, match="multiple of 2"):
        three.byteswap(ember.int16)


def test_from_buffer():
    data = bytearray(b"abcdefgh")
    same = ember.UntypedStorage.from_buffer(data, sys.byteorder, dtype=ember.int16)
    data[0] = 0
    assert bytes(same.tolist()) == b"abcdefgh"
    other = {"little": "big", "big": "little"}[sys.byteorder]
    turned = ember.UntypedStorage.from_buffer(b"abcd", other, dtype=ember.int16)
    assert bytes(turned.tolist()) == b"badc"
    part = ember.UntypedStorage.from_buffer(
        b"abcdefgh", "native", count=1, offset=2, dtype=ember.int32
    )
    assert bytes(part.tolist()) == b"cdef"
    truth = ember.UntypedStorage.from_buffer(b"\0\5", "native", dtype=ember.bool)
    assert truth.tolist() == [0, 1]
    typed = ember.ShortStorage.from_buffer(bytes([0, 1]), "big")
    assert typed.tolist() == [1]


@pytest.mark.parametrize(
    "args, options, error",
    [
        (("native",), {}, RuntimeError),
        ((), {"dtype": ember.int32}, RuntimeError),
        (("up",), {"dtype": ember.int8}, ValueError),
        (("native",), {"dtype": ember.int32}, ValueError),
        (("native", 3), {"dtype": ember.int16}, ValueError),
        (("native", -1, 6), {"dtype": ember.int8}, ValueError),
    ],
)
def test_from_buffer_checks(args, options, error):
    with pytest.raises(error):
        ember.UntypedStorage.from_buffer(b"abcde", *args, **options)


def test_files(tmp_path):
    path = str(tmp_path / "bytes")
    mapped = ember.UntypedStorage.from_file(path, shared=True, nbytes=4)
    mapped.fill_(3)
    assert mapped.filename == path
    assert (tmp_path / "bytes").read_bytes() == b"\3\3\3\3"
    private = ember.UntypedStorage.from_file(path, nbytes=2)
    private.fill_(5)
    assert private.filename is None
    assert (tmp_path / "bytes").read_bytes() == b"\3\3\3\3"
    assert ember.UntypedStorage.from_file(path).nbytes() == 0
    assert ember.IntStorage.from_file(path, False, 1).tolist() == [0x03030303]
    with pytest.raises(RuntimeError, match="size <4> is smaller"):
        ember.UntypedStorage.from_file(path, False, 5)
    with pytest.raises(RuntimeError, match="unable to open"):
        ember.UntypedStorage.from_file(path + "s", False, 5)
    with pytest.raises(RuntimeError, match="derived"):
        ember.TypedStorage.from_file(path, True, 1)


def test_a_file_name_goes_with_its_memory(tmp_path):
    t = ember.from_file(tmp_path / "numbers", shared=True, size=2)
    assert t.untyped_storage().filename == str(tmp_path / "numbers")
    assert t[1:].untyped_storage().filename == str(tmp_path / "numbers")
    del t
    gc.collect()
    from ember import _storage_methods

    assert str(tmp_path / "numbers") not in [
        m.filename for m in _storage_methods._mappings.values()
    ]


def test_typed_storage():
    typed = ember.tensor([1.0, 2.0]).storage()
    assert typed[1] == 2.0 and typed.resizable() and typed.filename is None
    with pytest.raises(RuntimeError, match="slices"):
        typed[:1]
    assert typed.copy_(ember.tensor([3.0, 4.0]).storage()).tolist() == [3, 4]
    assert typed.to(device="cpu").untyped() is typed.untyped()
    assert typed.share_memory_().is_shared()
    assert ember.Storage(2).dtype == ember.get_default_dtype()
    assert ember.FloatStorage.dtype == ember.float32


def test_bytes_of_the_other_order_may_be_a_view():
    from ember.serialization._storage_io import in_native_order

    other = {"little": "big", "big": "little"}[sys.byteorder]
    assert in_native_order(memoryview(b"abcd"), other, ember.int16) == b"badc"


def test_a_storage_is_not_made_of_a_buffer_without_a_length():
    with pytest.raises(TypeError):
        ember._C._storage_from_buffer(ember.tensor(1.0))


# --- objects that carry state -------------------------------------------------------


class Marked(ember.UntypedStorage):
    """A storage of a subclass, which counts its ends."""

    ended = 0
    __slots__ = ("slot",)

    def __del__(self):
        Marked.ended += 1


def test_a_storage_keeps_its_attributes_while_a_tensor_has_the_memory():
    x = ember.ones(3)
    x.untyped_storage().note = "mine"
    gc.collect()
    assert x.untyped_storage().note == "mine"


def test_weak_references_to_a_storage_end_with_the_memory():
    x = ember.ones(3)
    ref = weakref.ref(x.untyped_storage())
    assert ref() is x.untyped_storage()
    del x
    assert ref() is None


def test_a_subclass_is_finalized_once_when_the_memory_goes():
    Marked.ended = 0
    storage = Marked(8)
    storage.slot = token = ember.ones(1)
    x = ember.empty(0, dtype=ember.uint8).set_(storage)
    del storage
    gc.collect()
    assert Marked.ended == 0
    kept = x.untyped_storage()
    assert type(kept) is Marked and kept.slot is token and kept.nbytes() == 8
    del x
    assert Marked.ended == 0
    seen = weakref.ref(kept)
    del kept
    assert Marked.ended == 1 and seen() is None


def test_cycles_of_storages_are_collected():
    a, b = ember.UntypedStorage(2), ember.UntypedStorage(2)
    a.other, b.other = b, a
    seen = weakref.ref(a)
    del a, b
    gc.collect()
    assert seen() is None


def test_storages_are_iterable_copyable_and_told_apart():
    s = ember.UntypedStorage([1, 2, 3])
    assert list(s) == [1, 2, 3] and copy.copy(s).tolist() == [1, 2, 3]
    assert copy.copy(s)._cdata != s._cdata
    assert ember.ones(2).storage()._cdata


def test_getsizeof_counts_the_memory():
    small, large = ember.zeros(1), ember.zeros(1001)
    for get in (ember.Tensor.untyped_storage, ember.Tensor.storage):
        assert sys.getsizeof(get(large)) - sys.getsizeof(get(small)) == 4000


@pytest.mark.parametrize("dtype", [ember.float32, ember.int64, ember.bool])
def test_a_storage_is_of_the_class_of_its_dtype(dtype):
    classes = {
        ember.float32: ember.FloatStorage,
        ember.int64: ember.LongStorage,
        ember.bool: ember.BoolStorage,
    }
    typed = ember.ones(2, dtype=dtype).storage()
    for own, kind in classes.items():
        assert isinstance(typed, kind) == (own is dtype)
        assert isinstance(kind.from_buffer(bytearray(8), "little"), kind)
    assert isinstance(typed, ember.TypedStorage)


def test_the_old_constructors_take_over_a_storage():
    x = ember.tensor([1.0, 2.0])
    for storage in (x.storage(), x.untyped_storage()):
        for made in (ember.FloatTensor(storage), x.new(storage)):
            assert made.data_ptr() == x.data_ptr() and made.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="Expected a Storage of type Float"):
        x.new(ember.tensor([1, 2]).storage())


@pytest.mark.parametrize("make", [ember.tensor, ember.as_tensor])
def test_elements_of_a_typed_storage_are_not_converted(make):
    typed = ember.tensor([1.0, 2.0]).storage()
    assert make(typed, dtype=ember.float32).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match=r"Storage of type Long or .* but got Float"):
        make(typed, dtype=ember.int64)
    bytes_of = typed.untyped()
    assert ember.tensor(bytes_of, dtype=ember.float32).tolist() == [1, 2]
