"""Orders of samplers and loaders, and what they leave of the random stream."""

import random

import numpy as np
import pytest

import ember

torch = pytest.importorskip("torch")


def orders(lib):
    data = lib.utils.data
    lib.manual_seed(5)
    found = []
    for _ in range(2):
        loader = data.DataLoader(range(11), batch_size=4, shuffle=True)
        found.append([b.tolist() for b in loader])
    given = lib.Generator().manual_seed(1)
    loader = data.DataLoader(range(11), shuffle=True, generator=given)
    found.append([b.tolist() for b in loader] + [b.tolist() for b in loader])
    found.append(list(data.RandomSampler(range(5), True, 70)))
    found.append(list(data.RandomSampler(range(5), num_samples=13, generator=given)))
    found.append([s.indices for s in data.random_split(range(20), [0.5, 0.3, 0.2])])
    found.append(list(data.SubsetRandomSampler([3, 4, 5, 6])))
    found.append(list(data.WeightedRandomSampler([0.1, 0.5, 0.4], 9)))
    found.append(list(data.WeightedRandomSampler([0.1, 0.5, 0.4], 2, False)))
    found.append(list(data.DistributedSampler(range(10), 3, 1)))
    found.append(lib.rand(3).tolist())
    return found


def test_orders_equal_torch():
    assert orders(ember) == orders(torch)


def worker_rows(lib, kind, **options):
    """What workers read and draw: torch's own seeds, orders and shares."""
    lib.manual_seed(7)
    loader = lib.utils.data.DataLoader(kind(lib), num_workers=2, **options)
    rows = [[int(v) for v in row] for _ in range(2) for row in loader]
    return rows, lib.rand(2).tolist()


def drawing(lib):
    class Drawing(lib.utils.data.Dataset):
        def __len__(self):
            return 12

        def __getitem__(self, i):
            info = lib.utils.data.get_worker_info()
            number = np.random.randint(1 << 30)  # noqa: NPY002
            mine = random.getrandbits(30), number, lib.randint(1 << 30, ()).item()
            return lib.tensor([i, info.id, info.seed & 0xFFFF, *mine])

    return Drawing()


def stream(lib):
    class Stream(lib.utils.data.IterableDataset):
        def __iter__(self):
            info = lib.utils.data.get_worker_info()
            count = 5 if info.id else 9
            return (lib.randint(1 << 30, (2,)) for _ in range(count))

    return Stream()


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(
    "kind, options",
    [
        (drawing, {"batch_size": None, "shuffle": False}),
        (drawing, {"batch_size": None, "shuffle": True, "prefetch_factor": 3}),
        (stream, {"batch_size": None}),
    ],
)
def test_workers_equal_torch(kind, options, persistent):
    options = options | {"persistent_workers": persistent}
    assert worker_rows(ember, kind, **options) == worker_rows(torch, kind, **options)


def failures(lib):
    class Failing(lib.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            raise [KeyError, ValueError, OSError, StopIteration][i % 4]("no", i)

    found = []
    it = iter(lib.utils.data.DataLoader(Failing(), num_workers=2))
    for _ in range(4):
        try:
            next(it)
        except Exception as error:
            found.append((type(error), str(error).split(".\n")[0]))
    return found


def test_failures_equal_torch():
    ours, theirs = failures(ember), failures(torch)
    assert ours[:3] == theirs[:3] and len(ours) == len(theirs)


def test_collation_equals_torch():
    import collections

    Pair = collections.namedtuple("Pair", "a b")
    batches = [
        [1, 2],
        [1.5, 2.5],
        [True, False],
        ["a", "b"],
        [b"a", b"b"],
        [(1, 2.0), (3, 4.0)],
        [[1, 2], [3, 4]],
        [{"a": 1, "b": [1.0]}, {"a": 2, "b": [2.0]}],
        [Pair(1, 2), Pair(3, 4)],
        [np.float32(1), np.float32(2)],
        [np.int16(1), np.int16(2)],
        [np.ones((2, 3), np.float16), np.zeros((2, 3), np.float16)],
        [np.zeros((100, 100)), np.ones((100, 100))],
        [collections.OrderedDict(x=1), collections.OrderedDict(x=2)],
        [collections.UserDict(x=1), collections.UserDict(x=2)],
    ]
    for batch in batches:
        ours = ember.utils.data.default_collate(batch)
        theirs = torch.utils.data.default_collate(batch)
        assert flat(ours) == flat(theirs), batch
        made = ember.utils.data.default_convert(batch)
        assert flat(made) == flat(torch.utils.data.default_convert(batch)), batch


def flat(data):
    """Types, dtypes and values, in a form that compares."""
    if hasattr(data, "tolist") and hasattr(data, "dtype"):
        return str(data.dtype), tuple(data.shape), data.tolist()
    if hasattr(data, "items"):
        return type(data), [(key, flat(value)) for key, value in data.items()]
    if isinstance(data, (list, tuple)):
        return type(data), [flat(value) for value in data]
    return data
