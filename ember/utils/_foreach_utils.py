"""Lists of tensors grouped by device and dtype, for optimizers of other libraries."""

from __future__ import annotations

from collections.abc import Sequence

import ember
from ember import Tensor

Indices = list[int]
TensorListList = Sequence[Sequence[Tensor | None]]
_Key = tuple[ember.device, ember.dtype]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Kinds of devices on which optimizers should prefer `foreach=True`."""
    return ["cuda", "xpu"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Kinds of devices whose optimizers have fused steps."""
    return ["cpu", "cuda", "opencl", "xpu"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[_Key, tuple[list[list[Tensor | None]], Indices]]:
    """The lists, split by device and dtype of the tensors of the first one.

    Entry i of each list goes with tensor i of the first; it may be None. The indices
    say where in the lists the entries were, and are empty unless asked for.

    >>> import ember
    >>> from ember.utils._foreach_utils import _group_tensors_by_device_and_dtype
    >>> a, b = ember.ones(2), ember.ones(2, dtype=ember.float64)
    >>> groups = _group_tensors_by_device_and_dtype([[a, b, a]], with_indices=True)
    >>> [indices for _, indices in groups.values()]
    [[0, 2], [1]]
    """
    if not tensorlistlist or not tensorlistlist[0]:
        return {}
    first = tensorlistlist[0]
    for other in tensorlistlist:
        if other and len(other) != len(first):
            raise RuntimeError(
                f"nested_tensorlist[0] has {len(first)} tensors, but another list has "
                f"{len(other)}: tensors of a group must be as many in each list"
            )
    groups: dict[_Key, tuple[list[list[Tensor | None]], Indices]] = {}
    for i, tensor in enumerate(first):
        if tensor is None:
            raise RuntimeError(
                f"Tensors of the first list must be defined, but {i} is not"
            )
        key = (tensor.device, tensor.dtype)
        if key not in groups:
            groups[key] = ([[] for _ in tensorlistlist], [])
        lists, indices = groups[key]
        for part, other in zip(lists, tensorlistlist, strict=True):
            if other:
                part.append(other[i])
        if with_indices:
            indices.append(i)
    return groups


def _device_has_foreach_support(device: ember.device) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: Sequence[Tensor], device: ember.device) -> bool:
    """Can `_foreach_*` functions take these tensors?"""
    return _device_has_foreach_support(device) and all(
        t is None or type(t) in (Tensor, ember.nn.Parameter) for t in tensors
    )
