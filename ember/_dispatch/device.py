"""The device of tensors that hold an object: its primitives are ops on the objects.

See Note [Wrappers], core/python/wrappers.cpp.
"""

from __future__ import annotations

from typing import Any

import ember
from ember import _C
from ember._C import Tensor
from ember._dispatch.wrappers import (
    Memory,
    Place,
    bare,
    below,
    geometry_of,
    recording,
    resolve,
    store,
)
from ember.backend import Backend, memory_of


class Cells(Backend):
    """The primitives, on the objects in cells."""

    def _run(self, out: Tensor, function: Any, *operands: Any) -> None:
        place, places = Place.of(out), [Place.of(x) for x in operands]

        def run() -> None:
            with below():
                store(place, function(*map(resolve, places)))

        if recording.log is None:
            run()
        elif place.cell.owner is None:
            recording.log.add(memory_of(out), run)

    def _each(self, outs: tuple, function: Any, x: Tensor) -> None:
        for i, out in enumerate(outs):
            if out is not None:
                shape = geometry_of(out)[0]
                self._run(out, lambda x, i=i, s=shape: function(x)[i].view(s), x)

    def allocate(self, nbytes: int) -> Memory:
        return Memory()

    def copy_bytes(self, to: Any, source: Any, nbytes: int) -> None:
        to.cell.set(source.cell.get(), source.cell.geometry)

    def copy_from_host(self, to: Tensor, source: memoryview) -> None:
        with bare():
            host = ember.frombuffer(bytearray(source), dtype=to.dtype).view(to.shape)
        store(Place.of(to), host)

    def copy_to_host(self, to: memoryview, source: Tensor) -> None:
        raise NotImplementedError(
            "the gradient of this op reads the values of a tensor subclass with "
            "__torch_dispatch__, which only the subclass knows"
        )

    def copy(self, out: Tensor, x: Tensor) -> None:
        if recording.in_place and memory_of(x).cell.owner is not None:
            with below():  # what the op is about to change
                store(Place.of(out), resolve(Place.of(x)).clone())
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
        op, shape = _op(f), geometry_of(out)[0]

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
        k = geometry_of(values if values is not None else indices)[0][dim]

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
