"""ember.masked against the plain op on the elements that are left."""

import numpy as np
import pytest

import ember
from ember import masked

X = ember.tensor([[3.0, -1.0, 2.0, 5.0], [4.0, 0.5, -2.0, 1.0]])
MASK = ember.tensor([[True, False, True, True], [False, True, True, False]])


def rows() -> list[ember.Tensor]:
    return [x[m] for x, m in zip(X, MASK)]


@pytest.mark.parametrize(
    "name",
    [
        "sum",
        "prod",
        "amax",
        "amin",
        "mean",
        "median",
        "var",
        "std",
        "norm",
        "logsumexp",
    ],
)
def test_reductions_see_what_is_left(name: str) -> None:
    plain = {
        "norm": ember.linalg.vector_norm,
        "median": lambda x: x.median(),
        "logsumexp": lambda x: x.logsumexp(0),
    }.get(name) or getattr(ember, name)
    got = getattr(masked, name)(X, dim=1, mask=MASK)
    want = ember.stack([plain(x) for x in rows()])
    assert ember.allclose(got, want)


def test_all_dimensions_and_kept_ones() -> None:
    assert masked.sum(X, mask=MASK).item() == X[MASK].sum().item()
    assert masked.mean(X, (0, 1), keepdim=True, mask=MASK).shape == (1, 1)
    assert masked.amax(X, dim=(), mask=MASK).item() == 5.0


def test_a_row_without_elements() -> None:
    none = ember.zeros(2, 1, dtype=ember.bool)
    assert masked.sum(X, 1, mask=none).tolist() == [0, 0]
    assert masked.prod(X, 1, mask=none).tolist() == [1, 1]
    assert masked.amax(X, 1, mask=none).tolist() == [-np.inf, -np.inf]
    assert masked.mean(X, 1, mask=none).isnan().all()
    assert masked.softmax(X, 1, mask=none).isnan().all()
    with pytest.raises(ValueError, match="fully masked out"):
        masked.median(X.long(), 1, mask=none)


def test_dtypes() -> None:
    ints = X.int()
    assert masked.sum(ints, 1, mask=MASK).dtype == ember.int64
    assert masked.amin(ints, 1, mask=MASK).dtype == ember.int32
    assert masked.argmax(ints, 1, mask=MASK).dtype == ember.int32
    assert masked.sum(X, dtype=ember.float64, mask=MASK).dtype == ember.float64
    with pytest.raises(ValueError, match="floating point or complex"):
        masked.mean(ints, 1, mask=MASK)
    with pytest.raises(NotImplementedError, match="identity of amax"):
        masked.amax(X > 0, 1, mask=MASK)


def test_scans_and_places() -> None:
    assert masked.cumsum(X, 1, mask=MASK)[0].tolist() == [3, 3, 5, 10]
    assert masked.cumprod(X, 1, mask=MASK)[0].tolist() == [3, 3, 6, 30]
    assert masked.argmax(X, 1, mask=MASK).tolist() == [3, 1]
    assert masked.argmin(X, 1, mask=MASK).tolist() == [2, 2]


def test_scaled() -> None:
    y = masked.softmax(X, 1, mask=MASK)
    assert ember.allclose(y[1][MASK[1]], rows()[1].softmax(0))
    assert (y[~MASK] == 0).all()
    assert ember.allclose(masked.log_softmax(X, 1, mask=MASK).exp(), y)
    assert ember.allclose(
        masked.softmin(X, 1, mask=MASK), masked.softmax(-X, 1, mask=MASK)
    )
    unit = masked.normalize(X, 2.0, 1, mask=MASK)
    assert ember.allclose(unit.norm(dim=1), ember.ones(2))
    both = masked.logaddexp(X, X, input_mask=MASK)
    assert ember.allclose(both, ember.where(MASK, X + np.log(2.0), X))


def test_gradients_stay_away_from_masked_elements() -> None:
    x = X.clone().requires_grad_()
    masked.var(x, 1, mask=MASK).sum().backward()
    assert (x.grad[~MASK] == 0).all()
    assert x.grad[MASK].abs().min() > 0


@pytest.mark.parametrize(
    ("dim", "mask", "error"),
    [
        ((0, 0), None, RuntimeError),
        (2, None, IndexError),
        (0, ember.ones(1, 2, 4, dtype=ember.bool), IndexError),
        (0, ember.ones(3, dtype=ember.bool), RuntimeError),
    ],
)
def test_errors(dim, mask, error) -> None:
    with pytest.raises(error):
        masked.sum(X, dim, mask=mask)
