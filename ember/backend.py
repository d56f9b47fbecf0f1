"""A device in plain Python: subclass `Backend`, register it, use its name as a device.

Every op ends in primitives: `core/primitives.h` is their table and says what each does,
`primitives()` lists them with their arguments. A device has those that its class has a
method for. Of the others some decompose into what it has; the rest are errors that name
the primitive, but for ops that can do without (``"Fused"``).

What a method is called with, in the order of the row:

- Tensors, allocated, and broadcast to the output's shape where that is how they are
  used; None for one that is not there, or not wanted. Lists of tensors as lists.
- Operands of pointwise primitives: tensors, or Python numbers.
- `f`, `mode` and other choices by name, such as ``"mul"``, ``"sum"`` or ``"set"``.
- `compute`: the dtype to calculate in; results are cast to the dtype of `out`.
- `params`: three floats. `at`, the positions of an index, is two arguments: the index
  tensors, and the first dimension that they are for. A position below 0 counts from
  the end. `g`: a 64-bit key, to make random numbers of. Other structs are dicts by
  the names of their fields (`core/operands.h`).

`memory_of(t)` is the object that `allocate` returned for the tensor's storage; together
with `t.shape`, `t.stride()`, `t.storage_offset()` and `t.dtype` it says where the
elements are. `tests/test_python_device.py` brings up a whole device on NumPy in about a
hundred lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ember import _C
from ember._C import Tensor

__all__ = [
    "Backend",
    "Place",
    "Step",
    "memory_of",
    "primitives",
    "record",
    "register_backend",
]


class Backend:
    """The memory of a device; its methods besides are primitives (`primitives()`)."""

    def allocate(self, nbytes: int) -> Any:
        """An object that stands for `nbytes` bytes of memory."""
        self._missing("allocate")

    def copy_bytes(self, to: Any, source: Any, nbytes: int) -> None:
        """Copies between two objects returned by `allocate`."""
        self._missing("copy_bytes")

    def copy_from_host(self, to: Tensor, source: memoryview) -> None:
        """Fills a contiguous tensor from bytes."""
        self._missing("copy_from_host")

    def copy_to_host(self, to: memoryview, source: Tensor) -> None:
        """Writes a contiguous tensor to bytes."""
        self._missing("copy_to_host")

    def synchronize(self) -> None:
        """Waits until everything asked for is done."""

    def _missing(self, method: str) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not provide '{method}'")


def primitives() -> dict[str, str]:
    """What a device may provide: ``{"flip": "Default (out, x, dims)", ...}``.

    ``Required`` ones have no default, ``Default`` ones decompose into others, and ops
    do without the ``Fused`` ones that a device lacks.

    >>> import ember
    >>> ember.backend.primitives()["matmul"]
    'Required (out, a, b, alpha, beta)'
    """
    return {name: f"{need} ({given})" for name, need, given in _C._primitives()}


class Place(NamedTuple):
    """Where a tensor lies. Storages are numbered as they come in a recording."""

    storage: int
    offset: int
    dtype: _C.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Step(NamedTuple):
    """A primitive that a device was asked for; `attributes` are all else, as text."""

    primitive: str
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]
    attributes: str


@contextmanager
def record(device: Any = "cpu") -> Iterator[list[Step]]:
    """Writes down what a device is asked for; the list is filled at the end.

    >>> import ember
    >>> x = ember.ones(3)
    >>> with ember.backend.record() as steps:
    ...     y = (x * 2).sum()
    >>> [(step.primitive, step.attributes) for step in steps]
    [('binary', 'f=mul compute=float32 b=2'), ('reduce', 'f=sum dims=[0] p=2')]
    """
    device = _C.device(device)
    steps: list[Step] = []
    _C._start_recording(device)
    try:
        yield steps
    finally:
        for name, reads, writes, attributes in _C._stop_recording(device):
            read, written = (tuple(Place(*p) for p in part) for part in (reads, writes))
            steps.append(Step(name, read, written, attributes))


def register_backend(name: str, backend: Backend) -> None:
    """Makes `backend` the device called `name`.

    >>> class Null(ember.backend.Backend):
    ...     def allocate(self, nbytes):
    ...         return bytearray(nbytes)
    >>> ember.backend.register_backend("null", Null())
    >>> ember.empty(2, 3, device="null").device
    device(type='null')
    """
    if not isinstance(backend, Backend):
        raise TypeError(
            f"register_backend(): expected a Backend, got {type(backend).__name__}"
        )
    _C._register_backend(name, backend)


def memory_of(tensor: Tensor) -> Any:
    """What the backend's `allocate` returned for the storage of `tensor`."""
    return _C._memory_of(tensor)
