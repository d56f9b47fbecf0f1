"""Shapes whose number of elements or bytes no int holds, or no machine."""

from __future__ import annotations

import struct

import pytest

import ember

from .children import deaths

MOST, LEAST = 2**63 - 1, -(2**63)
HUGE = 2**40


def wide(*shape: int, device: str = "cpu"):
    """Many elements in the memory of one."""
    return ember.ones(1, device=device).expand(*shape)


# Each of these is an error at once: of sizes, or for want of memory.
REFUSED = {
    "zeros out=": lambda: ember.zeros(MOST, out=ember.ones(3)),
    "zeros of a product out=": lambda: ember.zeros((2**62, 4), out=ember.ones(3)),
    "ones out=": lambda: ember.ones((2**32, 2**32), out=ember.ones(3)),
    "ones negative out=": lambda: ember.ones(
        (2, -(2**31) - 1), out=ember.ones(3).expand(3, 3)
    ),
    "bessel_y1 out=": lambda: ember.special.bessel_y1(
        ember.ones(()).expand(2**62), out=ember.empty(0, dtype=ember.complex128)
    ),
    "full out=": lambda: ember.full((2**62 + 1, 4), 1.0, out=ember.ones(4)),
    "empty negative out=": lambda: ember.empty(-2, out=ember.ones(3)),
    "empty negative product out=": lambda: ember.empty((-2, -2), out=ember.ones(4)),
    "eye out=": lambda: ember.eye(2**32, out=ember.ones(3)),
    "arange out=": lambda: ember.arange(2**62, out=ember.ones(3)),
    "linspace out=": lambda: ember.linspace(0, 1, 2**62, out=ember.ones(3)),
    "rand out=": lambda: ember.rand((2**62, 4), out=ember.ones(3)),
    "randperm out=": lambda: ember.randperm(2**62, out=ember.ones(3).long()),
    "clone": lambda: wide(HUGE).clone(),
    "contiguous": lambda: wide(HUGE, 2).contiguous(),
    "add": lambda: wide(HUGE) + 1,
    "add out=": lambda: ember.add(wide(HUGE), 1, out=ember.ones(1)),
    "add of more out=": lambda: ember.add(wide(2**62), 1, out=ember.ones(1)),
    "add of most out=": lambda: ember.add(wide(MOST), 1, out=ember.ones(1)),
    "exp out=": lambda: ember.exp(wide(2**61), out=ember.ones(1)),
    "where": lambda: ember.where(wide(HUGE) > 0, 1.0, 0.0),
    "cumsum out=": lambda: ember.cumsum(wide(2**62), 0, out=ember.ones(1)),
    "matmul": lambda: ember.ones(1, 1).expand(2**21, 1) @ wide(1, 2**21),
    "outer": lambda: ember.outer(wide(2**33), wide(2**33)),
    "expand": lambda: wide(2**33, 2**33),
    "expand and 0": lambda: wide(2**33, 2**33, 0),
    "expand_as": lambda: ember.ones(1).expand(2**32, 1).expand(2**33, 2**32, 2**31),
    "broadcast": lambda: ember.broadcast_tensors(
        wide(2**33, 1), wide(1, 2**33), ember.ones(1)
    ),
    "broadcast add": lambda: wide(2**32, 1) + wide(1, 2**32),
    "empty": lambda: ember.empty((2**62, 4)),
    "empty and 0": lambda: ember.empty((HUGE, HUGE, 0)),
    "0 and empty": lambda: ember.empty((0, HUGE, HUGE)),
    "empty of memory": lambda: ember.empty(2**43),
    "zeros of memory": lambda: ember.zeros(2**44),
    "empty of bytes": lambda: ember.empty(2**61, dtype=ember.float64),
    "channels_last": lambda: ember.empty(
        (2**20, 2**20, 2**20, 2**20), memory_format=ember.channels_last
    ),
    "empty_strided": lambda: ember.empty_strided((2**32, 2), (2**32, 2**62)),
    "new_empty": lambda: ember.ones(1).new_empty((2**62, 4)),
    "resize_": lambda: ember.ones(4).resize_(2**62 + 1, 4),
    "resize_ of bytes": lambda: ember.ones(4).resize_(2**62),
    "resize_as_": lambda: ember.ones(4).resize_as_(wide(2**62)),
    "storage": lambda: ember.UntypedStorage(2**62),
    "storage resize_": lambda: ember.UntypedStorage(4).resize_(2**62),
    "storage of -1": lambda: ember.UntypedStorage(-1),
    "view": lambda: ember.ones(4).view(2**62 + 1, 4),
    "view with -1": lambda: ember.ones(4).view(2**62 + 1, 4, -1),
    "reshape": lambda: ember.ones(4).reshape(2**33, 2**33, 1),
    "view of nothing": lambda: ember.ones(0).view(HUGE, HUGE, 0),
    "unflatten": lambda: ember.ones(4).unflatten(0, (2**62 + 1, 4)),
    "repeat": lambda: ember.ones(4).repeat(2**62 + 1),
    "repeat twice": lambda: ember.ones(1).repeat(2**32, 2**32),
    "tile": lambda: ember.tile(ember.ones(4), (2**62 + 1,)),
    "repeat_interleave": lambda: ember.ones(4).repeat_interleave(2**62 + 1),
    "repeat_interleave by tensor": lambda: ember.repeat_interleave(
        ember.tensor([2**62, 2**62, 2**62, 2**62 + 3])
    ),
    "as_strided": lambda: ember.ones(4).as_strided((2**62 + 1, 4), (0, 0)),
    "as_strided of strides": lambda: ember.ones(4).as_strided((2, 2), (2**62, 2**62)),
    "as_strided of offset": lambda: ember.ones(4).as_strided((1,), (1,), 2**62),
    "set_ of strides": lambda: ember.ones(4).set_(
        ember.UntypedStorage(16), 2**62, (2, 2), (2**62, 2)
    ),
    "split": lambda: ember.ones(3).split([2**62, 2**62, 2**62, 2**62, 3]),
    "split of many": lambda: wide(HUGE).split(1),
    "chunk": lambda: ember.ones(0).chunk(2**40),
    "kron": lambda: ember.kron(wide(2**32), wide(2**32)),
    "meshgrid": lambda: ember.meshgrid(wide(2**33), wide(2**33), indexing="ij"),
    "cartesian_prod": lambda: ember.cartesian_prod(wide(2**33), wide(2**33)),
    "cat": lambda: ember.cat([wide(2**62), wide(2**62)]),
    "cat out=": lambda: ember.cat([wide(2**62), wide(2**62)], out=ember.ones(1)),
    "stack": lambda: ember.stack([wide(2**62)] * 4),
    "diag": lambda: ember.diag(ember.ones(2), 2**62),
    "diag_embed": lambda: ember.diag_embed(ember.ones(2), LEAST),
    "block_diag": lambda: ember.block_diag(wide(2**33, 1), wide(2**33, 2)),
    "pad": lambda: ember.nn.functional.pad(ember.ones(2), (MOST, MOST)),
    "pad of -": lambda: ember.nn.functional.pad(ember.ones(2), (LEAST, 0)),
    "one_hot": lambda: ember.nn.functional.one_hot(ember.tensor([2**62]), -1),
    "one_hot of classes": lambda: ember.nn.functional.one_hot(ember.tensor([0]), 2**62),
    "bincount": lambda: ember.bincount(ember.tensor([1]), minlength=2**62),
    "bincount of value": lambda: ember.bincount(ember.tensor([MOST])),
    "arange": lambda: ember.arange(LEAST, MOST),
    "range": lambda: ember.range(0, 2**62),
    "randint": lambda: ember.randint(0, 2, (2**33, 2**33)),
    "randperm": lambda: ember.randperm(2**62),
    "normal": lambda: ember.normal(0.0, 1.0, (2**62, 4)),
    "vander": lambda: ember.vander(ember.ones(4), 2**62 + 1),
    "fft": lambda: ember.fft.fft(ember.ones(4), n=2**62),
    "fft2": lambda: ember.fft.fft2(ember.ones(4, 4), s=(2**33, 2**33)),
    "irfft": lambda: ember.fft.irfft(ember.ones(4), n=MOST),
    "conv": lambda: ember.conv1d(
        ember.ones(1, 1, 3), ember.ones(1, 1, 1), padding=2**62
    ),
    "conv_transpose": lambda: ember.conv_transpose1d(
        ember.ones(1, 1, 2).expand(1, 1, 2), ember.ones(1, 1, 1), stride=2**62
    ),
    "conv_transpose of input": lambda: ember.conv_transpose1d(
        wide(1, 1, 2**40), ember.ones(1, 1, 1), stride=2**31 - 1
    ),
    "fold": lambda: ember.nn.functional.fold(ember.ones(1, 1, 4), (2**40, 2**40), 1),
    "Embedding": lambda: ember.nn.Embedding(2**33, 2**33),
    "Linear": lambda: ember.nn.Linear(2**33, 2**33),
    "sparse": lambda: ember.sparse_coo_tensor(
        ember.zeros(2, 1).long(), ember.ones(1), (2**33, 2**33)
    ),
    "to_dense": lambda: ember.sparse_coo_tensor(
        ember.zeros(2, 1).long(), ember.ones(1), (2**31, 2**31)
    ).to_dense(),
    "sparse_csr": lambda: ember.sparse_csr_tensor(
        ember.tensor([0, 1]), ember.tensor([0]), ember.ones(1), (1, 2**62)
    ).to_dense(),
    "from_file": lambda: ember.from_file("/dev/null", size=2**62),
    "frombuffer": lambda: ember.frombuffer(bytearray(8), dtype=ember.int8, count=2**62),
    "pixel_shuffle": lambda: ember.pixel_shuffle(ember.ones(1, 4, 2, 2), 2**32),
    "native_group_norm": lambda: ember.native_group_norm(
        ember.ones(2, 6), None, None, 2, 6, 2**62 + 1, 3, 0.1
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_sizes_beyond_an_int_or_the_machine_are_errors(name):
    # A size that is no int64 at all is a TypeError, as in PyTorch.
    kinds = (RuntimeError, ValueError, IndexError, MemoryError, OverflowError)
    with pytest.raises((*kinds, TypeError)):
        REFUSED[name]()


@pytest.mark.parametrize("name", REFUSED)
def test_no_size_ends_the_process(name):
    assert deaths([(name, REFUSED[name])], seconds=30) == []


META = ["empty", "zeros", "ones", "rand", "randn"]


@pytest.mark.parametrize("name", META)
@pytest.mark.parametrize(
    "shape", [(2**62, 4), (2**61,), (MOST,), (HUGE, HUGE, 0), (-1,)]
)
def test_shapes_are_checked_without_memory_too(name, shape):
    with pytest.raises(RuntimeError):
        getattr(ember, name)(*shape, device="meta")


def test_shapes_on_meta_that_fit():
    t = ember.empty(2**30, 2**30, device="meta")
    assert (t + 1).numel() == 2**60
    with pytest.raises(RuntimeError):
        t.repeat(16, 1)
    with pytest.raises(RuntimeError):
        ember.cat([t] * 8)
    with pytest.raises(RuntimeError):
        t.unsqueeze(0).expand(16, -1, -1)
    with pytest.raises(RuntimeError):
        t @ ember.empty(2**30, 2**40, device="meta")


def test_out_is_as_before_after_an_error():
    out = ember.arange(3.0)
    for shape in [(MOST,), (2**62, 4), (2**43,), (-2,)]:
        with pytest.raises(RuntimeError):
            ember.zeros(shape, out=out)
        with pytest.raises(RuntimeError):
            out.resize_(shape)
    assert out.tolist() == [0, 1, 2] and out.untyped_storage().nbytes() == 12


def test_many_elements_in_little_memory_are_no_error():
    t = wide(2**62)
    assert t.numel() == 2**62 and t[5:9].sum() == 4
    assert wide(MOST).shape == (MOST,)
    assert t.view(2**31, 2**31).shape == (2**31, 2**31)
    assert ember.Size([2**33, 2**33]).numel() == 2**66
    with pytest.raises(RuntimeError):
        t.nbytes


@pytest.mark.parametrize("shift", [LEAST, LEAST + 1, MOST, 2**62, -(2**62)])
def test_the_lowest_int_has_no_opposite(shift):
    """Numbers that are negated or added to a size somewhere."""
    x = ember.arange(12.0).reshape(3, 4).requires_grad_()
    lines = x.detach().tolist()
    by = shift % 4
    rolled = x.roll(shift, 1)
    assert rolled.tolist() == [row[-by:] + row[:-by] if by else row for row in lines]
    rolled.square().sum().backward()
    assert x.grad.tolist() == (2 * x).tolist()
    none, every = (x * 0).tolist(), lines
    assert x.tril(shift).tolist() == (every if shift > 0 else none)
    assert x.triu(shift).tolist() == (none if shift > 0 else every)
    assert x.diagonal(shift).numel() == 0
    assert x.narrow(1, 0, 4).tolist() == lines
    assert x.rot90(shift).shape in [(3, 4), (4, 3)]
    assert x[shift:][:0].numel() == 0
    assert x[:, :shift].shape[1] == (4 if shift > 0 else 0)
    eye = ember.eye(2)
    assert ember.linalg.matrix_power(eye, shift).tolist() == eye.tolist()
    assert eye.matrix_power(shift).tolist() == eye.tolist()
    for call in (
        lambda: x.select(0, shift),
        lambda: x.narrow(0, shift, 1),
        lambda: x.narrow(0, 0, shift),
        lambda: x.unfold(0, shift, 1),
        lambda: x[shift],
        lambda: x.sum(shift),
        lambda: x.transpose(shift, 0),
        lambda: x.flip([shift]),
        lambda: x.rot90(1, (shift, 0)),
        lambda: x.movedim(shift, 0),
        lambda: ember.diag(x[0], shift),
        lambda: ember.diag_embed(x, shift),
        lambda: x.split(shift - 1 if shift < 0 else LEAST),
        lambda: x.unflatten(0, (shift, 2)),
    ):
        with pytest.raises((RuntimeError, IndexError, ValueError, TypeError)):
            call()
    assert x.unfold(1, 4, MOST).tolist() == [[row] for row in lines]
    assert len(x.chunk(MOST)) == 3 and len(x.split(MOST)) == 1
    assert ember.arange(0, 1, MOST).tolist() == [0]
    assert ember.arange(0, -1, LEAST).tolist() == [0]


@pytest.mark.parametrize(
    "shape, strides",
    [
        ((2**62, 4), (0, 0)),
        ((2**62 + 1, 4), (0, 0)),
        ((2**33, 2**33), (0, 0)),
        ((2, 2), (2**62, 2**62)),
        ((-1, 4), (4, 1)),
    ],
)
def test_sizes_in_t7_files(shape, strides, tmp_path):
    def text(value: bytes) -> bytes:
        return struct.pack("<i", len(value)) + value

    storage = struct.pack("<ii", 4, 2) + text(b"V 1") + text(b"torch.FloatStorage")
    storage += struct.pack("<q4f", 4, 0, 1, 2, 3)
    tensor = struct.pack("<ii", 4, 1) + text(b"V 1") + text(b"torch.FloatTensor")
    tensor += struct.pack("<i5q", 2, *shape, *strides, 1)
    (tmp_path / "x.t7").write_bytes(tensor + storage)
    with pytest.raises((RuntimeError, ValueError)):
        ember.legacy.load(tmp_path / "x.t7")


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kernel", [40, 2**20, 2**31 - 1])
def test_a_window_far_beyond_the_input_costs_what_the_input_does(axes, kernel):
    pool = getattr(ember.nn.functional, f"max_pool{axes}d")
    x = ember.arange(2.0 * 5**axes).reshape(1, 2, *(5,) * axes).requires_grad_()
    y, at = pool(x, kernel, padding=1, ceil_mode=True, return_indices=True)
    assert y.flatten().tolist() == [5**axes - 1, 2 * 5**axes - 1]
    assert at.flatten().tolist() == [5**axes - 1] * 2
    assert pool(x.detach(), kernel, padding=1, ceil_mode=True).equal(y)
    y.sum().backward()
    assert x.grad.nonzero().shape[0] == 2


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_elements_of_a_window_far_from_each_other(axes):
    pool = getattr(ember.nn.functional, f"max_pool{axes}d")
    x = ember.arange(5.0**axes).reshape(1, 1, *(5,) * axes)
    for dilation in (2**20, 2**30):
        assert pool(x, 1, dilation=dilation).equal(x)
        with pytest.raises(RuntimeError, match="too small"):
            pool(x, 3, padding=1, dilation=dilation)


@pytest.mark.parametrize("name", ["pixel_shuffle", "pixel_unshuffle"])
def test_a_factor_whose_square_overflows(name):
    with pytest.raises(ValueError, match="too large"):
        getattr(ember.nn.functional, name)(ember.ones(1, 4, 2, 2), 2**32)
