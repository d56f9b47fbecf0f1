"""The parameters of one module, cut over the ranks and put together when they are used.

Between uses a rank has the part of each parameter, a DTensor, which the optimizer
knows. `unshard` gathers the parts of all of them with one collective and puts plain
parameters in their place; `reshard` takes these away again and frees their memory by
resizing the storage, since the graph still refers to the tensors. They are gathered
into the same storage for the backward pass. `reduce` averages their gradients and gives
each rank its part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ember
from ember import Tensor, nn
from ember.distributed._options import RedOpType
from ember.distributed._work import Work
from ember.distributed.device_mesh import DeviceMesh
from ember.distributed.fsdp.api import MixedPrecisionPolicy
from ember.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from ember.distributed.tensor._api import DParameter, wrap
from ember.distributed.tensor.placement_types import cut, padded


class Param:
    """One parameter: its part, its whole, and the modules that have it."""

    def __init__(
        self, param: nn.Parameter, owners: list[tuple[nn.Module, str]], dim: int,
        mesh: DeviceMesh, dtype: Any,
    ) -> None:  # fmt: skip
        self.owners, self.dim = owners, dim
        self.requires_grad = param.requires_grad
        given = param._local_tensor if isinstance(param, DTensor) else param
        self.shape, self.dtype = tuple(given.shape), dtype or param.dtype
        self.outer = param if isinstance(param, DTensor) else None
        self.sharded: Any  # what the optimizer knows
        self._make_whole(given.device)
        if isinstance(param, DTensor):
            self._cut_further(param, mesh)
        else:
            ways = [Replicate()] * (mesh.ndim - 1)
            self.sharded = distribute_tensor(
                param, mesh, [*ways, Shard(dim)], src_data_rank=None
            )
        group = mesh.get_group(mesh.ndim - 1)
        self.rows = -(-self.shape[dim] // group.size())  # of the largest part
        self.padded_shape = [*self.shape]
        self.padded_shape[dim] = self.rows
        self.numel = ember.Size(self.padded_shape).numel()

    def _cut_further(self, param: DTensor, mesh: DeviceMesh) -> None:
        """A parameter that tensor parallelism has cut: its parts lie in parts."""
        group = mesh.get_group(mesh.ndim - 1)
        part = cut(param._local_tensor.detach(), self.dim, group.size(), group.rank())
        part = part.clone(memory_format=ember.contiguous_format)
        part.requires_grad_(self.requires_grad)
        placed = (*param._placements, Shard(self.dim))
        both = _outer_and_inner(param._mesh, mesh)
        self.sharded = wrap(
            part.requires_grad_(self.requires_grad),
            both,
            placed,
            param.shape,
            DParameter,
        )

    def _make_whole(self, device: Any) -> None:
        whole = ember.empty(self.shape, dtype=self.dtype, device=device)
        self.whole = nn.Parameter(whole, requires_grad=self.requires_grad)
        self.memory = self.whole.data  # the same, with a version count of its own
        self.storage = whole.untyped_storage()
        self.bytes = self.storage.nbytes()
        self.shown: Any = self.whole  # what the module computes with
        if (p := self.outer) is not None:
            self.shown = wrap(self.whole, p._mesh, p._placements, p.shape, DParameter)

    def renewed(self) -> bool:
        """Follow what became of the part since: another parameter in its place (by
        `load_state_dict(assign=True)`), or another device (by `to_empty`). Whether the
        whole is another one now."""
        module, name = self.owners[0]
        now = module._parameters.get(name)
        if now is not self.sharded and isinstance(now, DTensor):
            self.sharded = now
            self.use(now)
        device = self.sharded._local_tensor.device
        if device == self.whole.device:
            return False
        self._make_whole(device)
        self.storage.resize_(0)
        return True

    def part(self, dtype: Any) -> Tensor:
        """The part of this rank, padded, as one row."""
        local = self.sharded._local_tensor.detach()
        return padded(local.to(dtype), self.dim, self.rows).flatten()

    def fill(self, rows: Tensor) -> None:
        """Take the whole from the padded parts of all ranks."""
        parts = rows.view(rows.size(0), *self.padded_shape)
        joined = parts.flatten(0, 1) if self.dim == 0 else ember.cat(
            parts.unbind(), self.dim
        )  # fmt: skip
        self.memory.copy_(joined.narrow(self.dim, 0, self.shape[self.dim]))

    def rows_of_grad(self, ranks: int, dtype: Any) -> Tensor:
        """The gradient as one row for each rank, padded; zeros if there is none."""
        grad = self.whole.grad
        if grad is None:
            return ember.zeros(ranks, self.numel, dtype=dtype)
        grad = grad.detach().to(dtype)
        if self.dim == 0:
            full = padded(grad, 0, self.rows * ranks)
            return full.reshape(ranks, self.numel)
        parts = [cut(grad, self.dim, ranks, rank) for rank in range(ranks)]
        rows = [padded(p, self.dim, self.rows).reshape(-1) for p in parts]
        return ember.stack(rows)

    def take_grad(self, row: Tensor) -> None:
        """Add this rank's row of the reduced gradient to that of the part."""
        local = self.sharded._local_tensor
        grad = row.view(self.padded_shape).narrow(self.dim, 0, local.size(self.dim))
        grad = grad.to(local.dtype)
        if local.grad is None:
            local.grad = grad.clone(memory_format=ember.contiguous_format)
        else:
            local.grad.add_(grad)

    def use(self, param: Any) -> None:
        """Let the modules have this one."""
        for module, name in self.owners:
            module._parameters[name] = param


def _outer_and_inner(outer: DeviceMesh, inner: DeviceMesh) -> DeviceMesh:
    """The mesh of two of its dimensions, the one that cuts first before the other."""
    root = outer._get_root_mesh()
    names = [*(outer.mesh_dim_names or ()), *(inner.mesh_dim_names or ())]
    if root is not inner._get_root_mesh() or len(names) != 2:
        raise NotImplementedError(
            "fully_shard(): parameters that are DTensors need a mesh of one dimension, "
            'from the same mesh as theirs: mesh["tp"] for parallelize_module, '
            f'mesh["dp"] for fully_shard; got {outer!r} and {inner!r}'
        )
    ordered = sorted(names, key=(root.mesh_dim_names or ()).index)
    ranks = root[tuple(ordered)].mesh
    return DeviceMesh(
        outer.device_type,
        ranks if ordered == names else ranks.T,
        mesh_dim_names=names,
        _groups=[outer.get_group(), inner.get_group()],
    )


class ParamGroup:
    """Parameters that are gathered and reduced together."""

    def __init__(
        self,
        params: Sequence[tuple[nn.Parameter, list[tuple[nn.Module, str]]]],
        mesh: DeviceMesh,
        policy: MixedPrecisionPolicy,
        placement: Callable[[nn.Parameter], Any] | None,
    ) -> None:
        self.mesh, self.policy = mesh, policy
        self.group = mesh.get_group(mesh.ndim - 1)
        self.copies = mesh.get_group(0) if mesh.ndim == 2 else None
        self.params: list[Param] = []
        for param, owners in params:
            chosen = placement(param) if placement is not None else None
            dim = 0 if chosen is None else chosen.dim % param.dim()
            dtype = policy.param_dtype if param.is_floating_point() else None
            self.params.append(Param(param, owners, dim, mesh, dtype))
        self.trained = [p for p in self.params if p.requires_grad]
        self.unsharded = True
        self.gathering: tuple[Work, Tensor, list[Param]] | None = None
        self.reducing: tuple[Work | None, Tensor, list[Param]] | None = None
        self.sync, self.all_reduce, self.factor = True, True, None
        self.arrived = 0
        for p in self.trained:
            self._listen(p)
        self.reshard()

    def _listen(self, p: Param) -> None:
        p.whole.register_post_accumulate_grad_hook(self._arrival)

    # --- gathering ---

    def begin_unshard(self) -> None:
        """Begin to gather, unless that was done."""
        if self.unsharded or self.gathering is not None or not self.params:
            return
        for p in self.params:
            if p.renewed() and p.requires_grad:
                self._listen(p)
        dtypes = {p.whole.dtype for p in self.params}
        if len(dtypes) > 1:
            raise RuntimeError(
                "fully_shard(): all parameters of a group must have one dtype, found "
                f"{sorted(map(str, dtypes))}; apply it to the submodules apart"
            )
        (dtype,) = dtypes
        mine = ember.cat([p.part(dtype) for p in self.params])
        rows = mine.new_empty((self.group.size(), mine.numel()))
        work = self.group._allgather_base(rows, mine)
        self.gathering = work, rows, self.params

    @ember.no_grad()
    def unshard(self) -> None:
        """Put the whole parameters in place."""
        if self.unsharded:
            return
        self.begin_unshard()
        if self.gathering is not None:
            work, rows, params = self.gathering
            self.gathering = None
            work.wait()
            sizes = [p.numel for p in params]
            for p, columns in zip(params, rows.split(sizes, 1)):
                p.storage.resize_(p.bytes)
                p.fill(columns)
        for p in self.params:
            p.use(p.shown)
        self.unsharded = True

    def reshard(self) -> None:
        """Put the parts in place and free the whole parameters."""
        if not self.unsharded:
            return
        for p in self.params:
            p.use(p.sharded)
            p.storage.resize_(0)
        self.unsharded = False

    # --- gradients ---

    def _arrival(self, _: Tensor) -> None:
        self.arrived += 1
        if self.arrived == len(self.trained):
            self.begin_reduce()

    @ember.no_grad()
    def begin_reduce(self) -> None:
        """Begin to average the gradients that are there; zeros stand for others."""
        self.arrived = 0
        if not self.sync or all(p.whole.grad is None for p in self.trained):
            return
        self.finish_reduce()
        dtype = self.policy.reduce_dtype or self.trained[0].whole.dtype
        ranks = self.group.size()
        rows = [p.rows_of_grad(ranks, dtype) for p in self.trained]
        given = ember.cat(rows, 1)
        for p in self.trained:
            p.whole.grad = None
        mine = given.new_empty(given.size(1))
        op = RedOpType.AVG
        if self.factor is not None:
            given, op = given / self.factor, RedOpType.SUM
        work = self.group._reduce_scatter_base(mine, given, op=op)
        self.reducing = work, mine, self.trained

    @ember.no_grad()
    def finish_reduce(self) -> None:
        """Wait, and let the parts have their gradients."""
        if self.reducing is None:
            return
        work, mine, params = self.reducing
        self.reducing = None
        if work is not None:
            work.wait()
        if self.copies is not None and self.all_reduce:
            op = RedOpType.AVG if self.factor is None else RedOpType.SUM
            self.copies.allreduce([mine], op).wait()
        for p, row in zip(params, mine.split([p.numel for p in params])):
            p.take_grad(row)
