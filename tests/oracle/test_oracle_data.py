"""Orders of samplers and loaders, and what they leave of the random stream."""

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
