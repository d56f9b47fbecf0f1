"""Indexing as a sequence of ops, for those who write ops down or take them over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember

Call = Callable[..., Any]  # (name in aten, function, arguments)


def getitem(call: Call, tensor: Any, key: Any, where: str) -> Any:
    """`tensor[key]` by `slice`, `select`, `unsqueeze` and `index`."""
    tensor, indices, changed = _views(call, tensor, key, where)
    if indices:
        return call("index", _index, (tensor, indices))
    return tensor if changed else call("alias", _alias, (tensor,))


def setitem(call: Call, tensor: Any, key: Any, value: Any, where: str) -> None:
    """`tensor[key] = value` by views and `copy_` or `index_put_`."""
    if not isinstance(value, ember.Tensor):
        value = ember.tensor(value, dtype=tensor.dtype, device=tensor.device)
    view, indices, _ = _views(call, tensor, key, where)
    if indices:
        call("index_put_", _index_put, (view, indices, value))
    else:
        call("copy_", ember.Tensor.copy_, (view, value))


def _views(call: Call, tensor: Any, key: Any, where: str) -> tuple[Any, list, bool]:
    """The view that a key takes, what is left of it for `index`, whether it is one."""
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [
        ember.tensor(k, device=tensor.device) if isinstance(k, list) else k
        for k in keys
    ]
    used = sum(
        k.dim() if isinstance(k, ember.Tensor) and k.dtype == ember.bool else 1
        for k in keys
        if k is not None and k is not ...
    )
    rest = tensor.dim() - used
    if not any(k is ... for k in keys):
        keys.append(...)
    spread: list[Any] = []
    for k in keys:
        spread += [slice(None)] * rest if k is ... else [k]
    start, dim = tensor, 0
    indices: list[Any] = []
    for k in spread:
        if k is None:
            tensor = call("unsqueeze", ember.unsqueeze, (tensor, dim))
            indices.append(None)
            dim += 1
        elif isinstance(k, slice):
            if k != slice(None):
                args = (tensor, dim, k.start, k.stop, k.step or 1)
                tensor = call("slice", _slice, args)
            indices.append(None)
            dim += 1
        elif isinstance(k, ember.Tensor):
            indices.append(k)
            dim += k.dim() if k.dtype == ember.bool else 1
        elif isinstance(k, bool):
            raise NotImplementedError(f"{where}: an index of a bool")
        else:
            tensor = call("select", ember.select, (tensor, dim, k))
    while indices and indices[-1] is None:
        indices.pop()
    return tensor, indices, tensor is not start


def _alias(tensor: Any) -> Any:
    return ember.ops.aten.alias(tensor)


def _slice(tensor: Any, dim: int, start: Any, stop: Any, step: int) -> Any:
    return ember.ops.aten.slice(tensor, dim, start, stop, step)


def _index(tensor: Any, indices: list[Any]) -> Any:
    return tensor[tuple(slice(None) if i is None else i for i in indices)]


def _index_put(tensor: Any, indices: list[Any], value: Any) -> Any:
    tensor[tuple(slice(None) if i is None else i for i in indices)] = value
    return tensor
