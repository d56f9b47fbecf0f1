"""Packed sequences of nothing, and states for modules without memory."""

import pytest

import ember
from ember import nn
from ember.nn.utils import rnn


def test_nothing_cannot_be_packed():
    for lengths in ([], [0]):
        with pytest.raises(RuntimeError, match="Cannot pack empty tensors"):
            rnn.pack_padded_sequence(ember.ones(0, len(lengths)), lengths)
    nothing = rnn.PackedSequence(ember.ones(0, 5), ember.tensor([], dtype=ember.int64))
    with pytest.raises(RuntimeError, match="must not be empty"):
        rnn.pad_packed_sequence(nothing)


def test_copying_to_meta_parameters_is_warned_of():
    with ember.device("meta"):
        m = nn.Linear(2, 3)
    state = {**m.state_dict(), "weight": ember.ones(3, 2)}
    with pytest.warns(UserWarning, match="for weight: copying from a non-meta"):
        m.load_state_dict(state)
    m.load_state_dict(state, assign=True)
    assert m.weight.device.type == "cpu"
