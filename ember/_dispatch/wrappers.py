"""Tensors that hold an object in place of memory.

Note [Wrappers], core/python/wrappers.cpp, says why. `make` makes that of a wrapper
subclass. `record` gives the history of an op on such tensors: the op runs on their
shapes, and its rules for the backward pass keep the tensors. When the rules run, the
primitives of the device (`device`) carry them out by calling ops on the
objects, one level below: a rule `g * b` calls `aten.mul` of the two objects.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import ember
from ember import _C
from ember._C import Tensor
from ember.autograd.grad_mode import no_grad
from ember.backend import memory_of, register_backend
from ember.utils._pytree import tree_map

_DEVICE = "wrapper"


class bare:
    """Inside, ops work on the tensors themselves, whatever they stand for."""

    def __enter__(self) -> None:
        self._functions = _C._switch_overrides(True, True)
        self._dispatch = _C._switch_dispatch(True, 0)

    def __exit__(self, *error: object) -> None:
        _C._switch_dispatch(*self._dispatch)
        _C._switch_overrides(*self._functions)


class below(no_grad):
    """Inside, the ops of a rule: dispatched, and no part of a history."""

    def __enter__(self) -> None:
        super().__enter__()
        self._before = _C._switch_dispatch(False, 0)

    def __exit__(self, *error: object) -> None:
        _C._switch_dispatch(*self._before)
        super().__exit__(*error)


class Cell:
    """The object that a tensor stands for."""

    def __init__(self) -> None:
        self.owner: Any = None  # weak: the subclass instance whose own memory this is
        self.value: Any = None
        self.geometry: Any = None  # of the object: shape, strides, offset
        self.device: Any = ember.device("cpu")
        self.made_by: Log | None = None

    def get(self) -> Any:
        """The object, if there is one by now."""
        if self.owner is not None:
            return self.owner()
        if self.made_by is not None:
            self.made_by.replay()
        return self.value

    def set(self, value: Any, geometry: tuple) -> None:
        """Make `value` the object."""
        self.value, self.geometry, self.device = value, geometry, value.device


class Memory:
    """What a storage holds: a cell, for as long as there is a tensor on it."""

    __slots__ = ("__weakref__", "cell")

    def __init__(self) -> None:
        self.cell = Cell()


class Log:
    """What an op would have computed, while only its history was wanted.

    A rule may keep something that the op computes on the way; if it asks for that, all
    of it is computed, in order.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[Cell, Callable[[], None]]] = []
        self.memories: list[weakref.ref[Memory]] = []

    def add(self, memory: Memory, step: Callable[[], None]) -> None:
        """Note a step that writes to a cell."""
        memory.cell.made_by = self
        self.steps.append((memory.cell, step))
        self.memories.append(weakref.ref(memory))

    def replay(self) -> None:
        """Compute it."""
        steps, self.steps = self.steps, []
        todo = [(cell, step) for cell, step in steps if cell.made_by is self]
        for cell, _ in todo:
            cell.made_by = None
        for _, step in todo:
            step()

    def settle(self) -> None:
        """Forget it, if nothing that is left of it can be asked for."""
        left = [m for ref in self.memories if (m := ref()) is not None]
        if not any(m.cell.made_by is self for m in left):
            self.steps = []


def geometry_of(t: Tensor) -> tuple:
    """Shape, strides and offset of a tensor itself."""
    with bare():
        return tuple(t.shape), t.stride(), t.storage_offset()


class Place(NamedTuple):
    """Where the elements of an operand are. It keeps the object, not its tensor."""

    cell: Cell
    geometry: tuple
    dtype: Any
    kept: Any

    @classmethod
    def of(cls, t: Any) -> Any:
        """The place of a tensor; anything else is itself."""
        if not isinstance(t, Tensor):
            return t
        cell = memory_of(t).cell
        with bare():
            dtype = t.dtype
        return cls(cell, geometry_of(t), dtype, cell.owner and cell.owner())


def cell_of(t: Tensor) -> Cell | None:
    """The cell of a tensor on the wrappers' device."""
    with bare():
        if t.device.type != _DEVICE:
            return None
    return memory_of(t).cell


def _empty(shape: Any, strides: Any, dtype: Any) -> Tensor:
    with bare():
        return ember.empty_strided(
            tuple(shape), tuple(strides), dtype=dtype, device=_DEVICE
        )


def make(cls: type, shape: Any, strides: Any, dtype: Any, device: Any) -> Any:
    """An instance of `cls` with this shape, which has no memory."""
    _start()
    tensor = _empty(shape, strides, dtype)
    with bare():
        made = Tensor._make_subclass(cls, tensor)
    cell = memory_of(made).cell
    cell.owner, cell.geometry, cell.device = (
        weakref.ref(made),
        geometry_of(made),
        device,
    )
    return made


def make_wrapper_subclass(
    cls: type,
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = _C.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    **_: Any,
) -> Any:
    """`Tensor._make_wrapper_subclass`: an instance of `cls` without memory."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "_make_wrapper_subclass(): expected a subclass of Tensor, got "
            f"{getattr(cls, '__name__', cls)}"
        )
    if not dispatches(cls):
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__")
    shape = tuple(int(n) for n in size)
    if strides is None:
        with bare():
            fake = ember.empty(shape, device="meta")
            if memory_format is not None:
                fake = fake.contiguous(memory_format=memory_format)
            strides = fake.stride()
    chosen = ember.device("cpu") if device is None else ember.device(device)
    dtype = ember.get_default_dtype() if dtype is None else dtype
    made = make(cls, shape, tuple(strides), dtype, chosen)
    if requires_grad:
        with bare():
            made.requires_grad_()
    return made


def dispatches(kind: type) -> bool:
    """Whether a type defines `__torch_dispatch__`."""
    found = getattr(kind, "__torch_dispatch__", _C._disabled_torch_dispatch_impl)
    return found is not _C._disabled_torch_dispatch_impl


def lift(value: Tensor) -> Tensor:
    """A tensor that stands for `value`, with its history."""
    _start()
    made = _empty(value.shape, value.stride(), value.dtype)
    memory_of(made).cell.set(value, geometry_of(made))
    _C._adopt_history(made, value)
    return made


def surface(bare_tensor: Tensor) -> Any:
    """The object that a tensor of the device stands for, with the tensor's history."""
    made = resolve(Place.of(bare_tensor))
    with bare():
        needs = bare_tensor.requires_grad and not made.requires_grad
    if needs:
        _C._adopt_history(made, bare_tensor)
    return made


def ones_like(wrapper: Tensor) -> Tensor:
    """The gradient that a backward pass starts with."""
    with below():
        return ember.ones_like(wrapper)


# --- histories ------------------------------------------------------------------------


def record(func: Any, args: tuple, kwargs: dict, in_place: bool) -> tuple[Any, Log]:
    """The result of an op on the bare tensors: shapes and a history, no values."""
    _start()

    def lifted(x: Any) -> Any:
        return lift(x) if isinstance(x, Tensor) and cell_of(x) is None else x

    args, kwargs = tree_map(lifted, (args, kwargs))
    before = recording.log, recording.in_place
    log = Log()
    recording.log, recording.in_place = log, in_place
    try:
        with bare():
            return func(*args, **kwargs), log
    finally:
        recording.log, recording.in_place = before


def adopt(made: Any, traced: list, detach: Any) -> Any:
    """`made` with the history of the one item of `traced`, which goes.

    Where a rule keeps the traced tensor, for the values of the op's result, it gets
    them as a detached object: one with a history would own itself.
    """
    history = traced.pop()
    if not isinstance(made, Tensor) or not isinstance(history, Tensor):
        return made
    if made is history:
        return made
    with bare():
        needs = history.requires_grad and not made.requires_grad
    if needs:
        _C._adopt_history(made, history)
    geometry, memory = geometry_of(history), weakref.ref(memory_of(history))
    del history
    if (kept := memory()) is not None and kept.cell.owner is None:
        kept.cell.made_by = None
        kept.cell.set(detach(made), geometry)
    return made


# --- the device -----------------------------------------------------------------------


def resolve(place: Any) -> Any:
    """The object behind an operand; a view of it, if the operand is one."""
    if not isinstance(place, Place):
        return place
    cell, want = place.cell, place.geometry
    value = cell.get()
    if value is None:
        raise RuntimeError("a tensor of a backward pass was read before it was made")
    return value if cell.geometry == want else _view(value, cell.geometry, want)


def store(place: Place, value: Any) -> None:
    """Make `value` what stands at `place`."""
    cell, shape = place.cell, place.geometry[0]
    if not isinstance(value, Tensor):
        value = ember.full(shape, value, dtype=place.dtype, device=cell.device)
    if value.dtype != place.dtype:
        value = value.to(place.dtype)
    if tuple(value.shape) != shape:
        value = value.expand(shape)
    if cell.owner is None and cell.geometry in (None, place.geometry):
        cell.set(value, place.geometry)
    else:
        resolve(place).copy_(value)


def _view(value: Any, have: tuple, want: tuple) -> Any:
    """The view with the strides `want` of an object with the strides `have`."""
    shape, strides, offset = want
    if offset == have[2]:
        order = _axes(have, want)
        if order is not None:
            return _rearranged(value, order, shape)
        if _dense(have) and _dense(want) and _count(have) == _count(want):
            return value.reshape(shape)
    if tuple(value.stride()) != have[1] or value.storage_offset() != have[2]:
        laid_out = ember.empty_strided(
            *have[:2], dtype=value.dtype, device=value.device
        )
        value, offset = laid_out.copy_(value), offset - have[2]
    return value.as_strided(shape, strides, offset)


def _axes(have: tuple, want: tuple) -> list | None:
    """For each axis wanted, which one it is; None if it is new. None if it is more than
    axes in another order, of size 1, or repeated."""
    left = {i: axis for i, axis in enumerate(zip(*have[:2])) if axis[0] != 1}
    order: list = []
    for axis in zip(*want[:2]):
        found = next((i for i, known in left.items() if known == axis), None)
        if found is not None:
            del left[found]
        elif axis[0] != 1 and axis[1] != 0:
            return None
        order.append(found)
    return None if left else order


def _rearranged(value: Any, order: list, shape: tuple) -> Any:
    kept = [i for i in order if i is not None]
    if kept != list(range(value.dim())):
        ones = [i for i in range(value.dim()) if i not in kept]
        value = value.permute(*ones, *kept)
        value = value.view(value.shape[len(ones) :])
    for i, axis in enumerate(order):
        if axis is None:
            value = value.unsqueeze(i)
    return value if tuple(value.shape) == shape else value.expand(shape)


def _count(geometry: tuple) -> int:
    total = 1
    for n in geometry[0]:
        total *= n
    return total


def _dense(geometry: tuple) -> bool:
    step = 1
    for n, s in zip(reversed(geometry[0]), reversed(geometry[1])):
        if n != 1 and s != step:
            return False
        step *= n
    return True


class _Recording:
    """Whether only shapes and histories are wanted."""

    log: Log | None = None
    in_place = False


recording = _Recording()
_started: list = []


def _start() -> None:
    if not _started:
        from ember._dispatch.device import Cells

        _started.append(True)
        register_backend(_DEVICE, Cells())
        _C._set_wrapper_device(ember.device(_DEVICE))
