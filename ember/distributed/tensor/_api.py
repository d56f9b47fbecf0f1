"""`DTensor`: one tensor on the processes of a mesh, each of which has a part of it.

Note [Distributed tensors]
The object itself is a tensor on the `meta` device, with the shape of the whole, so that
code which goes past `__torch_function__` fails instead of computing with a part. The
part of this process is `_local_tensor`, which has the history and the gradient. Every
op arrives in `__torch_function__`; `_dispatch.py` looks up how it goes with placements
(`_rules.py`), brings its inputs into those that it needs, and runs it on the parts.
What gradients mean then is in Note [Gradients of placements].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import ember
from ember import _C, Tensor
from ember.distributed.device_mesh import DeviceMesh, _mesh_resources
from ember.distributed.tensor._redistribute import redistribute
from ember.distributed.tensor.placement_types import (
    DTensorSpec,
    Partial,
    Placement,
    Replicate,
    Shard,
    TensorMeta,
    cut,
    local_shape,
    normal,
)
from ember.nn import Parameter


@cache
def _dispatch() -> Callable[..., Any]:
    """What runs ops, with its rules, which are loaded when the first op is run."""
    from ember.distributed.tensor import _rules
    from ember.distributed.tensor._dispatch import dispatch

    assert _rules.RULES
    return dispatch


class DTensor(Tensor):
    """A tensor that lies on the processes of a mesh; `distribute_tensor` and
    `from_local` make it. See Note [Distributed tensors]."""

    _local_tensor: Tensor
    _mesh: DeviceMesh
    _placements: tuple[Placement, ...]
    _size: ember.Size  # of the whole, to be read without a dispatch

    def __new__(cls, *args: Any, **kwargs: Any) -> DTensor:
        raise TypeError(
            "DTensor cannot be called; use DTensor.from_local or distribute_tensor"
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore
        return _dispatch()(func, args, kwargs or {})

    # --- what it is ---

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh that it lies on."""
        return self._mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies along each dimension of the mesh."""
        return self._placements

    @property
    def _spec(self) -> DTensorSpec:
        meta = TensorMeta(tuple(self.shape), self.stride(), self.dtype)
        return DTensorSpec(self._mesh, self._placements, meta)

    shape = property(lambda self: self._size)
    ndim = property(lambda self: len(self._size))
    device = property(lambda self: self._local_tensor.device)
    is_cpu = property(lambda self: self._local_tensor.is_cpu)
    is_cuda = property(lambda self: self._local_tensor.is_cuda)
    is_meta = property(lambda self: self._local_tensor.is_meta)
    grad_fn = property(lambda self: self._local_tensor.grad_fn)
    is_leaf = property(lambda self: self._local_tensor.is_leaf)
    _version = property(lambda self: self._local_tensor._version)
    T = property(lambda self: self.permute(*reversed(range(self.dim()))))
    mT = property(lambda self: self.transpose(-2, -1))
    H = property(lambda self: self.transpose(0, 1).conj())
    mH = property(lambda self: self.transpose(-2, -1).conj())

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self._size)

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]
        """The sizes of the whole, or one of them."""
        return self._size if dim is None else self._size[dim]

    def numel(self) -> int:
        """Number of elements of the whole."""
        return self._size.numel()

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        """Whether a gradient is wanted."""
        return self._local_tensor.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._local_tensor.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> DTensor:
        """Set whether a gradient is wanted; itself."""
        self._local_tensor.requires_grad_(requires_grad)
        return self

    def _like(self, local: Tensor) -> DTensor:
        """A gradient of this tensor, from its local part."""
        return wrap(local, self._mesh, _gradient(self._placements), self.shape)

    @property
    def grad(self) -> DTensor | None:  # type: ignore[override]
        """The gradient, in the same placements."""
        local = self._local_tensor.grad
        return None if local is None else self._like(local)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        self._local_tensor.grad = local_gradient(self, value)

    @property
    def data(self) -> DTensor:  # type: ignore[override]
        """The same values, without history."""
        return wrap(self._local_tensor.data, self._mesh, self._placements, self.shape)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, DTensor):
            raise TypeError("the data of a DTensor are those of another DTensor")
        before = _C._switch_overrides(True, True)
        try:
            whole = _whole(tuple(value.shape), value._local_tensor)
            Tensor.data.__set__(self, whole)  # type: ignore[attr-defined]
        finally:
            _C._switch_overrides(*before)
        self._size = value._size
        self._local_tensor.data = value._local_tensor.detach()
        self._mesh, self._placements = value._mesh, value._placements

    # --- gradients ---

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the gradients of this tensor to those of the leaves."""
        gradient = local_gradient(self, gradient)
        if inputs is not None:
            many = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            inputs = [t._local_tensor if isinstance(t, DTensor) else t for t in many]
        self._local_tensor.backward(gradient, retain_graph, create_graph, inputs)

    def register_hook(self, hook: Callable) -> Any:
        """Call `hook(grad)` when the gradient is there; it may return another."""

        def local_hook(grad: Tensor) -> Tensor | None:
            return local_gradient(self, hook(self._like(grad)))

        return self._local_tensor.register_hook(local_hook)

    def register_post_accumulate_grad_hook(self, hook: Callable) -> Any:
        """Call `hook(self)` when the gradient was added to `grad`."""
        return self._local_tensor.register_post_accumulate_grad_hook(
            lambda _: hook(self)
        )

    def retain_grad(self) -> None:
        """Keep the gradient although this is not a leaf."""
        self._local_tensor.retain_grad()

    # --- other placements ---

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        """The tensor of which every process has a part; gradients flow to the parts.

        `shape` is needed if the parts are not all of one size.

        >>> import ember, ember.distributed as dist
        >>> from ember.distributed.tensor import DTensor, Shard
        >>> store = dist.HashStore()
        >>> dist.init_process_group("gloo", store=store, rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> DTensor.from_local(ember.ones(2), mesh, [Shard(0)]).sum().full_tensor()
        tensor(2.)
        >>> dist.destroy_process_group()
        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(
                "the local_tensor argument only accepts torch.Tensor but got DTensor"
            )
        mesh = device_mesh or _mesh_resources.current()
        given = placements or [Replicate()] * mesh.ndim
        placed = normal(given, local_tensor.dim())
        _fits(mesh, placed)
        if shape is None:
            sizes = list(local_tensor.shape)
            for at, placement in enumerate(placed):
                if isinstance(placement, Shard):
                    sizes[placement.dim] *= mesh.size(at)
        else:
            sizes = list(shape)
            mine = local_shape(sizes, mesh, placed)
            if mine != list(local_tensor.shape):
                raise RuntimeError(
                    f"from_local(): of a tensor of shape {sizes} this process has "
                    f"{mine}, not {list(local_tensor.shape)}"
                )
        if run_check:
            local_tensor = _same_everywhere(local_tensor, mesh, placed)
        local = local_tensor.view_as(local_tensor)
        return wrap(local, mesh, placed, sizes, stride=stride)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The part of this process; gradients flow back.

        `grad_placements` says how the gradients of the parts will lie, if not as the
        parts do: `[Partial()]` if the processes use copies for different things.
        """
        local = self._local_tensor
        if grad_placements is None:
            return local.view_as(local)
        mine = _gradient(self._placements)
        given = normal(grad_placements, self.dim())
        if mine == given:
            return local.view_as(local)
        return _ToLocal.apply(local, self._mesh, self.shape, given, mine)

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor in other placements."""
        if device_mesh is not None and device_mesh != self._mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        placed = normal(placements, self.dim())
        _fits(self._mesh, placed)
        for old, new in zip(self._placements, placed):
            if new.is_partial() and old != new:
                raise RuntimeError("Can not redistribute to Partial!")
        source: Any = self if forward_dtype is None else self.to(forward_dtype)
        local = redistribute(
            source._local_tensor, self.shape, self._mesh, self._placements, placed
        )
        if local is source._local_tensor:
            local = local.view_as(local)
        return wrap(local, self._mesh, placed, self.shape)

    def full_tensor(
        self, *, grad_placements: Sequence[Placement] | None = None
    ) -> Tensor:
        """The whole, on every process."""
        everywhere = [Replicate()] * self._mesh.ndim
        whole = self.redistribute(placements=everywhere)
        return whole.to_local(grad_placements=grad_placements)

    # --- copies ---

    def _as_parameter(self, requires_grad: bool) -> DTensor:
        """What `Parameter(self)` makes."""
        local = self._local_tensor.detach().requires_grad_(requires_grad)
        return wrap(local, self._mesh, self._placements, self.shape, DParameter)

    def __deepcopy__(self, memo: dict) -> DTensor:
        if id(self) in memo:
            return memo[id(self)]
        local = self._local_tensor.detach().clone().requires_grad_(self.requires_grad)
        made = wrap(local, self._mesh, self._placements, self.shape, type(self))
        if self._local_tensor.grad is not None:
            made._local_tensor.grad = self._local_tensor.grad.clone()
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple:
        local = self._local_tensor.detach()
        place = self._mesh, self._placements, tuple(self.shape)
        return _rebuild, (local, *place, type(self), self.requires_grad)

    def __repr__(self) -> str:
        return (
            f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._mesh!r}, "
            f"placements={self._placements})"
        )

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(self.full_tensor(), spec) if spec else str(self)

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        """Not possible: no process has all of it."""
        raise RuntimeError(
            "a DTensor has no array of its own: call full_tensor() or to_local() first"
        )


class DParameter(DTensor, Parameter):
    """A DTensor that is a parameter of a module."""


class _ToLocal(ember.autograd.Function):
    """The local tensor, whose gradients lie otherwise than it does."""

    @staticmethod
    def forward(
        ctx: Any, local: Tensor, mesh: Any, shape: Any, given: Any, mine: Any
    ) -> Tensor:
        ctx.args = shape, mesh, given, mine
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return redistribute(grad, *ctx.args), None, None, None, None


def _gradient(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """How a gradient lies. See Note [Gradients of placements]."""
    return tuple(Replicate() if p.is_partial() else p for p in placements)


def local_gradient(tensor: Tensor, grad: Tensor | None) -> Tensor | None:
    """The part of this process of a gradient of `tensor`."""
    if not isinstance(tensor, DTensor) or not isinstance(grad, DTensor):
        return grad
    wanted = _gradient(tensor._placements)
    return grad.redistribute(tensor._mesh, wanted)._local_tensor


def _whole(
    shape: Sequence[int], local: Tensor, stride: Sequence[int] | None = None
) -> Tensor:
    if stride is None:
        return _C.empty(tuple(shape), dtype=local.dtype, device="meta")
    return ember.empty_strided(
        tuple(shape), tuple(stride), dtype=local.dtype, device="meta"
    )


def wrap(
    local: Tensor,
    mesh: DeviceMesh,
    placements: Sequence[Placement],
    shape: Sequence[int],
    kind: type[DTensor] = DTensor,
    stride: Sequence[int] | None = None,
) -> DTensor:
    """The DTensor of this shape of which `local` is the part of this process."""
    before = _C._switch_overrides(True, True)
    try:
        made = Tensor._make_subclass(kind, _whole(shape, local, stride), False)
    finally:
        _C._switch_overrides(*before)
    made._local_tensor, made._mesh = local, mesh
    made._size = ember.Size(shape)
    made._placements = tuple(placements)
    return made


def _rebuild(
    local: Tensor,
    mesh: DeviceMesh,
    placements: tuple[Placement, ...],
    shape: tuple[int, ...],
    kind: type[DTensor],
    requires_grad: bool,
) -> DTensor:
    return wrap(local.requires_grad_(requires_grad), mesh, placements, shape, kind)


def _fits(mesh: DeviceMesh, placements: Sequence[Placement]) -> None:
    if len(placements) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! Found "
            f"placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )


def _same_everywhere(
    local: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]
) -> Tensor:
    """Copies as those of the first rank along each dimension."""
    for at, placement in enumerate(placements):
        if placement.is_replicate():
            local = local.detach().clone(memory_format=ember.contiguous_format)
            mesh.get_group(at).broadcast([local], root=0).wait()
    return local


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """A tensor that every process has, as a DTensor; the values are those of the rank
    `src_data_rank` along each mesh dimension, or of each process if it is None.

    >>> import ember, ember.distributed as dist
    >>> from ember.distributed.tensor import Shard, distribute_tensor
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> distribute_tensor(ember.arange(3.0), mesh, [Shard(0)]).to_local()
    tensor([0., 1., 2.])
    >>> dist.destroy_process_group()
    """
    mesh = device_mesh or _mesh_resources.current()
    placed = normal(placements or [Replicate()] * mesh.ndim, tensor.dim())
    _fits(mesh, placed)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(
                f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} "
                f"to a different device mesh {mesh}."
            )
        if tensor.placements != placed:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to a "
                f"different placements {placed}. do you want to call `redistribute` "
                "instead?"
            )
        return tensor
    local = tensor.detach()
    for at, placement in enumerate(placed):
        local = _spread(local, placement, mesh, at, src_data_rank)
    if local.data_ptr() == tensor.data_ptr() or not local.is_contiguous():
        local = local.clone(memory_format=ember.contiguous_format)
    local = local.requires_grad_(tensor.requires_grad)
    kind = DParameter if isinstance(tensor, Parameter) else DTensor
    return wrap(local, mesh, placed, tensor.shape, kind)


def _spread(
    local: Tensor, placement: Placement, mesh: DeviceMesh, at: int, root: int | None
) -> Tensor:
    """What this process gets of a tensor along one mesh dimension."""
    if isinstance(placement, Partial):
        raise RuntimeError(
            f"Trying to distribute tensor with unsupported placements {placement} on "
            f"device mesh dimension {at}!"
        )
    group = mesh.get_group(at)
    if not isinstance(placement, Shard):
        if root is not None:
            local = local.clone(memory_format=ember.contiguous_format)
            group.broadcast([local], root=root).wait()
        return local
    own = cut(local, placement.dim, group.size(), group.rank())
    if root is None or group.size() == 1:
        return own
    parts, _ = placement._split_tensor(local, group.size())
    out = ember.empty_like(parts[0])
    group.scatter([out], [parts] if group.rank() == root else [], root=root).wait()
    return out.narrow(placement.dim, 0, own.size(placement.dim))
