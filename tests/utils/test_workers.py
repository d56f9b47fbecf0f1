"""DataLoaders with worker processes."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import ember
from ember.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    default_collate,
    get_worker_info,
)

METHODS = ["fork", "spawn", "forkserver"]


class Numbers(Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, i):
        return i

    def __len__(self):
        return self.count


class Images(Numbers):
    def __getitem__(self, i):
        return {"x": np.full((3, 40, 50), i, np.float32), "y": i, "name": f"n{i}"}


class Stream(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(step[0], self.count, step[1]))


class About(Numbers):
    """What the worker is and draws."""

    def __getitem__(self, i):
        info = get_worker_info()
        legacy = np.random.randint(1 << 30)  # noqa: NPY002
        drawn = random.getrandbits(30), legacy, ember.randint(1 << 30, ()).item()
        assert info.dataset.count == self.count
        return info.id, info.num_workers, info.seed, *drawn, ember.get_num_threads()


class Fails(Numbers):
    def __getitem__(self, i):
        if i == 5:
            raise KeyError("no such sample")
        return i


class Dies(Numbers):
    def __init__(self, count, how):
        super().__init__(count)
        self.how = how

    def __getitem__(self, i):
        if i == 5:
            self.how()
        return i


class Slow(Numbers):
    def __getitem__(self, i):
        time.sleep(i)
        return i


class Unpicklable(Numbers):
    def __getitem__(self, i):
        return lambda: i


class OwnError(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def collate_to_half(batch):
    return default_collate(batch)["x"].half()


def collate_views(batch):
    x = ember.stack([ember.from_numpy(sample["x"]) for sample in batch])
    nhwc = x.to(memory_format=ember.channels_last)
    return x, x[:, :2], x.transpose(0, 1), nhwc, x[:, 1]


def fail_at_start(number):
    raise OwnError(number, 2)


def flat(loader):
    return [v for batch in loader for v in batch.tolist()]


@pytest.mark.parametrize("method", METHODS)
def test_batches_arrive_in_order(method):
    options = {"num_workers": 2, "multiprocessing_context": method}
    loader = DataLoader(Images(21), 4, persistent_workers=True, **options)
    for _ in range(3):
        seen = []
        for i, batch in enumerate(loader):
            assert batch["x"].shape[1:] == (3, 40, 50) and batch["x"].is_shared()
            assert batch["name"] == [f"n{k}" for k in batch["y"].tolist()]
            assert (batch["x"] == batch["y"].view(-1, 1, 1, 1)).all()
            seen += batch["y"].tolist()
            batch["x"].fill_(-i)  # belongs to us now
        assert seen == list(range(21))
    assert flat(DataLoader(Numbers(9), 2, **options)) == list(range(9))


def test_kept_batches_are_not_overwritten():
    loader = DataLoader(Images(64), 2, num_workers=2, persistent_workers=True)
    kept, arrays, data = [], [], []
    for _ in range(3):
        for i, batch in enumerate(loader):
            if i % 3 == 0:
                kept.append((batch["x"][1], 2 * i + 1))
            elif i % 3 == 1:
                arrays.append((batch["x"].numpy(), 2 * i))
            else:
                data.append((batch["x"].data.untyped_storage(), 2 * i))
    assert all((x == value).all() for x, value in kept)
    assert all((x[0] == value).all() for x, value in arrays)
    for storage, value in data:
        x = ember.tensor([], dtype=ember.float32).set_(storage)
        assert x[0] == value


def test_slots_are_used_again():
    loader = DataLoader(Images(64), 2, num_workers=1, persistent_workers=True)
    addresses = {batch["x"].data_ptr() for _ in range(2) for batch in loader}
    assert len(addresses) < 8  # of 64 batches
    # and not those that a child may still see
    it = iter(loader)
    batch = next(it)["x"]
    child = os.fork()
    if child == 0:
        time.sleep(0.3)
        os._exit(0 if (batch[1] == 1).all() else 1)
    del batch
    for _ in it:
        pass
    assert os.waitpid(child, 0)[1] == 0


def test_sizes_that_change_do_not_pile_up():
    class Growing(Numbers):
        def __getitem__(self, i):
            return np.zeros(10_000 * (i + 1), np.float32)

    loader = DataLoader(Growing(40), 1, num_workers=1, persistent_workers=True)
    it = iter(loader)
    sizes = [b.shape[1] for b in it]
    assert sizes == [10_000 * (i + 1) for i in range(40)]
    mapped = loader._iterator._crew._links[0].mapped
    assert len(mapped._bases) < 10


def test_custom_collation():
    half = DataLoader(Images(6), 3, num_workers=2, collate_fn=collate_to_half)
    for i, x in enumerate(half):
        assert x.dtype == ember.float16 and (x[1] == 3 * i + 1).all()
    views = DataLoader(Images(6), 3, num_workers=2, collate_fn=collate_views)
    for x, part, turned, nhwc, odd in views:
        assert nhwc.is_contiguous(memory_format=ember.channels_last)
        assert (nhwc == x).all() and (turned == x.transpose(0, 1)).all()
        assert (odd == x[:, 1]).all()
        x.fill_(7)
        assert (part == 7).all() and (turned == 7).all()  # of one memory, as before


def test_streams():
    loader = DataLoader(Stream(11), 2, num_workers=2, persistent_workers=True)
    expected = [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]
    for _ in range(2):
        assert [b.tolist() for b in loader] == expected
    short = DataLoader(Stream(11), 2, num_workers=2, drop_last=True)
    assert [b.tolist() for b in short] == expected[:-1]
    assert sorted(DataLoader(Stream(5), None, num_workers=2)) == list(range(5))


def test_seeds_and_worker_info():
    def rows(seed):
        ember.manual_seed(seed)
        loader = DataLoader(About(4), 1, num_workers=2)
        return [tuple(int(v) for v in row) for row in loader]

    first = rows(3)
    assert first == rows(3) != rows(4)
    assert [row[:2] for row in first] == [(0, 2), (1, 2), (0, 2), (1, 2)]
    assert first[1][2] == first[0][2] + 1
    assert len({row[3:6] for row in first}) == 4
    assert {row[6] for row in first} == {1}
    assert get_worker_info() is None


@pytest.mark.parametrize("method", METHODS)
def test_exceptions_have_the_workers_traceback(method):
    options = {"num_workers": 2, "multiprocessing_context": method}
    it = iter(DataLoader(Fails(16), 2, **options))
    assert [next(it).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(KeyError) as caught:
        next(it)
    text = str(caught.value)
    assert "Caught KeyError in DataLoader worker process 0" in text
    assert "__getitem__" in text and "\n  File" in text
    assert next(it).tolist() == [6, 7]  # the worker goes on
    failing = DataLoader(Numbers(4), num_workers=1, worker_init_fn=fail_at_start)
    with pytest.raises(RuntimeError, match="Caught OwnError in DataLoader worker"):
        list(failing)


def test_what_cannot_be_pickled_is_an_error():
    with pytest.raises(RuntimeError, match="worker process 0"):
        list(DataLoader(Unpicklable(2), None, num_workers=1))


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_worker_is_reported_at_once(method):
    loader = DataLoader(
        Dies(100, suicide), 2, num_workers=2, multiprocessing_context=method
    )
    it = iter(loader)
    pids = [process.pid for process in it._workers]
    with pytest.raises(RuntimeError, match="is killed by signal: Killed") as caught:
        list(it)
    assert any(f"(pid {pid})" in str(caught.value) for pid in pids)
    for pid in pids:
        assert not os.path.exists(f"/proc/{pid}")
    with pytest.raises(RuntimeError, match="Killed"):
        next(it)


def suicide():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    os._exit(3)


def test_a_worker_that_leaves_is_reported():
    with pytest.raises(RuntimeError, match="exited unexpectedly with exit code 3"):
        list(DataLoader(Dies(100, leave), 2, num_workers=2))


def test_an_idle_worker_killed_is_reported_and_replaced():
    loader = DataLoader(Numbers(40), 2, num_workers=2, persistent_workers=True)
    it = iter(loader)
    next(it)
    start = time.monotonic()
    os.kill(it._workers[1].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="killed by signal"):
        list(it)
    assert time.monotonic() - start < 4
    assert flat(loader) == list(range(40))


def test_timeout():
    with pytest.raises(RuntimeError, match=r"timed out after 0\.2 seconds"):
        for _ in DataLoader(Slow(4), num_workers=1, timeout=0.2):
            pass


def test_out_of_order():
    loader = DataLoader(SlowFirst(8), 1, num_workers=2, in_order=False)
    order = flat(loader)
    assert sorted(order) == list(range(8)) and order[0] != 0


class SlowFirst(Numbers):
    def __getitem__(self, i):
        time.sleep(0.5 if i == 0 else 0)
        return i


def test_leaving_early_ends_the_workers():
    it = iter(DataLoader(Numbers(1000), 2, num_workers=2))
    next(it)
    pids = [process.pid for process in it._workers]
    del it
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_large_index_lists_do_not_block():
    # both directions fill up: a megabyte of indices against megabytes of results
    batches = [list(range(200_000))] * 6
    loader = DataLoader(
        Numbers(1), batch_sampler=batches, num_workers=2, collate_fn=as_text
    )
    assert [len(b) for b in loader] == [len(as_text(batches[0]))] * 6


def as_text(batch):
    return " ".join(map(str, batch))


def test_tensor_datasets():
    x, y = ember.arange(40.0).view(20, 2), ember.arange(20)
    for shared in (False, True):
        loader = DataLoader(TensorDataset(x, y), 4, num_workers=2)
        got = [(a.tolist(), b.tolist()) for a, b in loader]
        assert got == [
            (x[i : i + 4].tolist(), y[i : i + 4].tolist()) for i in range(0, 20, 4)
        ]
        if not shared:
            x.share_memory_()


def test_options():
    with pytest.raises(ValueError, match="start method"):
        DataLoader(Numbers(1), num_workers=1, multiprocessing_context="no")
    with pytest.raises(ValueError, match="num_workers > 0"):
        DataLoader(Numbers(1), multiprocessing_context="fork")
    with pytest.raises(TypeError, match="context object"):
        DataLoader(Numbers(1), num_workers=1, multiprocessing_context=3)
    with pytest.raises(ValueError, match="prefetch_factor"):
        DataLoader(Numbers(1), prefetch_factor=2)
    assert DataLoader(Numbers(1), num_workers=1).prefetch_factor == 2


def test_a_length_that_is_wrong_is_noticed():
    class Liar(Stream):
        def __iter__(self):
            return iter(range(4))

        def __len__(self):
            return 2

    loader = DataLoader(Liar(4))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reported to be 2"):
        assert len(list(loader)) == 4


def test_interrupt_leaves_no_process_behind():
    script = """
        import os, signal, time, ember
        from ember.utils.data import DataLoader, Dataset
        signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored
        class Slow(Dataset):
            def __getitem__(self, i):
                time.sleep(0.05)
                return i
            def __len__(self):
                return 10000
        it = iter(DataLoader(Slow(), num_workers=2))
        next(it)
        print(*[w.pid for w in it._workers], flush=True)
        for _ in it:
            pass
    """
    environment = os.environ | {"PYTHONPATH": os.path.dirname(ember.__path__[0])}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
    )
    pids = [int(word) for word in process.stdout.readline().split()]
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does
    _, errors = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors and errors.count("Traceback") == 1
    assert len(pids) == 2
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_large_tensor_datasets_and_parts_of_datasets():
    x = ember.arange(64.0 * 2000).view(64, 2000)
    for workers in (0, 2):
        loader = DataLoader(TensorDataset(x), 16, num_workers=workers)
        assert ember.equal(ember.cat([b for (b,) in loader]), x)
        part = Subset(Images(100), range(10, 30))
        for i, batch in enumerate(DataLoader(part, 4, num_workers=workers)):
            assert batch["y"].tolist() == list(range(10 + 4 * i, 14 + 4 * i))
            assert (batch["x"][1] == 11 + 4 * i).all()


def test_samples_that_differ():
    class Odd(Numbers):
        def __getitem__(self, i):
            return np.zeros((100, 100 + (i == 3)), np.float32)

    class Mixed(Numbers):
        def __getitem__(self, i):
            return np.ones(10_000, np.float32 if i < 2 else np.float64)

    class Ragged(Numbers):
        def __getitem__(self, i):
            return [ember.ones(10_000)] * (1 + i % 2)

    for workers in (0, 1):
        with pytest.raises(RuntimeError, match="stack"):
            list(DataLoader(Odd(8), 4, num_workers=workers))
        assert next(iter(DataLoader(Mixed(4), 4, num_workers=workers))).sum() == 40_000
        with pytest.raises(RuntimeError, match="equal size"):
            list(DataLoader(Ragged(8), 4, num_workers=workers))


def test_pinned_memory_is_accepted():
    with pytest.warns(UserWarning, match="pin_memory"):
        assert flat(DataLoader(Numbers(3), num_workers=1, pin_memory=True)) == [0, 1, 2]
