"""Masked tensors: elements that do not count take no part, and get no gradient."""

from __future__ import annotations

import pytest

import ember
from ember.masked import MaskedTensor, as_masked_tensor, masked_tensor

DATA = ember.arange(6.0).view(2, 3)
MASK = DATA % 2 == 0


def test_parts_and_text():
    x = masked_tensor(DATA, MASK)
    assert isinstance(x, ember.Tensor) and x.shape == (2, 3)
    assert x.get_mask().tolist() == MASK.tolist()
    assert x.to_tensor(9.0).tolist() == [[0, 9, 2], [9, 4, 9]]
    assert x.tolist() == [[0, None, 2], [None, 4, None]]
    assert repr(x) == (
        "MaskedTensor(\n  [\n    [  0.0000,       --,   2.0000],\n"
        "    [      --,   4.0000,       --]\n  ]\n)"
    )


def test_reductions_leave_out_what_is_masked():
    x = masked_tensor(DATA, MASK)
    assert x.sum().item() == 6 and x.mean().item() == 2
    assert x.amax(1).tolist() == [2, 4]
    nothing = masked_tensor(DATA, MASK & (DATA < 3))
    assert nothing.sum(1).tolist() == [2, None]


def test_gradients_are_masked():
    x = masked_tensor(ember.tensor([4.0, -1.0]), ember.tensor([True, False]), True)
    x.sqrt().sum().backward()
    assert x.grad.tolist() == [0.25, None]
    assert x.grad.get_data().tolist() == [0.25, 0.0]  # not NaN


def test_history_of_the_data_goes_on():
    x = ember.ones(2, 3, requires_grad=True)
    (as_masked_tensor(x * 2, MASK) * 3).sum().backward()
    assert x.grad.tolist() == (MASK * 6.0).tolist()


def test_masks_of_operands_must_match():
    x = masked_tensor(DATA, MASK)
    assert (x + x).tolist() == [[0, None, 4], [None, 8, None]]
    with pytest.raises(ValueError, match="masks must match"):
        x + masked_tensor(DATA, ~MASK)


def test_shapes_are_changed_with_the_mask():
    x = masked_tensor(DATA, MASK)
    assert x.t().tolist() == [[0, None], [None, 4], [2, None]]
    assert x.reshape(6)[2:].tolist() == [2, None, 4, None]
    assert isinstance(ember.cat([x, x]), MaskedTensor)


def test_errors():
    with pytest.raises(ValueError, match="shape"):
        masked_tensor(DATA, MASK[0])
    with pytest.raises(NotImplementedError, match="cholesky"):
        ember.linalg.cholesky(masked_tensor(DATA, MASK))
