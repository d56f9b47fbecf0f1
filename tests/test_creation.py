"""Tensors from data and from nothing; the checks common to all ops are in tests/ops."""

import numpy as np
import pytest

import ember

# --- tensor() -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, ember.int64, ()),
        (1.5, ember.float32, ()),
        (True, ember.bool, ()),
        (1j, ember.complex64, ()),
        ([], ember.float32, (0,)),
        ([[], []], ember.float32, (2, 0)),
        ([1, 2], ember.int64, (2,)),
        ([1, 2.5], ember.float32, (2,)),
        ([True, 2], ember.int64, (2,)),
        ([1, 2j], ember.complex64, (2,)),
        (((1, 2), (3, 4)), ember.int64, (2, 2)),
        (range(3), ember.int64, (3,)),
        (np.float64(1), ember.float64, ()),
        ([np.float64(1), 2], ember.float64, (2,)),
        ([np.int32(1)], ember.int32, (1,)),
        (np.arange(3, dtype=np.uint16), ember.uint16, (3,)),
        ([np.ones(2), np.zeros(2)], ember.float64, (2, 2)),
        (bytearray(b"ab"), ember.int64, (2,)),
    ],
    ids=repr,
)
def test_tensor_infers(data, dtype, shape):
    t = ember.tensor(data)
    assert t.dtype == dtype
    assert tuple(t.shape) == shape
    assert t.tolist() == np.asarray(data).tolist() or isinstance(data, bytearray)


def test_tensor_follows_the_default_dtype():
    ember.set_default_dtype(ember.float64)
    try:
        assert ember.tensor(1.5).dtype == ember.float64
        assert ember.tensor([1j]).dtype == ember.complex128
        assert ember.zeros(1).dtype == ember.float64
        assert ember.arange(1.5).dtype == ember.float64
        assert ember.tensor([1]).dtype == ember.int64
    finally:
        ember.set_default_dtype(ember.float32)
    with pytest.raises(TypeError, match="floating-point"):
        ember.set_default_dtype(ember.int64)


def test_tensor_copies():
    a = np.ones(3)
    t = ember.tensor(a)
    a[0] = 5
    assert t.tolist() == [1, 1, 1]
    x = ember.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="copy construct"):
        y = ember.tensor(x)
    assert y.is_leaf and not y.requires_grad
    assert y.data_ptr() != x.data_ptr()


def test_tensor_of_elements_that_are_tensors():
    assert ember.tensor([ember.tensor(1.0), ember.tensor(2)]).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="only one element tensors"):
        ember.tensor([ember.ones(2), ember.ones(2)])


def test_tensor_options():
    t = ember.tensor([1, 2], dtype=ember.float64, requires_grad=True)
    assert t.dtype == ember.float64 and t.requires_grad and t.is_leaf
    assert ember.tensor([1, 2], device="meta").is_meta
    assert ember.tensor([1.9, -1.9], dtype=ember.int32).tolist() == [1, -1]
    assert ember.tensor([0, 3], dtype=bool).tolist() == [False, True]
    assert ember.tensor(2**63, dtype=ember.uint64).item() == 2**63
    assert ember.tensor(-1, dtype=ember.uint8).item() == 255


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (
            [[1, 2], [3]],
            ValueError,
            r"expected sequence of length 2 at dim 1 \(got 1\)",
        ),
        ([[1, 2], 3], TypeError, "not a sequence"),
        ([3, [1, 2]], TypeError, "cannot be interpreted as an integer"),
        (
            [np.ones(2), np.ones(3)],
            ValueError,
            "expected sequence of length 2 at dim 1",
        ),
        ("abc", TypeError, "invalid data type 'str'"),
        (["abc"], ValueError, "too many dimensions 'str'"),
        (None, RuntimeError, "Could not infer dtype of NoneType"),
        ([1, None], RuntimeError, "Could not infer dtype of NoneType"),
        ({1: 2}, RuntimeError, "Could not infer dtype of dict"),
        (2**63, ValueError, "Overflow"),
        (np.array(["a"]), TypeError, "can't convert np.ndarray of type numpy.str_"),
    ],
    ids=repr,
)
def test_tensor_refuses(data, error, text):
    with pytest.raises(error, match=text):
        ember.tensor(data)


def test_tensor_refuses_values_that_do_not_fit():
    for value, dtype in [(300, ember.uint8), (70000, ember.int16), (1e30, ember.int64)]:
        with pytest.raises(RuntimeError, match="without overflow"):
            ember.tensor([value], dtype=dtype)
    with pytest.raises(TypeError, match="must be real number"):
        ember.tensor(1j, dtype=ember.float32)
    with pytest.raises(RuntimeError, match="can require gradients"):
        ember.tensor([1], requires_grad=True)


def test_self_containing_list_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="too many dimensions 'list'"):
        ember.tensor(endless)


def test_a_list_that_changes_while_it_is_read():
    data = [1.0, 2.0, 3.0, 4.0]

    class Cutter:
        def __float__(self):
            data.clear()
            return 1.0

    data[1] = Cutter()
    with pytest.raises((RuntimeError, TypeError)):
        ember.tensor(data, dtype=ember.float32)


# --- legacy constructors --------------------------------------------------------------


def test_legacy_constructors():
    assert ember.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert ember.Tensor(2, 3).shape == (2, 3)
    assert ember.Tensor(ember.Size([2])).shape == (2,)
    assert ember.Tensor().shape == (0,)
    assert ember.Tensor((2, 3)).tolist() == [2.0, 3.0]
    assert ember.LongTensor([1, 2]).dtype == ember.int64
    assert isinstance(ember.ones(2), ember.FloatTensor)
    assert not isinstance(ember.ones(2), ember.DoubleTensor)
    x = ember.ones(2)
    assert ember.Tensor(x).data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="must be a sequence"):
        ember.Tensor(3.5)
    with pytest.raises(RuntimeError, match="legacy constructor expects device type"):
        ember.Tensor(2, device="meta")


# --- from nothing ---------------------------------------------------------------------


def test_like_keeps_the_memory_order():
    x = ember.ones(2, 3).transpose(0, 1)
    assert ember.zeros_like(x).stride() == (1, 3)
    contiguous = ember.contiguous_format
    assert ember.zeros_like(x, memory_format=contiguous).stride() == (2, 1)
    image = ember.ones(2, 3, 4, 5).contiguous(memory_format=ember.channels_last)
    assert ember.empty_like(image).stride() == image.stride()
    assert ember.zeros_like(ember.ones(2, 1, 3).expand(2, 4, 3)).is_contiguous()
    assert ember.ones_like(x, dtype=ember.int64).dtype == ember.int64


def test_out():
    out = ember.ones(2, dtype=ember.float64)
    got = ember.zeros(2, out=out)
    assert got is out and out.dtype == ember.float64 and out.tolist() == [0, 0]
    whole = ember.empty(0, dtype=ember.int32)
    assert ember.arange(3, out=whole).tolist() == [0, 1, 2]
    assert ember.linspace(0, 1, 3, out=ember.empty(0)).tolist() == [0, 0.5, 1]
    with pytest.raises(RuntimeError, match="does not match dtype of out"):
        ember.zeros(2, dtype=ember.int64, out=out)


def test_sizes():
    assert ember.zeros(()).shape == ()
    assert ember.zeros([2, 3]).shape == (2, 3)
    assert ember.zeros(np.int64(2), 3).shape == (2, 3)
    assert ember.zeros(ember.tensor(2)).shape == (2,)
    with pytest.raises(RuntimeError, match="overflow"):
        ember.zeros(2**62, 2**62)
    with pytest.raises(RuntimeError, match="negative"):
        ember.zeros(-1)
    with pytest.raises(TypeError):
        ember.zeros(2.5)


def test_arange_dtypes():
    assert ember.arange(3).dtype == ember.int64
    assert ember.arange(3.0).dtype == ember.float32
    assert ember.arange(0, 2, 0.5).tolist() == [0, 0.5, 1, 1.5]
    assert ember.arange(0.5, 3.7, dtype=ember.int64).tolist() == [0, 1, 2]
    assert ember.arange(2**62, 2**62 + 2).tolist() == [2**62, 2**62 + 1]
    with pytest.raises(ValueError, match="nonzero"):
        ember.arange(0, 3, 0.5, dtype=ember.int64)
    # Integers of fewer bits are counted before the bounds are cut off.
    assert ember.arange(0.5, 4.6, dtype=ember.int32).tolist() == [0, 1, 2, 3, 4]
    assert ember.arange(0.5, 4.6, dtype=ember.int64).tolist() == [0, 1, 2, 3]
    assert ember.arange(-2.5, 3, dtype=ember.uint8).tolist() == [254, 255, 0, 1, 2, 3]
    assert ember.arange(10, 0, -2.5, dtype=ember.int16).tolist() == [10, 8, 6, 4]
    assert ember.arange(0, 2, 0.5, dtype=ember.int8).tolist() == [0, 0, 0, 0]
    out = ember.zeros(5, dtype=ember.int32)
    assert ember.arange(0.5, 4.6, out=out) is out and out.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("make", [ember.arange, ember.linspace, ember.logspace])
def test_lines_are_not_of_bools(make):
    for options in ({"dtype": ember.bool}, {"out": ember.zeros(2, dtype=ember.bool)}):
        with pytest.raises(NotImplementedError, match="bool"):
            make(0, 2, 2, **options)


def test_linspace_ends_are_exact():
    for n in (2, 7, 1000):
        t = ember.linspace(0.1, 0.7, n, dtype=ember.float64)
        assert t[0].item() == 0.1 and t[-1].item() == 0.7
        np.testing.assert_allclose(t.numpy(), np.linspace(0.1, 0.7, n), rtol=1e-15)


def test_meshgrid():
    a, b = ember.arange(2), ember.arange(3)
    for indexing in ("ij", "xy"):
        want = np.meshgrid(a.numpy(), b.numpy(), indexing=indexing)
        for got, grid in zip(
            ember.meshgrid(a, b, indexing=indexing), want, strict=True
        ):
            np.testing.assert_array_equal(got.numpy(), grid)
    assert ember.meshgrid([a, ember.tensor(5)], indexing="xy")[0].shape == (1, 2)
    with pytest.raises(RuntimeError, match="same dtype"):
        ember.meshgrid(a, ember.ones(2), indexing="ij")


def test_combinations():
    t = ember.tensor([1, 2, 3])
    assert ember.combinations(t).tolist() == [[1, 2], [1, 3], [2, 3]]
    both = ember.combinations(t[:2], with_replacement=True)
    assert both.tolist() == [[1, 1], [1, 2], [2, 2]]
    assert ember.combinations(t, r=0).shape == (0,)


def test_resize():
    x = ember.arange(6)
    y = x[:2]
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.resize_(8).shape == (8,)
    assert x[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert y.tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="require grad"):
        ember.ones(2, requires_grad=True).resize_(3)
    with ember.no_grad(), pytest.raises(RuntimeError, match="require grad"):
        ember.ones(2, requires_grad=True).resize_(3)
    kept = ember.ones(2)
    shared = kept.data
    kept.resize_(1000)
    assert shared.tolist() == [1, 1]


def test_default_device():
    with ember.device("meta"):
        assert ember.ones(2).is_meta
        assert ember.tensor([1]).is_meta
        assert ember.ones(2, device="cpu").is_cpu
        with ember.device("cpu"):
            assert ember.arange(2).is_cpu
        assert ember.arange(2).is_meta
    assert ember.ones(2).is_cpu
    ember.set_default_device("meta")
    try:
        assert ember.get_default_device() == ember.device("meta")
        assert ember.zeros(1).is_meta
    finally:
        ember.set_default_device(None)


def test_type_info():
    for name in ("float16", "float32", "float64"):
        got, want = ember.finfo(getattr(ember, name)), np.finfo(name)
        for field in ("eps", "max", "min", "tiny", "bits", "smallest_normal"):
            assert getattr(got, field) == float(getattr(want, field))
        assert got.dtype == name
    assert ember.finfo(ember.bfloat16).eps == 2**-7
    assert ember.finfo().dtype == "float32"
    for name in ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint64"):
        got, want = ember.iinfo(getattr(ember, name)), np.iinfo(name)
        assert (got.min, got.max, got.bits) == (want.min, want.max, want.bits)
    with pytest.raises(TypeError):
        ember.finfo(ember.int8)
    with pytest.raises(TypeError):
        ember.iinfo(ember.float32)


def test_promotion_functions():
    assert ember.promote_types(ember.int8, ember.uint8) == ember.int16
    assert ember.result_type(ember.ones(2, dtype=ember.int8), 1.5) == ember.float32
    assert ember.result_type(ember.tensor(1), ember.ones(2)) == ember.float32
    assert ember.can_cast(ember.int64, ember.float32)
    assert not ember.can_cast(ember.float32, ember.int64)


@pytest.mark.parametrize(
    ("op", "number", "element", "expected"),
    [
        ("floor_divide", -4, 2, 126),  # -4 is 252 in uint8
        ("remainder", 300, 7, 2),  # 300 is 44
        ("bitwise_right_shift", -1, 3, 31),
        ("gcd", 300, 200, 4),
    ],
)
def test_a_wider_integer_without_dimensions_has_the_type_of_the_result(
    op, number, element, expected
):
    elements = ember.tensor([element, element], dtype=ember.uint8)
    result = getattr(ember, op)(ember.tensor(number), elements)
    assert result.dtype == ember.uint8 and result.tolist() == [expected, expected]


def test_windows():
    for name in ("hann", "hamming", "blackman", "bartlett"):
        want = getattr(np, "hanning" if name == "hann" else name)(7)
        got = getattr(ember.signal.windows, name)(7, dtype=ember.float64)
        np.testing.assert_allclose(got.numpy(), want, atol=1e-12)
        old = getattr(ember, f"{name}_window")(7, periodic=False)
        np.testing.assert_allclose(old.numpy(), want, atol=1e-6)
    half = np.sin(np.pi * (np.arange(5) + 0.5) / 5)
    got = ember.signal.windows.cosine(5, dtype=ember.float64)
    np.testing.assert_allclose(got.numpy(), half, atol=1e-12)
    kaiser = ember.kaiser_window(7, periodic=False, beta=5.0, dtype=ember.float64)
    np.testing.assert_allclose(kaiser.numpy(), np.kaiser(7, 5.0), rtol=1e-6)
    assert ember.hann_window(0).shape == (0,) and ember.hann_window(1).item() == 1
    with pytest.raises(RuntimeError, match="non-negative"):
        ember.hann_window(-1)
    with pytest.raises(ValueError, match="positive"):
        ember.signal.windows.gaussian(3, std=0)


@pytest.mark.parametrize(
    "fill",
    [
        lambda out: ember.arange(6.0, out=out),
        lambda out: ember.range(0, 5, out=out),
        lambda out: ember.linspace(0, 5, 6, out=out),
        lambda out: ember.logspace(0, 5, 6, base=2, out=out).log2_(),
    ],
)
@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_lines_fill_an_out_of_another_shape_in_its_order(fill):
    memory = ember.full((20,), -1.0)
    out = memory[2:14].view(3, 4)[:, ::2]
    assert fill(out) is out
    assert out.shape == (3, 2) and out.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert memory[3::2].eq(-1).all() and memory[:2].eq(-1).all()


def test_triangles_beyond_every_diagonal():
    x = ember.ones(2, 3)
    most, least = 2**63 - 1, -(2**63)
    assert ember.triu(x, most).sum() == 0 and ember.triu(x, least).sum() == 6
    assert ember.tril(x, most).sum() == 6 and ember.tril(x, least).sum() == 0


def test_lists_that_hold_themselves():
    itself: list = [1]
    itself.append(itself)
    other: list = [2, [3, itself]]
    itself[1] = other
    for data, error in ((other, ValueError), (itself, ValueError)):
        with pytest.raises(error, match="too many dimensions"):
            ember.tensor(data)
        with pytest.raises(error, match="too many dimensions"):
            ember.ones(3)[data]
    itself[1] = itself
    with pytest.raises(TypeError, match="self-referential"):
        ember.tensor(itself)


def test_sizes_that_add_up_to_too_much():
    half = ember.ones(1).expand(2**62)
    with pytest.raises(RuntimeError, match="add up to more"):
        ember.cat([half, half])


def test_a_sequence_that_cannot_be_read():
    class Broken:
        def __len__(self):
            return 2

        def __getitem__(self, i):
            raise TypeError

    class Endless:
        def __len__(self):
            return 2

        def __getitem__(self, i):
            raise KeyboardInterrupt

    with pytest.raises(ValueError, match="could not determine the shape of object"):
        ember.tensor(Broken())
    with pytest.raises(KeyboardInterrupt):
        ember.tensor(Endless())


def test_positions_are_written_to_int64_only():
    x = ember.tensor([0, 2, 3])
    with pytest.raises(RuntimeError, match="dtype"):
        ember.nonzero(x, out=ember.empty(0))
    assert ember.nonzero(x, out=ember.empty(0).long()).tolist() == [[1], [2]]
