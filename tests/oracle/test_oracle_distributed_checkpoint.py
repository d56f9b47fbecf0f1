"""Distributed checkpoints that go from ember to torch and back."""

import itertools
import warnings

import pytest

import ember
import ember.distributed.checkpoint as dcp

torch = pytest.importorskip("torch")
torch_dcp = pytest.importorskip("torch.distributed.checkpoint")

DTYPES = "bool uint8 int64 float16 bfloat16 float32 float64 complex64".split()


def state(lib, factor=1):
    ones = {
        d: (lib.arange(6).view(2, 3) % 2 * factor).to(getattr(lib, d)) for d in DTYPES
    }
    return {
        "model": {
            "w": lib.arange(12.0).view(3, 4) * factor,
            "scalar": lib.tensor(2.5) * factor,
        },
        "optim": {
            "state": {0: {"step": lib.tensor(4.0) * factor}},
            "param_groups": [{"lr": 0.5 * factor, "params": [0, 1] if factor else []}],
        },
        "list": [lib.ones(2) * factor, "text" if factor else ""],
        "empty": lib.ones(0, 3),
        "transposed": (lib.arange(6.0).view(2, 3) * factor).t(),
        "dtypes": ones,
    }  # fmt: skip


def quiet(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


@pytest.mark.parametrize(
    ("writer", "save", "reader", "load"),
    [(ember, dcp, torch, torch_dcp), (torch, torch_dcp, ember, dcp)],
    ids=["to torch", "from torch"],
)
def test_interchange(tmp_path, writer, save, reader, load):
    for attempt in range(2):  # the second replaces the first
        quiet(save.save, state(writer), checkpoint_id=tmp_path, no_dist=True)
        found = state(reader, 0)
        quiet(load.load, found, checkpoint_id=tmp_path, no_dist=True)
        expected = state(reader)
        for part in ("model", "dtypes"):
            for name, value in expected[part].items():
                assert reader.equal(found[part][name], value), (name, attempt)
        assert found["optim"]["state"][0]["step"].item() == 4
        assert found["optim"]["param_groups"] == expected["optim"]["param_groups"]
        assert reader.equal(found["list"][0], expected["list"][0])
        assert found["list"][1] == "text"
        assert reader.equal(found["transposed"], expected["transposed"])


def test_metadata_is_the_same(tmp_path):
    """Names, shapes and paths of the same state, as torch reads both."""
    quiet(dcp.save, state(ember), checkpoint_id=tmp_path / "a", no_dist=True)
    quiet(torch_dcp.save, state(torch), checkpoint_id=tmp_path / "b", no_dist=True)
    ours, theirs = (
        torch_dcp.FileSystemReader(tmp_path / name).read_metadata() for name in "ab"
    )
    assert ours.state_dict_metadata == theirs.state_dict_metadata
    assert ours.planner_data == theirs.planner_data
    assert set(ours.storage_data) == set(theirs.storage_data)
    assert ours.version == theirs.version
    assert {i.relative_path for i in ours.storage_data.values()} == {"__0_0.distcp"}


def test_one_file(tmp_path):
    from torch.distributed.checkpoint import format_utils as theirs

    from ember.distributed.checkpoint import format_utils as ours

    torch.save(state(torch), tmp_path / "a.pt")
    quiet(ours.torch_save_to_dcp, tmp_path / "a.pt", tmp_path / "b")
    quiet(theirs.dcp_to_torch_save, tmp_path / "b", tmp_path / "c.pt")
    quiet(theirs.torch_save_to_dcp, tmp_path / "c.pt", tmp_path / "d")
    quiet(ours.dcp_to_torch_save, tmp_path / "d", tmp_path / "e.pt")
    found = ember.load(tmp_path / "e.pt")
    assert ember.equal(found["model"]["w"], state(ember)["model"]["w"])
    assert found["optim"]["param_groups"] == state(ember)["optim"]["param_groups"]
    assert found["list"][1] == "text"


def test_parts_of_several_ranks(tmp_path):
    """Boxes that torch's ranks would have written are put together here."""
    from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
    from torch.distributed.checkpoint.metadata import (
        ChunkStorageMetadata,
        MetadataIndex,
        TensorProperties,
    )
    from torch.distributed.checkpoint.planner import (
        SavePlan,
        TensorWriteData,
        WriteItem,
        WriteItemType,
    )

    whole = torch.arange(20.0).view(5, 4)
    rows = [0, 2, 5]

    class TwoBoxes(DefaultSavePlanner):
        def create_local_plan(self):
            items = []
            for start, end in itertools.pairwise(rows):
                box = ChunkStorageMetadata(
                    torch.Size([start, 0]), torch.Size([end - start, 4])
                )
                data = TensorWriteData(
                    box, TensorProperties(torch.float32), whole.shape
                )
                index = MetadataIndex("x", box.offsets)
                items.append(WriteItem(index, WriteItemType.SHARD, tensor_data=data))
            return SavePlan(items, planner_data={"x": ("x",)})

        def resolve_data(self, item):
            start, size = item.index.offset[0], item.tensor_data.chunk.sizes[0]
            return whole[start : start + size]

    quiet(
        torch_dcp.save,
        {"x": whole},
        checkpoint_id=tmp_path,
        planner=TwoBoxes(),
        no_dist=True,
    )
    found = {"x": ember.zeros(5, 4)}
    dcp.load(found, checkpoint_id=tmp_path, no_dist=True)
    assert found["x"].tolist() == whole.tolist()
