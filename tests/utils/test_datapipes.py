"""Chains of DataPipes."""

import pytest

import ember
from ember.utils.data import (
    DataLoader,
    IterDataPipe,
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
)
from ember.utils.data.datapipes.iter import IterableWrapper
from ember.utils.data.datapipes.map import SequenceWrapper


def test_chains_by_iteration():
    pipe = IterableWrapper(range(7))
    assert list(pipe.map(lambda x: x * 2).batch(3)) == [[0, 2, 4], [6, 8, 10], [12]]
    assert len(pipe.batch(3, drop_last=True)) == 2
    assert list(pipe.batch(2).batch(2).unbatch(-1)) == list(range(7))
    assert list(pipe.zip(pipe.filter(lambda x: x > 4))) == [(0, 5), (1, 6)]
    assert list(pipe.concat(pipe))[7:] == list(range(7))
    rows = IterableWrapper([(1, 2), (3, 4)])
    assert list(rows.map(lambda x: -x, input_col=1)) == [(1, -2), (3, -4)]
    ember.manual_seed(0)
    mixed = list(pipe.shuffle())
    assert sorted(mixed) == list(range(7)) and mixed != list(range(7))
    assert next(iter(pipe.batch(7).collate())).tolist() == list(range(7))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pipe.nonsense()


def test_chains_by_index():
    pipe = SequenceWrapper([1, 2, 3])
    assert pipe.map(lambda x: x + 1)[2] == 4
    assert list(pipe.batch(2)) == [[1, 2], [3]]
    assert pipe.concat(pipe)[4] == 2 and len(pipe.zip(pipe)) == 3
    assert sorted(pipe.shuffle()) == [1, 2, 3]


def test_loading_with_workers():
    pipe = IterableWrapper(range(8)).sharding_filter()
    loader = DataLoader(pipe, batch_size=2, num_workers=2)
    assert [b.tolist() for b in loader] == [[0, 2], [1, 3], [4, 6], [5, 7]]


def test_own_steps():
    @functional_datapipe("double_each")
    class Doubler(IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            return (x for item in self.source for x in (item, item))

    try:
        assert list(IterableWrapper([1, 2]).double_each()) == [1, 1, 2, 2]
    finally:
        del IterDataPipe.functions["double_each"]
    unsure = non_deterministic(Doubler)
    assert list(unsure([3])) == [3, 3]
    with guaranteed_datapipes_determinism(), pytest.raises(TypeError):
        unsure([3])
