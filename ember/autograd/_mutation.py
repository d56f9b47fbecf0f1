"""`allow_mutation_on_saved_tensors`: what backward needs is copied before it changes.

Saved tensors are kept as they are. Every op inside passes a dispatch mode, which copies
those that an op is about to write to; what is saved twice is copied once.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import ember
from ember.autograd.graph import saved_tensors_hooks
from ember.utils import _python_dispatch  # type: ignore[attr-defined]
from ember.utils._pytree import tree_leaves


class _Handle:
    """Stands for a saved tensor in the graph, as long as a node has it."""

    __slots__ = ("__weakref__", "version")

    def __init__(self, version: int) -> None:
        self.version = version


def _storage_of(tensor: ember.Tensor) -> int | None:
    if tensor.layout is not ember.strided or not tensor.numel():
        return None
    return tensor.untyped_storage()._cdata


def _written(op: Any, args: tuple, kwargs: dict) -> list:
    """The tensors that a call writes to."""
    name = op.__name__.partition(".")[0]
    if name == "_foreach_fused":  # the name of the step, and lists of tensors
        return tree_leaves(args)
    places = [kwargs["out"]] if kwargs.get("out") is not None else []
    if name.endswith("_") and not name.endswith("__") and args:
        places.append(args[0])
    return tree_leaves(places)


class _CopyBeforeChange(_python_dispatch.TorchDispatchMode):
    def __init__(self, saved: AllowMutation) -> None:
        super().__init__()
        self.saved = saved

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        for tensor in _written(func, args, kwargs or {}):
            if isinstance(tensor, ember.Tensor):
                self.saved.copy_those_of(tensor)
        return func(*args, **(kwargs or {}))


class AllowMutation(saved_tensors_hooks):
    """The context that `allow_mutation_on_saved_tensors` gives."""

    _active: AllowMutation | None = None

    def __init__(self) -> None:
        super().__init__(self._pack, self._unpack)
        self._mode = _CopyBeforeChange(self)
        self.clear()

    def clear(self) -> None:
        """Forget everything: graphs recorded inside cannot run backward any more."""
        self.originals: WeakKeyDictionary[_Handle, ember.Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[_Handle, ember.Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple, _Handle] = (
            WeakValueDictionary()
        )

    def _pack(self, tensor: ember.Tensor) -> _Handle:
        # As long as the handle lives, so do the tensor and its address.
        place = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
        key = (_storage_of(tensor), tensor.dtype, place, tensor._version)
        handle = self.tid_to_weakhandle.get(key)
        if handle is None:
            handle = self.tid_to_weakhandle[key] = _Handle(tensor._version)
            self.originals[handle] = tensor
        return handle

    def _unpack(self, handle: _Handle) -> ember.Tensor:
        if AllowMutation._active is not self:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' "
                "context in which the graph was originally recorded."
            )
        if handle in self.cloned:
            return self.cloned[handle]
        if handle not in self.originals:
            raise RuntimeError("the saved tensors of this graph were cleared")
        original = self.originals[handle]
        if original._version != handle.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been "
                "modified by an inplace operation that was not seen (see "
                f"allow_mutation_on_saved_tensors): it is at version "
                f"{original._version}; expected version {handle.version} instead"
            )
        return original

    def copy_those_of(self, tensor: ember.Tensor) -> None:
        """Copy the saved tensors whose memory is about to change."""
        storage = _storage_of(tensor)
        if storage is None:
            return
        for key, handle in list(self.tid_to_weakhandle.items()):
            original = self.originals.get(handle)
            if key[0] == storage and original is not None:
                with ember.no_grad():
                    self.cloned[handle] = original.clone()
                del self.originals[handle]

    def __enter__(self) -> AllowMutation:  # type: ignore[override]
        if AllowMutation._active is not None:
            raise RuntimeError(
                "allow_mutation_on_saved_tensors contexts cannot be nested"
            )
        AllowMutation._active = self
        super().__enter__()
        self._mode.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._mode.__exit__(*exc)
        super().__exit__(*exc)
        AllowMutation._active = None
        self.clear()
