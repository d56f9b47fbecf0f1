"""DTensors of constants and random numbers, and modules of DTensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ember
from ember import nn
from ember.distributed.device_mesh import DeviceMesh, _mesh_resources
from ember.distributed.tensor._api import DTensor, distribute_tensor, wrap
from ember.distributed.tensor._redistribute import redistribute
from ember.distributed.tensor.placement_types import (
    Placement,
    Replicate,
    local_shape,
    normal,
)


def _make(
    make: Callable[..., ember.Tensor],
    size: Sequence[Any],
    mesh: DeviceMesh | None,
    placements: Sequence[Placement] | None,
    options: dict[str, Any],
    whole: bool = False,
) -> DTensor:
    """`make(shape)` for the part of this process, or for the whole and then cut."""
    shape = list(size[0] if size and not isinstance(size[0], int) else size)
    mesh = mesh or _mesh_resources.current()
    placed = normal(placements or [Replicate()] * mesh.ndim, len(shape))
    if any(p.is_partial() for p in placed):
        raise RuntimeError("a new DTensor can be Shard or Replicate, not Partial")
    wants_grad = options.pop("requires_grad", False)
    options.setdefault("device", mesh.device_type)
    if options.pop("layout", ember.strided) is not ember.strided:
        raise NotImplementedError("DTensors are strided")
    if whole:
        everywhere = [Replicate()] * mesh.ndim
        local = redistribute(make(shape, **options), shape, mesh, everywhere, placed)
    else:
        local = make(local_shape(shape, mesh, placed), **options)
    return wrap(local.requires_grad_(wants_grad), mesh, placed, shape)


def zeros(
    *size: Any,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    **options: Any,
) -> DTensor:
    """Zeros."""
    return _make(ember.zeros, size, device_mesh, placements, options)


def ones(
    *size: Any,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    **options: Any,
) -> DTensor:
    """Ones."""
    return _make(ember.ones, size, device_mesh, placements, options)


def empty(
    *size: Any,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    **options: Any,
) -> DTensor:
    """Memory with whatever is in it."""
    return _make(ember.empty, size, device_mesh, placements, options)


def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    **options: Any,
) -> DTensor:
    """One value everywhere."""

    def make(shape: Sequence[int], **given: Any) -> ember.Tensor:
        return ember.full(shape, fill_value, **given)

    return _make(make, (size,), device_mesh, placements, options)


def rand(
    *size: Any,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    **options: Any,
) -> DTensor:
    """Uniform random numbers: those that one process would get, if all have its
    seed."""
    return _make(ember.rand, size, device_mesh, placements, options, whole=True)


def randn(
    *size: Any,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    **options: Any,
) -> DTensor:
    """Normal random numbers: those that one process would get, if all have its seed."""
    return _make(ember.randn, size, device_mesh, placements, options, whole=True)


def distribute_module(
    module: nn.Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, nn.Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[nn.Module, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[nn.Module, Any, DeviceMesh], Any] | None = None,
) -> nn.Module:
    """Make the parameters and buffers of a module DTensors, in place.

    `partition_fn(name, submodule, mesh)` replaces parameters of its choice; the others
    are replicated. `input_fn` and `output_fn` change what goes into the module and what
    comes out of it.
    """
    mesh = device_mesh or _mesh_resources.current()
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        replicate(part, mesh)
    if input_fn is not None:
        change_in = input_fn
        module.register_forward_pre_hook(lambda m, args: change_in(m, args, mesh))
    if output_fn is not None:
        change_out = output_fn
        module.register_forward_hook(lambda m, args, out: change_out(m, out, mesh))
    return module


def replicate(module: nn.Module, mesh: DeviceMesh) -> None:
    """Make the plain parameters and buffers of one module DTensors, replicated."""
    everywhere = [Replicate()] * mesh.ndim
    for table in (module._parameters, module._buffers):
        for name, t in list(table.items()):  # type: ignore[attr-defined]
            if t is not None and not isinstance(t, DTensor):
                table[name] = distribute_tensor(t, mesh, everywhere)  # type: ignore
