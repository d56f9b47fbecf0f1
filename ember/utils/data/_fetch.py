"""From indices to a batch: what a DataLoader does in its own process or in a worker."""

from collections.abc import Callable, Iterator
from itertools import islice

from ember.utils.data import _collate
from ember.utils.data.dataset import Subset


class _DatasetKind:
    """How a dataset is read."""

    Map = 0
    Iterable = 1


def make_fetcher(
    kind: int, dataset, auto_collation: bool, collate_fn: Callable, drop_last: bool
) -> Callable:
    """A function of what the sampler gave; at the end of a stream it raises
    StopIteration.
    """
    if kind == _DatasetKind.Iterable:
        return _stream_fetcher(iter(dataset), auto_collation, collate_fn, drop_last)
    if not auto_collation:
        return lambda index: collate_fn(dataset[index])
    whole = getattr(dataset, "collated", None)
    plain = collate_fn is _collate.default_collate
    if whole is not None and plain:
        return whole
    many = getattr(dataset, "__getitems__", None)
    if many is not None and not (plain and _reads_one_by_one(dataset)):
        return lambda indices: collate_fn(many(indices))
    if plain:
        return lambda indices: _collate.collate_one_by_one(
            (dataset[i] for i in indices), len(indices)
        )
    return lambda indices: collate_fn([dataset[i] for i in indices])


def _reads_one_by_one(dataset) -> bool:
    """Whether it is a part of one that does: then there is nothing to gain."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return not hasattr(dataset, "__getitems__")


def _stream_fetcher(
    samples: Iterator, auto_collation: bool, collate_fn: Callable, drop_last: bool
) -> Callable:
    ended = False

    def fetch(indices):
        nonlocal ended
        if ended:
            raise StopIteration
        if not auto_collation:
            return collate_fn(next(samples))
        batch = list(islice(samples, len(indices)))
        ended = len(batch) < len(indices)
        if not batch or (ended and drop_last):
            raise StopIteration
        return collate_fn(batch)

    return fetch
