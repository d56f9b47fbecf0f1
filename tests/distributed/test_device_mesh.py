"""Meshes of processes, and the groups along their dimensions."""

import pytest

import ember
import ember.distributed as dist
from ember.distributed.device_mesh import DeviceMesh, _mesh_resources, init_device_mesh
from tests.distributed.ranks import needs_mpi, run

pytestmark = needs_mpi


def _two_dimensions(rank):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    assert mesh.shape == (2, 2) and mesh.ndim == 2 and mesh.size() == 4
    assert mesh.mesh.tolist() == [[0, 1], [2, 3]]
    assert mesh.get_coordinate() == [rank // 2, rank % 2]
    assert mesh.get_rank() == rank and mesh.size(1) == 2
    assert repr(mesh) == "DeviceMesh((dp=2, tp=2), 'cpu')"
    dp, tp = mesh["dp"], mesh["tp"]
    assert dp.mesh.tolist() == [rank % 2, rank % 2 + 2]
    assert tp.mesh.tolist() == [rank // 2 * 2, rank // 2 * 2 + 1]
    assert mesh.get_local_rank("dp") == dp.get_local_rank() == rank // 2
    assert mesh.get_group("tp") is tp.get_group() is mesh.get_group(1)
    assert mesh[("dp", "tp")] is mesh
    x = ember.tensor([float(rank)])
    dist.all_reduce(x, group=dp.get_group())
    assert x.item() == [2, 4][rank % 2]
    flat = mesh._flatten("all")
    assert mesh["all"] is flat and flat.size() == 4
    x = ember.ones(1)
    dist.all_reduce(x, group=flat.get_group())
    assert x.item() == 4
    with pytest.raises(KeyError, match="Invalid mesh_dim_name"):
        mesh["pp"]
    with pytest.raises(KeyError, match="ascending"):
        mesh[("tp", "dp")]
    with pytest.raises(RuntimeError, match="mesh_dim"):
        mesh.get_group()
    with mesh:
        assert _mesh_resources.get_current_mesh() is mesh
    with pytest.raises(RuntimeError, match="No device mesh"):
        _mesh_resources.get_current_mesh()
    assert DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp")) == mesh
    made = DeviceMesh.from_group([dp.get_group(), tp.get_group()], "cpu", mesh.mesh)
    assert made.get_group(0) is dp.get_group() and made != mesh


def test_two_dimensions_and_their_parts():
    run(_two_dimensions, 4)


def _three_dimensions(rank):
    mesh = init_device_mesh("cpu", (2, 1, -1), mesh_dim_names=("pp", "dp", "tp"))
    assert mesh.shape == (2, 1, 2)
    both = mesh["dp", "tp"]
    assert both.shape == (1, 2)
    flat = both._flatten("dp_tp")
    assert flat.mesh.tolist() == both.mesh.flatten().tolist()
    x = ember.tensor([rank])
    dist.all_reduce(x, group=mesh["dp_tp"].get_group())
    assert x.item() == sum(flat.mesh.tolist())
    assert both["tp"]._get_root_mesh() is mesh
    assert mesh["tp"]._get_root_mesh_dim() == 2


def test_flattened_parts_have_a_group():
    run(_three_dimensions, 4)


def _refusals(rank):
    with pytest.raises(RuntimeError, match="must be unique"):
        init_device_mesh("cpu", (1, 2), mesh_dim_names=("a", "a"))
    with pytest.raises(RuntimeError, match="same length"):
        init_device_mesh("cpu", (2,), mesh_dim_names=("a", "b"))
    with pytest.raises(RuntimeError, match="index"):
        init_device_mesh("cpu:0", (2,))
    with pytest.raises(RuntimeError, match="bigger than default world size"):
        init_device_mesh("cpu", (3,))
    mesh = init_device_mesh("cpu", (2,))
    with pytest.raises(RuntimeError, match="without mesh_dim_names"):
        mesh["a"]
    with pytest.raises(ValueError, match="Invalid mesh"):
        DeviceMesh.from_group(mesh.get_group(), "cpu", [1, 0, 2])


def test_what_cannot_be_a_mesh():
    run(_refusals, 2)
