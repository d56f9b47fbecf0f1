"""Products of groups of matrices."""

import pytest

import ember
import ember.nn.functional as F


def ends(*values):
    return ember.tensor(values, dtype=ember.int32)


@pytest.fixture(autouse=True)
def seeded():
    ember.manual_seed(0)


def test_rows_in_groups():
    a, b = ember.randn(6, 3), ember.randn(2, 3, 4)
    made = F.grouped_mm(a, b, offs=ends(2, 6))
    assert ember.allclose(made, ember.cat([a[:2] @ b[0], a[2:] @ b[1]]))


def test_columns_in_groups():
    a, b = ember.randn(2, 5, 3), ember.randn(3, 4)
    made = F.grouped_mm(a, b, offs=ends(1, 4))
    assert ember.allclose(made, ember.cat([a[0] @ b[:, :1], a[1] @ b[:, 1:]], 1))


def test_the_shared_dimension_in_groups():
    a, b = ember.randn(5, 6), ember.randn(6, 4)
    made = F.grouped_mm(a, b, offs=ends(2, 2, 6))
    assert made.shape == (3, 5, 4) and not made[1].any()
    assert ember.allclose(made.sum(0), a @ b, atol=1e-6)


def test_pairs_of_matrices():
    a, b = ember.randn(2, 5, 3), ember.randn(2, 3, 4)
    assert ember.equal(F.grouped_mm(a, b), ember.bmm(a, b))


def test_what_no_group_covers_is_zero():
    made = F.grouped_mm(ember.ones(4, 2), ember.ones(2, 2, 3), offs=ends(1, 2))
    assert made.sum(1).tolist() == [6, 6, 0, 0]


def test_gradients():
    a = ember.randn(6, 3, requires_grad=True)
    b = ember.randn(2, 3, 4, requires_grad=True)
    F.grouped_mm(a, b, offs=ends(2, 6)).sum().backward()
    assert ember.allclose(a.grad[:2], b[0].sum(1).expand(2, 3))
    assert ember.allclose(b.grad[1], a[2:].sum(0).unsqueeze(1).expand(3, 4))


@pytest.mark.parametrize(
    "a, b, options, message",
    [
        ((6, 3), (2, 3, 4), {}, "Have to provide offsets"),
        ((2, 6, 3), (2, 3, 4), {"offs": ends(1, 2)}, "no offset"),
        ((6, 3), (2, 3, 4), {"offs": ember.tensor([2, 6])}, "int32"),
        ((6, 3), (2, 3, 4), {"offs": ends(6)}, "batch sizes"),
        ((2, 6, 3), (3, 3, 4), {}, "batch sizes"),
        ((6, 2), (2, 3, 4), {"offs": ends(2, 6)}, "contraction"),
        ((6,), (2, 3, 4), {"offs": ends(2, 6)}, "2 or 3d"),
        ((6, 3), (2, 3, 4), {"offs": ends(2, 7)}, "decrease or pass"),
        ((6, 3), (2, 3, 4), {"offs": ends(3, 2)}, "decrease or pass"),
        ((2, 6, 3), (2, 3, 4), {"bias": ember.ones(4)}, "Bias"),
        ((2, 6, 3), (2, 3, 4), {"out_dtype": ember.float16}, "output dtype"),
    ],
)
def test_what_is_refused(a, b, options, message):
    with pytest.raises(RuntimeError, match=message):
        F.grouped_mm(ember.ones(a), ember.ones(b), **options)


def test_dtypes():
    a, b = ember.ones(2, 2, 3), ember.ones(2, 3, 4)
    assert F.grouped_mm(a.bfloat16(), b.bfloat16()).dtype == ember.bfloat16
    with pytest.raises(RuntimeError, match="Float32, BFloat16 or Float16"):
        F.grouped_mm(a.double(), b.double())
    with pytest.raises(RuntimeError, match="differ"):
        F.grouped_mm(a, b.half())
