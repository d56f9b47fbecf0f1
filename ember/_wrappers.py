"""Tensors that hold an object in place of memory.

Note [Wrappers], core/python/wrappers.cpp, says why. `make` makes that of a wrapper
subclass. `record` gives the history of an op on such tensors: the op runs on their
shapes, and its rules for the backward pass keep the tensors. When the rules run, the
primitives of `_Cells` carry them out by calling ops on the objects, one level below: a
rule `g * b` calls `aten.mul` of the two objects.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import ember
from ember import _C
from ember._C import Tensor
from ember.autograd.grad_mode import no_grad
from ember.backend import Backend, memory_of, register_backend
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


def _geometry(t: Tensor) -> tuple:
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
        return cls(cell, _geometry(t), dtype, cell.owner and cell.owner())


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
    cell.owner, cell.geometry, cell.device = weakref.ref(made), _geometry(made), device
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
    memory_of(made).cell.set(value, _geometry(made))
    _C._adopt_history(made, value)
    return made


def surface(bare_tensor: Tensor) -> Any:
    """The object that a tensor of the device stands for, with the tensor's history."""
    made = _resolve(Place.of(bare_tensor))
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
    before = cells.log, cells.in_place
    log = Log()
    cells.log, cells.in_place = log, in_place
    try:
        with bare():
            return func(*args, **kwargs), log
    finally:
        cells.log, cells.in_place = before


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
    geometry, memory = _geometry(history), weakref.ref(memory_of(history))
    del history
    if (kept := memory()) is not None and kept.cell.owner is None:
        kept.cell.made_by = None
        kept.cell.set(detach(made), geometry)
    return made


# --- the device -----------------------------------------------------------------------


def _resolve(place: Any) -> Any:
    """The object behind an operand; a view of it, if the operand is one."""
    if not isinstance(place, Place):
        return place
    cell, want = place.cell, place.geometry
    value = cell.get()
    if value is None:
        raise RuntimeError("a tensor of a backward pass was read before it was made")
    return value if cell.geometry == want else _view(value, cell.geometry, want)


def _store(place: Place, value: Any) -> None:
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
        _resolve(place).copy_(value)


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


class _Cells(Backend):
    """The primitives, on the objects in cells."""

    log: Log | None = None  # if only shapes and histories are wanted
    in_place = False

    def _run(self, out: Tensor, function: Any, *operands: Any) -> None:
        place, places = Place.of(out), [Place.of(x) for x in operands]

        def run() -> None:
            with below():
                _store(place, function(*map(_resolve, places)))

        if self.log is None:
            run()
        elif place.cell.owner is None:
            self.log.add(memory_of(out), run)

    def _each(self, outs: tuple, function: Any, x: Tensor) -> None:
        for i, out in enumerate(outs):
            if out is not None:
                shape = _geometry(out)[0]
                self._run(out, lambda x, i=i, s=shape: function(x)[i].view(s), x)

    def allocate(self, nbytes: int) -> Memory:
        return Memory()

    def copy_bytes(self, to: Any, source: Any, nbytes: int) -> None:
        to.cell.set(source.cell.get(), source.cell.geometry)

    def copy_from_host(self, to: Tensor, source: memoryview) -> None:
        with bare():
            host = ember.frombuffer(bytearray(source), dtype=to.dtype).view(to.shape)
        _store(Place.of(to), host)

    def copy_to_host(self, to: memoryview, source: Tensor) -> None:
        raise NotImplementedError(
            "the gradient of this op reads the values of a tensor subclass with "
            "__torch_dispatch__, which only the subclass knows"
        )

    def copy(self, out: Tensor, x: Tensor) -> None:
        if self.in_place and memory_of(x).cell.owner is not None:
            with below():  # what the op is about to change
                _store(Place.of(out), _resolve(Place.of(x)).clone())
        else:
            self._run(out, lambda x: x.clone(), x)

    def fill(self, out: Tensor, value: Any) -> None:
        self._run(out, lambda: value)

    def unary(self, f: str, compute: Any, out: Tensor, x: Any, params: tuple) -> None:
        def run(x: Any) -> Any:
            if f in _ROWS:
                return _ROWS[f](x, params)
            op = _op(f)
            return op(x, *params[: _extra(op)])

        self._run(out, run, x)

    def predicate(self, f: str, compute: Any, out: Tensor, x: Any) -> None:
        self._run(out, lambda x: _op(f)(x), x)

    def binary(self, f: str, compute: Any, out: Tensor, a: Any, b: Any) -> None:
        def run(a: Any, b: Any) -> Any:
            return _ROWS[f](a, b) if f in _ROWS else _apply(_op(f), a, b)

        self._run(out, run, a, b)

    def compare(
        self, f: str, compute: Any, out: Tensor, a: Any, b: Any, params: tuple
    ) -> None:
        self.binary(f, compute, out, a, b)

    def ternary(
        self, f: str, compute: Any, out: Tensor, a: Any, b: Any, c: Any, params: tuple
    ) -> None:
        def run(a: Any, b: Any, c: Any) -> Any:
            if f == "where":
                if not isinstance(a, Tensor):
                    return b if a else c
                return ember.where(a if a.dtype == ember.bool else a != 0, b, c)
            if f in ("addcmul", "addcdiv"):
                return _op(f)(a, b, c, value=params[0])
            return _apply(_op(f), a, b, c)

        self._run(out, run, a, b, c)

    def reduce(self, f: str, out: Tensor, x: Tensor, dims: tuple, p: float) -> None:
        op, shape = _op(f), _geometry(out)[0]

        def run(x: Any) -> Any:
            if f == "norm":
                return op(x, p, dims, True)
            if f in ("sum", "mean", "nansum"):
                return op(x, dims, True)
            if f in ("min", "max"):
                return getattr(ember, f"a{f}")(x, dims, True)
            if f == "count_nonzero":
                return op(x, dims).view(shape)
            for dim in dims:
                x = op(x, dim, True)
            return x

        self._run(out, run, x)

    def extremes(
        self, values: Any, indices: Any, x: Tensor, dim: int, most: bool
    ) -> None:
        function = ember.max if most else ember.min
        self._each((values, indices), lambda x: function(x, dim, True), x)

    def variance(
        self,
        out: Tensor,
        mean: Tensor,
        x: Tensor,
        dims: tuple,
        correction: float,
        root: bool,
    ) -> None:
        function = ember.std_mean if root else ember.var_mean

        def run(x: Any) -> Any:
            return function(x, dims, correction=correction, keepdim=True)

        self._each((out, mean), run, x)

    def index_get(self, out: Tensor, x: Tensor, indices: list, first: int) -> None:
        key = (slice(None),) * first
        self._run(out, lambda x, *at: x[(*key, *at)], x, *indices)

    def index_put(
        self, out: Tensor, indices: list, first: int, values: Tensor, mode: str
    ) -> None:
        if mode not in ("set", "add"):
            raise NotImplementedError(f"index_put by '{mode}' of a tensor subclass")
        key = (slice(None),) * first

        def run(x: Any, values: Any, *found: Any) -> Any:
            if not first:
                return x.index_put(found, values, accumulate=mode == "add")
            made, at = x.clone(), (*key, *found)
            made[at] = values if mode == "set" else made[at] + values
            return made

        self._run(out, run, out, values, *indices)

    def gather(self, out: Tensor, x: Tensor, dim: int, index: Tensor) -> None:
        self._run(out, lambda x, index: ember.gather(x, dim, index), x, index)

    def scatter(
        self, out: Tensor, dim: int, index: Tensor, source: Tensor, mode: str
    ) -> None:
        def run(x: Any, index: Any, source: Any) -> Any:
            if mode == "set":
                return ember.scatter(x, dim, index, source)
            if mode == "add":
                return ember.scatter_add(x, dim, index, source)
            name = {"mul": "prod", "max": "amax", "min": "amin"}[mode]
            return ember.scatter_reduce(x, dim, index, source, name)

        self._run(out, run, out, index, source)

    def scan(self, f: str, out: Tensor, indices: Any, x: Tensor, dim: int) -> None:
        if indices is not None:
            function = ember.cummax if f == "max" else ember.cummin
            return self._each((out, indices), lambda x: function(x, dim), x)
        names = {"sum": "cumsum", "prod": "cumprod", "logsumexp": "logcumsumexp"}
        return self._run(out, lambda x: getattr(ember, names[f])(x, dim), x)

    def sort(
        self, values: Any, indices: Any, x: Tensor, dim: int, descending: bool
    ) -> None:
        self._each((values, indices), lambda x: ember.sort(x, dim, descending), x)

    def topk(
        self,
        values: Any,
        indices: Any,
        x: Tensor,
        dim: int,
        largest: bool,
        ordered: bool,
    ) -> None:
        k = _geometry(values if values is not None else indices)[0][dim]

        def run(x: Any) -> Any:
            return ember.topk(x, k, dim, largest, ordered)

        self._each((values, indices), run, x)

    def matmul(self, out: Tensor, a: Tensor, b: Tensor, alpha: Any, beta: Any) -> None:
        def run(a: Any, b: Any, *before: Any) -> Any:
            made = a @ b if alpha == 1 else (a @ b) * alpha
            return made + before[0] * beta if before else made

        self._run(out, run, a, b, *([out] if beta != 0 else []))


# Rows of the pointwise table that are not ops of their own.
_ROWS: dict[str, Any] = {
    "pow_scalar": lambda x, p: ember.pow(x, p[0]),
    "gelu_tanh": lambda x, p: _C._ops["nn.functional.gelu"](x, approximate="tanh"),
    "trunc_divide": lambda a, b: ember.div(a, b, rounding_mode="trunc"),
    "trigamma": lambda x, p: ember.polygamma(1, x),
}


def _op(f: str) -> Any:
    """The op of a row of the pointwise table."""
    for prefix in ("", "special.", "nn.functional."):
        if prefix + f in _C._ops:
            return _C._ops[prefix + f]
    raise NotImplementedError(
        f"the gradient of this op uses '{f}', which tensor subclasses with "
        "__torch_dispatch__ cannot be asked for"
    )


def _extra(op: Any) -> int:
    """How many numbers an op takes besides its tensor."""
    inside = op.schemas[0].partition("(")[2].partition(")")[0]
    return sum(1 for p in inside.split(",") if p.strip() and p.strip() != "*") - 1


def _apply(op: Any, first: Any, *more: Any) -> Any:
    """An op of operands of which the first may be a number."""
    return op(first if isinstance(first, Tensor) else ember.tensor(first), *more)


cells = _Cells()
_started: list = []


def _start() -> None:
    if not _started:
        _started.append(True)
        register_backend(_DEVICE, cells)
        _C._set_wrapper_device(ember.device(_DEVICE))
