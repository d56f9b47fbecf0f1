"""How batches get from a worker to the process that reads them.

Small tensors are part of the message. Large ones lie in *slots*: shared memory that the
worker fills, that the reader maps once, and that is filled again when the reader has
dropped every tensor in it. New pages are most of the cost of sending a tensor, so a
slot that is warm in both processes is nearly free. Note [Slots] says why that is safe.

Note [Slots]
A slot belongs to the worker until it is sent, and to the reader from then on. The
reader gives it back only if nothing in its process refers to the memory, if nobody has
asked for the descriptor, and if the process has not forked meanwhile: a child would see
the next batch appear in its tensors. A slot that cannot come back is forgotten by both
sides, and the kernel frees it after its last user. A worker may send one slot twice (a
collate_fn that keeps its batch); so that what is on its way is not overtaken, the
reader says how many sendings it has seen.
"""

import io
import threading
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler

import ember
from ember import _C, Tensor
from ember.multiprocessing import reductions
from ember.utils.data._collate import LARGE

_MOST_WATCHED = 64  # slots that the reader asks about; who keeps more keeps them all
_MOST_SPARE = 2  # free slots that stay when none of them was of use
_local = threading.local()


def _over(base: Tensor, dtype, offset: int, size, stride) -> Tensor:
    return _C._tensor_from_storage(base.untyped_storage(), dtype, offset, size, stride)


class _Slot:
    """Shared memory in the worker; `sends` counts how often it was sent."""

    def __init__(self, number: int, size: int) -> None:
        self.number, self.size, self.sends, self.away = number, size, 0, False
        storage = _C._shared_storage(size, True)
        self.base = _C._tensor_from_storage(storage, ember.uint8, 0, (size,), (1,))

    def is_free(self) -> bool:
        return not self.away and _C._storage_state(self.base) != 0


class Slots:
    """The worker's side: memory for batches, and batches as messages."""

    def __init__(self) -> None:
        self._slots: dict[int, _Slot] = {}
        self._at: dict[int, _Slot] = {}  # by address
        self._next = 0
        self.dropped: list[int] = []  # since the reader was last told

    def allocate(self, size: tuple, dtype) -> Tensor:
        """An uninitialized tensor in shared memory."""
        count = 1
        for n in size:
            count *= n
        slot = self._find(count * dtype.itemsize)
        stride, step = [], 1
        for n in reversed(size):
            stride.append(step)
            step *= max(n, 1)
        return _over(slot.base, dtype, 0, size, stride[::-1])

    def _find(self, size: int) -> _Slot:
        best = None
        for slot in self._slots.values():
            fits = size <= slot.size <= size + size // 4
            if fits and slot.is_free() and (best is None or slot.size < best.size):
                best = slot
        if best is not None:
            return best
        self._drop_spare()
        slot = _Slot(self._next, max(size, 1))
        self._next += 1
        self._slots[slot.number] = self._at[slot.base.data_ptr()] = slot
        return slot

    def _drop_spare(self) -> None:
        """No slot fits, so the free ones are of sizes that may not come again."""
        free = [slot for slot in self._slots.values() if slot.is_free()]
        for slot in free[:-_MOST_SPARE]:
            self._forget(slot)
            self.dropped.append(slot.number)

    def _forget(self, slot: _Slot) -> None:
        del self._slots[slot.number], self._at[slot.base.data_ptr()]

    def returned(self, free: list[tuple[int, int]], forgotten: list[int]) -> None:
        """What the reader says about slots that it got."""
        for number, sends in free:
            slot = self._slots.get(number)
            if slot is not None and slot.sends == sends:
                slot.away = False
        for number in forgotten:
            if number in self._slots:
                self._forget(self._slots[number])

    def dump(self, obj) -> tuple[memoryview, reductions.Parcel]:
        """A batch as a message, its large tensors in slots."""
        parcel = reductions.Parcel()
        placed: dict[int, _Slot] = {}  # storages of this message, by address
        with reductions.collecting(parcel):
            return _Pickler.dump_with(
                lambda t: self._reduce(t, placed, parcel), obj
            ), parcel

    def _reduce(self, t: Tensor, placed: dict, parcel: reductions.Parcel):
        if not t.is_cpu or (t.requires_grad and not t.is_leaf):
            return reductions.reduce_tensor(t)
        if t.nbytes < LARGE:
            data = _C._tensor_bytes(t)
            return _inline, (data, t.dtype, tuple(t.shape), t.requires_grad)
        storage = t.untyped_storage()
        address = storage.data_ptr()
        slot = self._at.get(address) or placed.get(address)
        offset, stride = t.storage_offset(), t.stride()
        if slot is None:
            if t.is_shared():
                return reductions.reduce_tensor(t)
            slot = self._find(t.nbytes)
            whole = storage.nbytes() == t.nbytes and offset == 0
            if whole:
                placed[address] = slot
                _over(slot.base, t.dtype, 0, t.shape, stride).copy_(t.detach())
            else:
                offset, copy = 0, t.detach().contiguous()
                stride = copy.stride()
                _over(slot.base, t.dtype, 0, t.shape, stride).copy_(copy)
        descriptor = None
        if not slot.sends:
            fd, temporary = _C._storage_descriptor(slot.base)
            descriptor = parcel.add(fd, temporary, slot.base)
        slot.sends += 1
        slot.away = True
        where = (slot.number, slot.sends, descriptor, slot.size)
        return _in_slot, (
            where,
            t.dtype,
            offset,
            tuple(t.shape),
            stride,
            t.requires_grad,
        )


class _Pickler(ForkingPickler):
    reduce_tensor: Callable

    def reducer_override(self, obj):
        if type(obj) is Tensor:
            return self.reduce_tensor(obj)
        return NotImplemented

    @classmethod
    def dump_with(cls, reduce_tensor: Callable, obj) -> memoryview:
        buffer = io.BytesIO()
        pickler = cls(buffer, 5)
        pickler.reduce_tensor = reduce_tensor
        pickler.dump(obj)
        return buffer.getbuffer()


def _inline(data: bytes, dtype, size: tuple, requires_grad: bool) -> Tensor:
    t = _C._tensor_of_bytes(data, dtype, size)
    return t.requires_grad_() if requires_grad else t


def _in_slot(where, dtype, offset, size, stride, requires_grad: bool) -> Tensor:
    t = _over(_local.mapped.base_of(*where), dtype, offset, size, stride)
    return t.requires_grad_() if requires_grad else t


class Mapped:
    """The reader's side: the slots of one worker."""

    def __init__(self) -> None:
        self._bases: dict[int, Tensor] = {}
        self._held: dict[int, int] = {}  # slots with tensors in use: sendings seen

    def load(self, data):
        """The batch in a message that was just received."""
        _local.mapped = self
        try:
            return ForkingPickler.loads(data)
        finally:
            del _local.mapped

    def base_of(self, number: int, sends: int, descriptor, size: int) -> Tensor:
        """All of a slot, mapped when it comes for the first time."""
        if descriptor is not None:
            fd = reductions.take(descriptor)
            storage = _C._storage_from_descriptor(fd, size, True)
            self._bases[number] = _C._tensor_from_storage(
                storage, ember.uint8, 0, (size,), (1,)
            )
        self._held[number] = sends
        return self._bases[number]

    def drop(self, numbers: list[int]) -> None:
        """Slots that the worker does not fill again."""
        for number in numbers:
            self._bases.pop(number, None)

    def give_back(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Slots to be filled again, and slots that the worker is to forget."""
        free: list[tuple[int, int]] = []
        forgotten: list[int] = []
        for number, sends in self._held.items():
            state = _C._storage_state(self._bases[number])
            if state == 1:
                free.append((number, sends))
            elif state == 2:
                forgotten.append(number)
        for number, _ in free:
            del self._held[number]
        for number in self._held:
            if len(self._held) - len(forgotten) <= _MOST_WATCHED:
                break
            if number not in forgotten:
                forgotten.append(number)
        for number in forgotten:
            del self._held[number], self._bases[number]
        return free, forgotten
