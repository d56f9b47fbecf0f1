"""Views: what they share with their base, their strides, and in-place changes."""

from __future__ import annotations

import numpy as np
import pytest

import ember


def grid(*shape: int) -> ember.Tensor:
    return ember.arange(int(np.prod(shape))).reshape(shape).to(ember.float32)


@pytest.mark.parametrize(
    "view, strides, offset",
    [
        (lambda x: x.view(4, 6), (6, 1), 0),
        (lambda x: x.transpose(0, 2), (1, 4, 12), 0),
        (lambda x: x.permute(1, 2, 0), (4, 1, 12), 0),
        (lambda x: x.unsqueeze(1), (12, 12, 4, 1), 0),
        (lambda x: x.unsqueeze(-1), (12, 4, 1, 1), 0),
        (lambda x: x[1], (4, 1), 12),
        (lambda x: x[:, 1:, ::2], (12, 4, 2), 4),
        (lambda x: x.select(2, 3), (12, 4), 3),
        (lambda x: x.narrow(1, 1, 2), (12, 4, 1), 4),
        (lambda x: x.diagonal(1, 1, 2), (12, 5), 1),
        (lambda x: x.unfold(2, 2, 1), (12, 4, 1, 1), 0),
        (lambda x: x[0].expand(2, 3, 4), (0, 4, 1), 0),
        (lambda x: x.split(2, 2)[1], (12, 4, 1), 2),
        (lambda x: x.unbind(1)[2], (12, 1), 8),
        (lambda x: x.flatten(1), (12, 1), 0),
        (lambda x: x.movedim(0, 2), (4, 1, 12), 0),
    ],
)
def test_geometry(view, strides, offset) -> None:
    x = grid(2, 3, 4)
    v = view(x)
    assert v.stride() == strides
    assert v.storage_offset() == offset
    assert v.data_ptr() == x.data_ptr() + 4 * offset
    assert v._base is x
    x.add_(100)
    assert v.flatten()[0].item() >= 100


def test_copies_share_nothing() -> None:
    x = grid(2, 3)
    for copy in (
        ember.permute_copy(x, (1, 0)),
        ember.squeeze_copy(x),
        ember.expand_copy(x, (2, 2, 3)),
        ember.unbind_copy(x)[0],
        ember.diagonal_copy(x),
    ):
        assert copy._base is None
        assert copy.is_contiguous()
        assert copy.data_ptr() != x.data_ptr()


def test_geometry_in_place() -> None:
    x = grid(2, 3)
    assert x.t_() is x
    assert (x.shape, x.stride()) == ((3, 2), (1, 3))
    x.unsqueeze_(0)
    assert x.shape == (1, 3, 2)
    x.squeeze_(0).transpose_(0, 1)
    assert x.is_contiguous() and x.shape == (2, 3)
    assert x.as_strided_((2,), (3,)).tolist() == [0, 3]


def test_geometry_in_place_keeps_history() -> None:
    w = grid(2, 3).requires_grad_()
    y = (w * 2).t_()
    y[0, 1].backward()
    assert w.grad.tolist() == [[0, 0, 0], [2, 0, 0]]
    with pytest.raises(RuntimeError, match="leaf"):
        w.t_()


def test_in_place_on_a_view_reaches_the_base() -> None:
    w = grid(3).requires_grad_()
    y = w * 1
    y[1:].mul_(3)
    y.sum().backward()
    assert w.grad.tolist() == [1, 3, 3]


def test_views_of_many_are_not_changed_in_place() -> None:
    y = grid(4).requires_grad_() * 1
    for part in (y.split(2)[0], y.chunk(2)[1], y.unbind()[0]):
        with pytest.raises(RuntimeError, match="multiple views"):
            part.mul_(2)
    y.tensor_split(2)[0].mul_(2)  # views of their own
    with ember.no_grad():
        y.split(2)[0].mul_(2)


def test_reshape_copies_only_if_it_must() -> None:
    x = grid(2, 6)
    assert x.reshape(3, 4).data_ptr() == x.data_ptr()
    assert x.t().reshape(3, 4).data_ptr() != x.data_ptr()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.t().view(12)


def test_view_dtype() -> None:
    x = ember.tensor([1.0, -2.0])
    assert x.view(ember.int32).tolist() == [0x3F800000, -0x40000000]
    assert x.view(ember.uint8).shape == (8,)
    assert x.view(ember.float64).shape == (1,)
    assert ember.ones(4, dtype=ember.uint8).view(ember.int32).tolist() == [0x01010101]
    with pytest.raises(RuntimeError, match="divisible"):
        ember.ones(3, dtype=ember.uint8).view(ember.int32)
    with pytest.raises(RuntimeError, match="stride"):
        grid(2, 4).t().view(ember.float64)


def test_complex_parts_are_views() -> None:
    z = ember.zeros(2, dtype=ember.complex64)
    z.real.fill_(1)
    ember.imag(z).add_(2)
    assert z.tolist() == [1 + 2j, 1 + 2j]


def test_cat_takes_old_empties_and_promotes() -> None:
    x = grid(2, 3)
    assert ember.cat([ember.empty(0), x, x]).shape == (4, 3)
    mixed = ember.cat([x, ember.ones(1, 3, dtype=ember.float64)])
    assert mixed.dtype == ember.float64
    out = ember.empty(0)
    assert ember.cat([x, x], out=out) is out
    with pytest.raises(RuntimeError, match="share memory"):
        ember.cat([out, x], out=out)


def test_repeated_positions_are_written_in_order() -> None:
    n = 100_000
    index = ember.zeros(n, dtype=ember.int64)
    values = ember.arange(n)
    assert ember.zeros(3, dtype=ember.int64).index_put((index,), values)[0] == n - 1
    wide = ember.zeros(3, 8, dtype=ember.int64)
    rows = values.unsqueeze(1).expand(n, 8)
    assert wide.index_copy(0, index, rows)[0].tolist() == [n - 1] * 8
    assert wide.index_add(0, index, rows)[0, 0] == n * (n - 1) // 2


def test_index_results_do_not_depend_on_threads() -> None:
    ember.manual_seed(0)
    index = ember.randint(0, 100, (20_000,))
    source = ember.randn(20_000, 16)
    before = ember.get_num_threads()
    results = []
    for threads in (1, 2):
        ember.set_num_threads(threads)
        results.append(ember.zeros(100, 16).index_add(0, index, source))
    ember.set_num_threads(before)
    assert ember.equal(*results)


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [((2,), (2**62,), 0), ((1,), (1,), 2**62), ((3,), (1,), 2**63 - 1)],
)
def test_geometry_that_overflows_is_refused(size, stride, offset):
    with pytest.raises(RuntimeError, match=r"out of bounds|overflowed"):
        ember.ones(4).as_strided(size, stride, offset)


def test_any_number_of_parts():
    x = ember.arange(200)
    assert [len(part) for part in x.split([1] * 200)] == [1] * 200
    assert len(x.tensor_split(list(range(1, 200)))) == 200
    assert len(ember.split(x, [150] + [1] * 50)) == 51
