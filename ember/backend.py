"""A device in plain Python: subclass `Backend`, register it, use its name as a device.

Every op ends in the primitives below (`core/backend.h` has the same list in C++).
Outputs come allocated; operands are tensors already broadcast to the output's shape,
or Python numbers. `memory_of(t)` is the object that `allocate` returned for the
tensor's storage; together with `t.shape`, `t.stride()`, `t.storage_offset()` and
`t.dtype` it says where the elements are. `tests/test_python_device.py` brings up a
whole device on NumPy in about a hundred lines.
"""

from __future__ import annotations

from typing import Any

from ember import _C
from ember._C import Tensor

__all__ = ["Backend", "memory_of", "register_backend"]

Number = bool | int | float | complex
Operand = Tensor | Number
Params = tuple[float, float, float]


class Backend:
    """The primitives a device provides; those that raise here are required.

    `f` is the name of a function of the pointwise table, such as ``"mul"``. `compute`
    is the dtype to calculate in; results are cast to the dtype of `out`.
    """

    def _missing(self, primitive: str) -> Any:
        name = type(self).__name__
        raise NotImplementedError(
            f"{name} does not provide the primitive '{primitive}'"
        )

    # -- memory

    def allocate(self, nbytes: int) -> Any:
        """An object that stands for `nbytes` bytes of memory."""
        return self._missing("allocate")

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

    # -- pointwise

    def copy(self, out: Tensor, x: Tensor) -> None:
        """Copies with conversion; same shape, any strides."""
        self._missing("copy")

    def fill(self, out: Tensor, value: Number) -> None:
        """Sets every element to a number."""
        self._missing("fill")

    def unary(
        self, f: str, compute: _C.dtype, out: Tensor, x: Operand, params: Params
    ) -> None:
        """out = f(x), with up to three parameters."""
        self._missing("unary")

    def binary(
        self, f: str, compute: _C.dtype, out: Tensor, a: Operand, b: Operand
    ) -> None:
        """out = f(a, b)."""
        self._missing("binary")

    def predicate(self, f: str, compute: _C.dtype, out: Tensor, x: Operand) -> None:
        """out = f(x), a bool."""
        self._missing("predicate")

    def compare(
        self,
        f: str,
        compute: _C.dtype,
        out: Tensor,
        a: Operand,
        b: Operand,
        params: Params,
    ) -> None:
        """out = f(a, b), a bool."""
        self._missing("compare")

    def ternary(
        self,
        f: str,
        compute: _C.dtype,
        out: Tensor,
        a: Operand,
        b: Operand,
        c: Operand,
        params: Params,
    ) -> None:
        """out = f(a, b, c); for ``"where"``, a is the condition."""
        self._missing("ternary")

    # -- reductions: `out` has size 1 along the reduced dimensions

    def reduce(
        self, f: str, out: Tensor, x: Tensor, dims: tuple[int, ...], p: float
    ) -> None:
        """sum, mean, prod, min, max, any, all, count_nonzero, norm (of order p)."""
        self._missing("reduce")

    def extremes(
        self,
        values: Tensor | None,
        indices: Tensor | None,
        x: Tensor,
        dim: int,
        most: bool,
    ) -> None:
        """The largest (or smallest) element along `dim`, and its place."""
        self._missing("extremes")

    def variance(
        self,
        out: Tensor,
        mean: Tensor,
        x: Tensor,
        dims: tuple[int, ...],
        correction: float,
        root: bool,
    ) -> None:
        """Variance over `dims` (or its root), and the mean."""
        self._missing("variance")

    # -- indexing: `mode` is set, add, mul, max or min

    def index_get(
        self, out: Tensor, x: Tensor, indices: list[Tensor], first: int
    ) -> None:
        """out = x at positions, for its dimensions first, first + 1 ..."""
        self._missing("index_get")

    def index_put(
        self,
        out: Tensor,
        indices: list[Tensor],
        first: int,
        values: Tensor,
        mode: str,
    ) -> None:
        """Writes `values` at such positions."""
        self._missing("index_put")

    def gather(self, out: Tensor, x: Tensor, dim: int, index: Tensor) -> None:
        """out = x at the positions `index` along `dim`."""
        self._missing("gather")

    def scatter(
        self, out: Tensor, dim: int, index: Tensor, source: Tensor, mode: str
    ) -> None:
        """Writes `source` at the positions `index` along `dim`."""
        self._missing("scatter")

    # -- along one dimension

    def scan(
        self, f: str, out: Tensor, indices: Tensor | None, x: Tensor, dim: int
    ) -> None:
        """What lies up to each element: sum, prod, logsumexp, max, min."""
        self._missing("scan")

    def sort(
        self,
        values: Tensor | None,
        indices: Tensor | None,
        x: Tensor,
        dim: int,
        descending: bool,
    ) -> None:
        """Sorts, equals in their order; NaN counts as the largest."""
        self._missing("sort")

    def topk(
        self,
        values: Tensor | None,
        indices: Tensor | None,
        x: Tensor,
        dim: int,
        largest: bool,
        ordered: bool,
    ) -> None:
        """As many of the largest as the outputs have room for."""
        self._missing("topk")

    # -- matrix products

    def matmul(
        self, out: Tensor, a: Tensor, b: Tensor, alpha: Number, beta: Number
    ) -> None:
        """out = beta * out + alpha * (a @ b), with equal batch dimensions."""
        self._missing("matmul")


def register_backend(name: str, backend: Backend) -> None:
    """Makes `backend` the device called `name`.

    >>> import ember
    >>> class Null(ember.Backend):
    ...     def allocate(self, nbytes):
    ...         return bytearray(nbytes)
    >>> ember.register_backend("null", Null())
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
