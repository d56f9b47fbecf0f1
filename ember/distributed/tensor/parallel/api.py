"""`parallelize_module`: a plan of styles for the parts of a model."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch

from ember import nn
from ember.distributed.device_mesh import DeviceMesh, _mesh_resources
from ember.distributed.tensor.parallel.style import ParallelStyle


def parallelize_module(
    module: nn.Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> nn.Module:
    """Cut a module as a style says, or its parts as a plan of names and styles does.

    Each part of a dotted name may have the wildcards of `fnmatch`:
    `"layers.*.feed_forward.w1"`.
    """
    mesh = device_mesh or _mesh_resources.current()
    if mesh.ndim != 1:
        raise ValueError(
            f"Tensor Parallel only accepts a 1D DeviceMesh, but found {mesh.ndim}D! "
            "If you have a 2-D or N-D device_mesh, consider passing in "
            'device_mesh["tp"]'
        )
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the "
            "moment, so this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for "
            f"parallelize_plan, {type(parallelize_plan)} found!"
        )
    for name, style in parallelize_plan.items():
        found = _find(module, name.split(".")) if name else [module]
        if not found:
            warnings.warn(
                f"Parallelize plan key '{name}' could not be resolved: no submodule "
                f"matching token '{name}' in module {type(module).__name__}.",
                stacklevel=2,
            )
        for part in found:
            style.src_data_rank = src_data_rank
            style._apply(part, mesh)
    return module


def _find(module: nn.Module, path: list[str]) -> list[nn.Module]:
    """The submodules that a path of patterns leads to."""
    if not path:
        return [module]
    return [
        found
        for name, child in module.named_children()
        if fnmatch(name, path[0])
        for found in _find(child, path[1:])
    ]
