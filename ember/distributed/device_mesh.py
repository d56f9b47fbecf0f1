"""Processes in an array of several dimensions, each with its process groups.

A mesh of 2 x 4 processes with dimensions "dp" and "tp" has four groups of two along
"dp" and two groups of four along "tp"; every process is in one of each.

>>> import ember.distributed as dist
>>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
>>> mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
>>> mesh
DeviceMesh((dp=1, tp=1), 'cpu')
>>> mesh["tp"].get_local_rank()
0
>>> dist.destroy_process_group()
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import ember
from ember import Tensor
from ember.distributed import distributed_c10d as c10d
from ember.distributed._group import ProcessGroup

__all__ = ["DeviceMesh", "init_device_mesh"]


class _Entered(threading.local):
    """The meshes whose `with` blocks this thread is in."""

    def __init__(self) -> None:
        self.stack: list[DeviceMesh] = []

    def current(self) -> DeviceMesh:
        """The innermost mesh."""
        if not self.stack:
            raise RuntimeError("No device mesh is currently active!")
        return self.stack[-1]

    get_current_mesh = current

    def get_root_mesh(self, mesh: DeviceMesh) -> DeviceMesh:
        """The mesh that `mesh` is a part of."""
        return mesh._get_root_mesh()


_mesh_resources = _Entered()


class DeviceMesh:
    """Ranks in an array, and a process group for each dimension.

    `mesh` has the ranks, as a tensor or lists; every rank of the default group calls
    this, with the same arguments. A default group is made if there is none.
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
        _groups: Sequence[ProcessGroup] | None = None,
    ) -> None:
        if isinstance(mesh, Tensor) and mesh.device.type != "cpu":
            raise ValueError(f"`mesh` must be a CPU tensor, got {mesh}")
        ranks = mesh if isinstance(mesh, Tensor) else ember.tensor(mesh)
        self.device_type = device_type
        self.mesh = ranks.detach().to(ember.int64).contiguous()
        self.mesh_dim_names = _names(mesh_dim_names, self.mesh.ndim)
        self._root: DeviceMesh | None = None
        self._flat: dict[str, DeviceMesh] = {}  # of a root: what `_flatten` made
        self._groups: list[Any] = list(_groups or [])
        if _groups is None and _init_backend:
            _check_world(self.mesh)
            self._groups = [self._make_groups(dim) for dim in range(self.mesh.ndim)]
        self._rank = c10d.get_rank()
        places = (self.mesh == self._rank).nonzero().tolist()
        if len(places) > 1:
            raise RuntimeError(f"rank {self._rank} is in the mesh more than once")
        self._coordinate: list[int] | None = places[0] if places else None

    def _make_groups(self, dim: int) -> Any:
        """Groups along a dimension; the one of this process."""
        rows = self.mesh.swapdims(-1, dim).reshape(-1, self.mesh.size(dim)).tolist()
        world = c10d._get_default_group()
        if rows == [list(range(world.size()))]:
            return world
        name = f"mesh_{self.mesh_dim_names[dim] if self.mesh_dim_names else dim}"
        own = None
        for ranks in rows:
            made = c10d.new_group(ranks, group_desc=name)
            if not c10d._rank_not_in_group(made):
                own = made
        return own

    # --- what it is ---

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return tuple(self.mesh.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return self.mesh.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, along one dimension if given."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def get_rank(self) -> int:
        """The number of this process in the default group."""
        return self._rank

    def get_coordinate(self) -> list[int] | None:
        """Where this process is; None if it is not in the mesh."""
        return self._coordinate and list(self._coordinate)

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._coordinate is not None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, DeviceMesh) and self._key() == other._key()

    def _key(self) -> tuple:
        ranks = tuple(self.mesh.flatten().tolist())
        return self.device_type, self.shape, ranks, self.mesh_dim_names

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        sizes = [f"{n}={s}" for n, s in zip(names, self.shape)] if names else self.shape
        return f"DeviceMesh(({', '.join(map(str, sizes))}), '{self.device_type}')"

    def __enter__(self) -> DeviceMesh:
        _mesh_resources.stack.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _mesh_resources.stack.pop()

    def __reduce__(self) -> tuple:
        # Process groups stay where they are: whoever unpickles it has the ranks.
        return _unpickle, (self.device_type, self.mesh, self.mesh_dim_names)

    # --- groups ---

    def _dim(self, mesh_dim: int | str | None, what: str) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg "
                    f"`mesh_dim` needs to be specified when device_mesh.ndim > 1 for "
                    f"{what}()."
                )
            return 0
        if isinstance(mesh_dim, str):
            if mesh_dim not in (self.mesh_dim_names or ()):
                raise KeyError(
                    f"Invalid mesh_dim_name '{mesh_dim}' specified. Valid "
                    f"mesh_dim_names are {list(self.mesh_dim_names or ())}."
                )
            return (self.mesh_dim_names or ()).index(mesh_dim)
        if not -self.ndim <= mesh_dim < self.ndim:
            raise IndexError(f"{what}(): {self!r} has no dimension {mesh_dim}")
        return mesh_dim % self.ndim

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of this process along a dimension."""
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        if isinstance(mesh_dim, str) and mesh_dim not in (self.mesh_dim_names or ()):
            flat = self._get_root_mesh()._flat.get(mesh_dim)
            if flat is not None:
                return flat.get_group()
        return self._groups[self._dim(mesh_dim, "get_group")]

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this process along all dimensions."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Where this process is along a dimension."""
        return c10d.get_rank(self.get_group(mesh_dim))

    # --- parts ---

    def _get_root_mesh(self) -> DeviceMesh:
        return self._root or self

    def _get_root_mesh_dim(self) -> int | None:
        """Which dimension of its root a part of one dimension is."""
        names = self._get_root_mesh().mesh_dim_names or ()
        if self._root is None or not self.mesh_dim_names or len(self.shape) != 1:
            return None
        name = self.mesh_dim_names[0]
        return names.index(name) if name in names else None

    def _get_mesh_dim_by_name(self, name: str) -> int:
        return self._dim(name, "_get_mesh_dim_by_name")

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the mesh in which this process is, of the named dimensions."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        given = mesh_dim_names
        names = (given,) if isinstance(given, str) else tuple(given)
        if names == self.mesh_dim_names:
            return self
        root = self._get_root_mesh()
        if len(names) == 1 and names[0] in root._flat:
            return root._flat[names[0]]
        for name in names:
            if name not in self.mesh_dim_names:
                known = [*self.mesh_dim_names, *root._flat]
                raise KeyError(
                    f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names "
                    f"are {known}."
                )
        dims = [self.mesh_dim_names.index(name) for name in names]
        if dims != sorted(set(dims)):
            raise KeyError(
                f"Mesh dim indices should be in ascending order, but got {dims} for "
                f"{names}."
            )
        return self._part(dims, names)

    def _part(self, dims: list[int], names: tuple[str, ...] | None) -> DeviceMesh:
        if self._coordinate is None:
            raise RuntimeError(f"rank {self._rank} is not in {self!r}")
        at = tuple(
            slice(None) if dim in dims else place
            for dim, place in enumerate(self._coordinate)
        )
        made = DeviceMesh(
            self.device_type,
            self.mesh[at],
            mesh_dim_names=names,
            _groups=[self._groups[dim] for dim in dims],
        )
        made._root = self._get_root_mesh()
        return made

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """All dimensions as one, with a group for it. All ranks of the root call this.

        The root knows it by its name from then on: `mesh["dp_tp"]`.
        """
        root = self._get_root_mesh()
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ("flat",))
        if name in root._flat:
            return root._flat[name]
        if name in (root.mesh_dim_names or ()):
            if self.mesh_dim_names == (name,):
                return self
            raise ValueError(
                f"{name} already exists for submesh of the {root!r}. Please specify "
                "another valid mesh_dim_name."
            )
        if self.ndim == 1:
            groups = [self._groups[0]]
        else:
            rows = self._rows_of_root()
            made = [c10d.new_group(ranks, group_desc=f"mesh_{name}") for ranks in rows]
            groups = [g for g in made if not c10d._rank_not_in_group(g)]
        flat = DeviceMesh(
            self.device_type,
            self.mesh.flatten(),
            mesh_dim_names=(name,),
            _groups=groups,
        )
        flat._root = root
        root._flat[name] = flat
        return flat

    def _rows_of_root(self) -> list[list[int]]:
        """The ranks of every part of the root that is cut as this one is."""
        root = self._get_root_mesh()
        if root is self:
            return [self.mesh.flatten().tolist()]
        names = root.mesh_dim_names or ()
        dims = [names.index(name) for name in self.mesh_dim_names or ()]
        others = [dim for dim in range(root.ndim) if dim not in dims]
        ordered = root.mesh.permute(*others, *dims)
        return ordered.reshape(-1, self.mesh.numel()).tolist()

    @staticmethod
    def from_group(
        group: Any,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """A mesh of groups that exist: one group, or one for each dimension of `mesh`.

        >>> import ember.distributed as dist
        >>> store = dist.HashStore()
        >>> dist.init_process_group("gloo", store=store, rank=0, world_size=1)
        >>> dist.DeviceMesh.from_group(dist.group.WORLD, "cpu")
        DeviceMesh((1), 'cpu')
        >>> dist.destroy_process_group()
        """
        if isinstance(group, ProcessGroup):
            ranks = c10d.get_process_group_ranks(group)
            given = None if mesh is None else _as_list(mesh)
            if given is not None and given != ranks:
                raise ValueError(
                    f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks}"
                )
            groups = [group]
            mesh = ranks
        else:
            groups = list(group)
            if not groups:
                raise ValueError("Expects at least one ProcessGroup to be passed")
            if mesh is None:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            dims = mesh.ndim if isinstance(mesh, Tensor) else ember.tensor(mesh).ndim
            if dims != len(groups):
                raise ValueError(
                    "Expects mesh with ndim equal to number of ProcessGroups but got "
                    f"mesh {_as_list(mesh)} and {len(groups)} ProcessGroups"
                )
        return DeviceMesh(
            device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=groups
        )


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """A mesh of the first ranks in an array of this shape; one size may be -1."""
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique.",
                f"Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}",
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length!",
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and "
                f"len(mesh_shape):{len(mesh_shape)}.",
            )
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. "
            "If you maintained a 'torch.device' object, it's recommended to pass in "
            "'device.type'."
        )
    _start()
    shape = list(mesh_shape)
    if -1 in shape:
        shape[shape.index(-1)] = c10d.get_world_size() // -math.prod(shape)
    ranks = ember.arange(math.prod(shape)).view(shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)


def _start() -> None:
    if not c10d.is_initialized():
        c10d.init_process_group()


def _check_world(mesh: Tensor) -> None:
    _start()
    if mesh.numel() > c10d.get_world_size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size "
            f"{c10d.get_world_size()}, but found {mesh.numel()} ranks!"
        )


def _names(names: Sequence[str] | None, ndim: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if len(names) != ndim:
        raise RuntimeError(
            f"a mesh of {ndim} dimensions cannot have the names {tuple(names)}"
        )
    return tuple(names)


def _as_list(mesh: Any) -> list:
    return mesh.tolist() if isinstance(mesh, Tensor) else list(mesh)


def _unpickle(
    device_type: str, mesh: Tensor, names: tuple[str, ...] | None
) -> DeviceMesh:
    """A mesh from a file: its groups are made anew where it is the whole world."""
    if not c10d.is_initialized():
        raise RuntimeError(
            "a DeviceMesh can be unpickled where a default process group exists; call "
            "init_process_group first"
        )
    return DeviceMesh(device_type, mesh, mesh_dim_names=names)


def _get_device_handle(device_type: str = "cpu") -> Any:
    """The module of a device; None for the CPU, which needs no handle."""
    return getattr(ember, device_type, None) if device_type != "cpu" else None
