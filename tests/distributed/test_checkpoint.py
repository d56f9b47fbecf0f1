"""Checkpoints of several ranks: what is written by whom, other numbers of ranks, and
what is left when a process is killed."""

import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import ember
import ember.distributed as dist
import ember.distributed.checkpoint as dcp
from ember import nn
from ember.distributed.checkpoint import format_utils, metadata as checkpoint_metadata
from ember.distributed.checkpoint.metadata import MetadataIndex
from tests.distributed.ranks import needs_mpi, run


class Placed:
    """Shard(dim), or Replicate without."""

    def __init__(self, dim=None):
        self.dim = dim

    def is_shard(self):
        return self.dim is not None

    def is_partial(self):
        return False


class Cut(ember.Tensor):
    """A tensor of which a rank has a part, with DTensor's interface."""

    @staticmethod
    def make(whole, dims, mesh, place):
        """`dims`: along which dimension each axis of `mesh` cuts; None: not at all."""
        cut = whole.clone().as_subclass(Cut)
        cut.placements = [Placed(dim) for dim in dims]
        cut.device_mesh = SimpleNamespace(
            get_coordinate=lambda: place, size=lambda axis: mesh[axis]
        )
        local = whole
        for dim, parts, at in zip(dims, mesh, place or [0] * len(mesh), strict=True):
            if dim is not None:
                rows = -(-local.shape[dim] // parts)
                start = min(rows * at, local.shape[dim])
                local = local.narrow(dim, start, min(rows, local.shape[dim] - start))
        cut.local = local.clone()
        return cut

    def to_local(self):
        return self.local

    def detach(self):
        return self

    def clone(self):
        copy = ember.Tensor.clone(self.as_subclass(ember.Tensor)).as_subclass(Cut)
        copy.__dict__.update(self.__dict__, local=self.local.clone())
        return copy


def whole():
    return ember.arange(70.0).view(10, 7)


def state(rank, size, value=None):
    """What a rank saves; or, with a value, the same to be loaded into."""
    x = whole() if value is None else ember.full((10, 7), value)
    big, small = ember.arange(1000.0), ember.tensor(3)
    if value is not None:
        big, small = big * 0, small * 0
    mesh = {4: (2, 2), 6: (3, 2)}.get(size, (size, 1))
    place = divmod(rank, mesh[1])
    return {
        "rows": Cut.make(x, [0], (size,), (rank,)),
        "both": Cut.make(x * 2, [0, 1], mesh, place),
        "half": Cut.make(x * 3, [None, 1], mesh, place),
        "few": Cut.make(x[:2] * 4, [0], (size,), (rank,)),
        "nested": {"list": [big, {"n": small}], 5: ember.ones(2, 0)},
        "options": {"lr": 0.5 if value is None else 0, "names": ["a", ("b", 1)]},
    }


def rank_saves(rank, size, folder):
    metadata = dcp.save(state(rank, size), checkpoint_id=folder)
    mine = os.path.getsize(Path(folder) / f"__{rank}_0.distcp")
    entry = metadata.state_dict_metadata
    assert [len(entry[k].chunks) for k in ("rows", "nested.list.0")] == [size, 1]
    return mine


def check(rank, size, folder, no_dist=False):
    found = state(rank, size, value=0.0)
    dcp.load(found, checkpoint_id=folder, no_dist=no_dist)
    expected = state(rank, size)
    for name in ("rows", "both", "half", "few"):
        assert ember.equal(found[name].to_local(), expected[name].to_local()), name
    assert ember.equal(found["nested"]["list"][0], ember.arange(1000.0))
    assert found["nested"]["list"][1]["n"].item() == 3
    assert found["options"] == expected["options"]


@needs_mpi
@pytest.mark.parametrize(("writers", "readers"), [(4, 3), (3, 1), (2, 4)])
def test_another_number_of_ranks_reads(tmp_path, writers, readers):
    sizes = run(rank_saves, writers, writers, str(tmp_path))
    assert len(list(tmp_path.glob("__*_0.distcp"))) == writers
    assert max(sizes) < 4 * min(sizes) + 8000, "each writes about as much"
    if readers == 1:
        check(0, 1, tmp_path, no_dist=True)
    else:
        run(check, readers, readers, str(tmp_path))


def test_one_process_reads_and_writes(tmp_path):
    state_ = {
        "x": whole().t(),
        "view": whole()[2:4],
        "sparse": ember.eye(3).to_sparse(),
    }
    dcp.save(state_, checkpoint_id=tmp_path, no_dist=True)
    assert (tmp_path / "__0_0.distcp").stat().st_size < 9000, "not what surrounds views"
    found = {"x": ember.zeros(7, 10), "view": ember.zeros(2, 7), "sparse": None}
    dcp.load(found, checkpoint_id=tmp_path, no_dist=True)
    assert ember.equal(found["x"], whole().t())
    assert ember.equal(found["view"], whole()[2:4])
    assert ember.equal(found["sparse"].to_dense(), ember.eye(3))
    metadata = dcp.FileSystemReader(tmp_path).read_metadata()
    assert metadata.version == "1.0.0"
    assert MetadataIndex("x", ember.Size([0, 0])) in metadata.storage_data


def test_files_and_threads(tmp_path):
    many = {str(i): ember.full((i,), float(i)) for i in range(1, 9)}
    writer = dcp.FileSystemWriter(tmp_path / "a", single_file_per_rank=False)
    dcp.save(many, storage_writer=writer, no_dist=True)
    assert len(list((tmp_path / "a").glob("*.distcp"))) == 8
    writer = dcp.FileSystemWriter(tmp_path / "b", thread_count=3)
    dcp.save(many, storage_writer=writer, no_dist=True)
    assert len(list((tmp_path / "b").glob("*.distcp"))) == 3
    for folder in ("a", "b"):
        found = {name: ember.zeros_like(t) for name, t in many.items()}
        dcp.load(found, checkpoint_id=tmp_path / folder, no_dist=True)
        assert all(ember.equal(found[name], t) for name, t in many.items())


class Counter:
    def __init__(self, n):
        self.n, self.weight = n, ember.full((2,), float(n))

    def state_dict(self):
        return {"n": self.n, "weight": self.weight}

    def load_state_dict(self, state):
        self.n = state["n"]


def test_what_has_state_is_asked(tmp_path):
    given, taken = Counter(3), Counter(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dcp.save({"c": given, "m": nn.Linear(2, 2)}, checkpoint_id=tmp_path)
    assert "single process" in str(caught[0].message)
    dcp.load({"c": taken}, checkpoint_id=tmp_path, no_dist=True)
    assert taken.n == 3 and taken.weight.tolist() == [3.0, 3.0]


def raises(kind, match):
    return pytest.raises(kind, match=match)


def test_errors(tmp_path):
    def load(found, **options):
        dcp.load(found, checkpoint_id=tmp_path, no_dist=True, **options)

    with raises(RuntimeError, "checkpoint_id"):
        dcp.save({}, no_dist=True)
    with raises(dcp.CheckpointException, "metadata"):
        load({})
    dcp.save({"x": ember.ones(3), "n": 1}, checkpoint_id=tmp_path, no_dist=True)
    with raises(dcp.CheckpointException, "Missing key in checkpoint state_dict: y"):
        load({"y": ember.ones(3)})
    partial = {"y": ember.ones(3), "x": ember.zeros(3)}
    load(partial, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    assert partial["x"].sum() == 3
    with raises(dcp.CheckpointException, "Size mismatch"):
        load({"x": ember.ones(4)})
    with raises(dcp.CheckpointException, "tensor of shape") as caught:
        load({"x": 1})
    assert isinstance(caught.value.failures[0][0], ValueError)
    writer = dcp.FileSystemWriter(tmp_path, overwrite=False)
    with raises(dcp.CheckpointException, "already exists"):
        dcp.save({}, storage_writer=writer, no_dist=True)
    overlapping = Cut.make(whole(), [0], (2,), (0,))
    with raises(dcp.CheckpointException, "validate global plan"):
        dcp.save({"x": overlapping}, checkpoint_id=tmp_path, no_dist=True)
    load({"x": ember.zeros(3)})  # the former one is still there
    data = next(tmp_path.glob("*.distcp"))
    data.write_bytes(data.read_bytes()[:-10])
    with raises(dcp.CheckpointException, "truncated"):
        load({"x": ember.zeros(3)})
    (tmp_path / ".metadata").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with raises(dcp.CheckpointException, "os.system"):
        load({"x": ember.zeros(3)})


def rank_fails(rank, folder):
    class Odd(dcp.DefaultSavePlanner):
        def resolve_data(self, item):
            if rank == 1:
                raise OSError("no space")
            return super().resolve_data(item)

    dcp.save({"x": ember.ones(2)}, checkpoint_id=folder)
    one_each = {str(r): ember.ones(2) for r in range(4)}
    with raises(dcp.CheckpointException, "no space") as caught:
        dcp.save(one_each, checkpoint_id=folder, planner=Odd())
    assert list(caught.value.failures) == [1], "and every rank knows"
    found = {"x": ember.zeros(2)}
    dcp.load(found, checkpoint_id=folder)
    assert found["x"].sum() == 2


@needs_mpi
def test_an_error_of_one_rank_is_one_of_all(tmp_path):
    run(rank_fails, 2, str(tmp_path))


def rank_goes_on(rank, folder):
    x = ember.full((300_000,), float(rank))
    cut = Cut.make(ember.zeros(8, 2) + rank, [0], (2,), (rank,))
    saves = []
    for step in range(3):
        place = f"{folder}/{step}"
        saves.append(
            dcp.async_save({"x": x, "cut": cut, "n": step}, checkpoint_id=place)
        )
        x += 1  # training goes on, and communicates
        cut.local += 0.0
        dist.all_reduce(ember.ones(5))
    for step, future in enumerate(saves):
        assert "x" in future.result().state_dict_metadata
        found = {"x": ember.zeros(300_000), "cut": ember.zeros(8, 2), "n": 0}
        dcp.load(found, checkpoint_id=f"{folder}/{step}")
        assert found["n"] == step and (found["x"] == found["x"][0]).all()
        assert found["x"][0].item() - step in (0, 1)
        assert found["cut"][:, 0].tolist() == [0] * 4 + [1] * 4
    with raises(dcp.CheckpointException, "File exists"):
        Path(f"{folder}/file{rank}").touch()
        dcp.async_save({}, checkpoint_id=f"{folder}/file{rank}").result()


@needs_mpi
def test_saving_in_the_background(tmp_path):
    run(rank_goes_on, 2, str(tmp_path))


KILLED = """
import os, signal, sys, ember, ember.distributed.checkpoint as dcp
from ember.distributed.checkpoint import filesystem
folder, when = sys.argv[1:]
def state(v): return {str(i): ember.full((500,), float(v)) for i in range(20)}
dcp.save(state(1), checkpoint_id=folder, no_dist=True)
def die(*args, **kwargs): os.kill(os.getpid(), signal.SIGKILL)
count = 0
def after_ten(item, resolve=dcp.DefaultSavePlanner.resolve_data):
    global count
    count += 1
    return die() if count == 10 else resolve(planner, item)
planner = dcp.DefaultSavePlanner()
if when == "data":
    planner.resolve_data = after_ten
elif when == "finish":
    filesystem.FileSystemWriter.finish = die
elif when == "rename":
    real = os.replace
    os.replace = lambda a, b: die() if b.endswith(".metadata") else real(a, b)
else:
    filesystem.Path.unlink = die
dcp.save(state(2), checkpoint_id=folder, no_dist=True, planner=planner)
"""


@pytest.mark.parametrize(
    ("when", "value"), [("data", 1), ("finish", 1), ("rename", 1), ("cleaning", 2)]
)
def test_a_killed_save_leaves_a_checkpoint(tmp_path, when, value):
    command = [sys.executable, "-c", KILLED, str(tmp_path), when]
    ended = subprocess.run(command, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    found = {str(i): ember.zeros(500) for i in range(20)}
    dcp.load(found, checkpoint_id=tmp_path, no_dist=True)
    assert all((t == value).all() for t in found.values())
    dcp.save({"x": ember.ones(1)}, checkpoint_id=tmp_path, no_dist=True)
    assert len(list(tmp_path.glob("*.distcp"))) == 1, "the next save cleans up"


def test_one_file_and_back(tmp_path):
    net = nn.Linear(3, 2)
    kept = {"net": net.state_dict(), "steps": [1, {"t": ember.ones(2)}], "n": 4}
    ember.save(kept, tmp_path / "one.pt")
    format_utils.torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "folder")
    format_utils.dcp_to_torch_save(tmp_path / "folder", tmp_path / "two.pt")
    found = ember.load(tmp_path / "two.pt")
    assert ember.equal(found["net"]["weight"], net.weight)
    assert found["steps"][0] == 1 and found["steps"][1]["t"].tolist() == [1, 1]
    assert found["n"] == 4


def enumerations_by_getattr(self, protocol):
    """As Python 3.11.0 to 3.11.3 reduce members."""
    return getattr, (type(self), self.name)


def test_enumerations_of_every_python(tmp_path, monkeypatch):
    encoding = checkpoint_metadata._MEM_FORMAT_ENCODING
    monkeypatch.setattr(encoding, "__reduce_ex__", enumerations_by_getattr)
    dcp.save({"x": ember.ones(3)}, checkpoint_id=tmp_path, no_dist=True)
    assert b"getattr" in (tmp_path / ".metadata").read_bytes()
    found = {"x": ember.zeros(3)}
    dcp.load(found, checkpoint_id=tmp_path, no_dist=True)
    assert ember.equal(found["x"], ember.ones(3))


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (b"torch.distributed.checkpoint.metadata\nMetadata", b"__init__"),
        (
            b"torch.distributed.checkpoint.metadata\n_MEM_FORMAT_ENCODING",
            b"__class__",
        ),
    ],
)
def test_getattr_gives_members_alone(tmp_path, owner, name):
    (tmp_path / ".metadata").write_bytes(
        b"cbuiltins\ngetattr\n(c" + owner + b"\nS'" + name + b"'\ntR."
    )
    with pytest.raises(pickle.UnpicklingError, match="do not need"):
        dcp.FileSystemReader(tmp_path).read_metadata()
