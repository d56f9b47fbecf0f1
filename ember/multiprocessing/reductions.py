"""How storages travel between processes: by the descriptor of their file.

Connections of this package collect the descriptors while they pickle a message, and
send both together. Pickled for anything else (the arguments of a new process, a queue
of Python's own), a descriptor goes the way that Python's module has for them.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import context, reduction, resource_sharer
from multiprocessing.reduction import ForkingPickler
from typing import Any

import ember
from ember import _C

_local = threading.local()
_FORKSERVER_LIMIT = 200  # descriptors; more do not fit in its message


class Parcel:
    """The descriptors that belong to one message, and what keeps them open."""

    def __init__(self) -> None:
        self.descriptors: list[int] = []
        self._temporary: list[int] = []
        self._kept: list = []

    def add(self, descriptor: int, temporary: bool, owner) -> int:
        """Take a descriptor; its number in the message."""
        self.descriptors.append(descriptor)
        self._temporary += [descriptor] * temporary
        self._kept.append(owner)
        return len(self.descriptors) - 1

    def close(self) -> None:
        """The message has been sent, or never will be."""
        for descriptor in self._temporary:
            os.close(descriptor)
        self.descriptors, self._temporary, self._kept = [], [], []


@contextmanager
def collecting(parcel: Parcel) -> Iterator[None]:
    """What this thread pickles in the block adds its descriptors to `parcel`."""
    before = getattr(_local, "parcel", None)
    _local.parcel = parcel
    try:
        yield
    except BaseException:
        parcel.close()
        raise
    finally:
        _local.parcel = before


def dump(obj) -> tuple[memoryview, Parcel]:
    """An object as bytes, and the descriptors to send with them."""
    parcel = Parcel()
    with collecting(parcel):
        return ForkingPickler.dumps(obj), parcel


def received(descriptors: list[int]) -> None:
    """Note what came with the message that this thread unpickles next."""
    for unused in getattr(_local, "received", ()):
        if unused >= 0:
            os.close(unused)
    _local.received = descriptors


def reduce_storage(storage: "ember.UntypedStorage") -> Any:
    """A storage as its descriptor and size; it becomes shared if it is not."""
    if storage.device.type != "cpu":
        return storage.__reduce__()
    size = storage.nbytes()
    if size == 0:
        return _empty_storage, ()
    storage.share_memory_()
    view = _C._tensor_from_storage(storage, ember.uint8, 0, (0,), (1,))
    descriptor, temporary = _C._storage_descriptor(view)
    parcel = getattr(_local, "parcel", None)
    if parcel is not None:
        return _from_message, (parcel.add(descriptor, temporary, view), size)
    try:
        return _from_duplicate, (_duplicate(descriptor), size)
    finally:
        if temporary and context.get_spawning_popen() is None:
            os.close(descriptor)


def _duplicate(descriptor: int):
    popen: Any = context.get_spawning_popen()
    crowded = getattr(popen, "method", "") == "forkserver"
    if crowded and len(popen._fds) >= _FORKSERVER_LIMIT:
        return resource_sharer.DupFd(descriptor)
    return reduction.DupFd(descriptor)


def _empty_storage():
    return _C._shared_storage(0)


def take(index: int) -> int:
    """A descriptor of the message that this thread is unpickling, to keep."""
    descriptor = _local.received[index]
    _local.received[index] = -1
    return descriptor


def _from_message(index: int, size: int):
    return _C._storage_from_descriptor(take(index), size)


def _from_duplicate(duplicate, size: int):
    return _C._storage_from_descriptor(duplicate.detach(), size)


def reduce_tensor(tensor: "ember.Tensor") -> Any:
    """A tensor as its storage and geometry."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since "
            "autograd does not support crossing process boundaries.  If you just want "
            "to transfer the data, call detach() on the tensor before serializing "
            "(e.g., putting it on the queue)."
        )
    if not tensor.is_meta:
        tensor.share_memory_()
    return tensor.__reduce_ex__(2)


def init_reductions() -> None:
    """Teach Python's module to share tensors and storages."""
    ForkingPickler.register(_C.UntypedStorage, reduce_storage)
    ForkingPickler.register(_C.Tensor, reduce_tensor)
