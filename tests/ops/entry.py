"""How an op is described to the generated tests: see README.md.

    op("exp", T(2, 3), ref=np.exp, dtypes="ifhc")
    op("sum", T(2, 3), S(T(2, 3), dim=1, keepdim=True), ref=np.sum, dtypes="ifc")

`T` is a random tensor, `S` the arguments of one call (a lone `T` stands for `S(T)`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

# What a letter of `dtypes` stands for. The first dtype of the entry is the one that
# most checks use.
DTYPES = {
    "f": ("float32", "float64"),
    "h": ("float16", "bfloat16"),
    "i": ("int64", "int32", "uint8"),
    "b": ("bool",),
    "c": ("complex128", "complex64"),
}
BOUNDS = {"f": (-2.0, 2.0), "h": (-2.0, 2.0), "i": (-5, 6), "b": (0, 2), "c": (-2, 2)}


def letter_of(dtype: str) -> str:
    """The letter under which a dtype stands in DTYPES."""
    if dtype.startswith(("int", "uint")):
        return "i"
    return {"bool": "b", "bfloat16": "h", "float16": "h"}.get(dtype) or dtype[0]


class T:
    """A random tensor of the given shape, the same in every run.

    `low`, `high` bound its values (of floats, and of ints where they are ints);
    `away` are values it keeps clear of by `gap` (kinks, poles); `dtype` fixes the
    dtype, which is otherwise that of the check; `grad=False` keeps it out of the
    gradient checks; `distinct` makes all elements different by at least 0.1.
    """

    def __init__(
        self,
        *shape: int,
        low: float | None = None,
        high: float | None = None,
        away: Sequence[float] = (),
        gap: float = 0.1,
        dtype: str | None = None,
        grad: bool = True,
        distinct: bool = False,
        make: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self.shape = shape
        self.low, self.high, self.away, self.gap = low, high, tuple(away), gap
        self.dtype, self.grad, self.distinct, self.make = dtype, grad, distinct, make

    def with_shape(self, shape: Sequence[int]) -> T:
        other = T()
        other.__dict__.update(self.__dict__)
        other.shape = tuple(shape)
        return other

    def array(self, dtype: str, rng: np.random.Generator) -> np.ndarray:
        """The values, exactly representable in `dtype`."""
        dtype = self.dtype or dtype
        letter = letter_of(dtype)
        low, high = self._bounds(letter, dtype)
        if letter == "b":
            return np.asarray(rng.integers(0, 2, self.shape)).astype(bool)
        if letter == "i":
            values = rng.integers(int(low), max(int(high), int(low) + 1), self.shape)
            for pole in self.away:
                values = np.where(values == pole, values + 1, values)
        elif letter == "c":
            values = self._reals(rng, low, high) + 1j * self._reals(rng, low, high)
        else:
            values = self._reals(rng, low, high)
        if self.make is not None:
            values = self.make(values)
        if dtype == "bfloat16":  # NumPy has none: keep the upper half of float32
            bits = np.asarray(values, np.float32).view(np.uint32) & 0xFFFF0000
            return np.asarray(bits).view(np.float32)
        if dtype.startswith("float8"):  # nor these, but small integers are in all
            return np.round(values).astype(np.float32)
        return np.asarray(values).astype(dtype)

    def _bounds(self, letter: str, dtype: str) -> tuple[float, float]:
        low, high = BOUNDS[letter]
        if self.low is not None:
            low = self.low if letter != "i" else np.ceil(self.low)
        if self.high is not None:
            high = self.high
        if dtype.startswith("uint"):
            low = max(low, 0)
        return low, high

    def _reals(self, rng: np.random.Generator, low: float, high: float) -> np.ndarray:
        if self.distinct:
            count = int(np.prod(self.shape))
            values = np.linspace(low, high, count) if count else np.zeros(0)
            return rng.permutation(values).reshape(self.shape)
        values = rng.uniform(low, high, self.shape)
        for pole in self.away:
            near = np.abs(values - pole) < self.gap
            moved = pole + np.where(values < pole, -self.gap, self.gap)
            values = np.where(near, moved, values)
        return values


class S:
    """The arguments of one call: tensors (`T`), arrays and plain values."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs

    def map(self, function: Callable[[Any], Any]) -> S:
        """With `function` applied to every T and array, also inside lists."""

        def visit(value: Any) -> Any:
            if isinstance(value, (T, np.ndarray)):
                return function(value)
            if isinstance(value, (list, tuple)) and any(
                isinstance(part, (T, np.ndarray)) for part in value
            ):
                return type(value)(visit(part) for part in value)
            return value

        return S(
            *(visit(a) for a in self.args),
            **{name: visit(a) for name, a in self.kwargs.items()},
        )

    def tensors(self) -> list[T | np.ndarray]:
        found: list[T | np.ndarray] = []
        self.map(lambda t: found.append(t) or t)
        return found

    def arrays(self, dtype: str, seed: int = 0) -> S:
        """With an array for every T."""
        rng = np.random.default_rng([seed, 17])
        return self.map(lambda t: t.array(dtype, rng) if isinstance(t, T) else t)

    def __repr__(self) -> str:
        def text(value: Any) -> str:
            return f"T{value.shape}" if isinstance(value, T) else repr(value)

        parts = [text(a) for a in self.args]
        parts += [f"{name}={text(a)}" for name, a in self.kwargs.items()]
        return f"({', '.join(parts)})"


@dataclass
class Entry:
    """What the generated tests know about one op. README.md explains the fields."""

    name: str
    samples: list[S]
    ref: Callable[..., Any] | None = None
    dtypes: str = "f"
    result: str | None = None
    grad: bool | str = True
    tol: float = 1.0
    checks: dict[str, bool] = field(default_factory=dict)
    view: bool = False
    random: bool = False
    errors: list[tuple[S, type[Exception], str]] = field(default_factory=list)
    source: str = ""

    @property
    def names(self) -> list[str]:
        """The dtypes of the entry, the main one first."""
        order = sorted(self.dtypes, key="fcihb".index)
        return [name for letter in order for name in DTYPES[letter]]


ENTRIES: dict[str, Entry] = {}
DUPLICATES: list[str] = []


def op(name: str, *samples: S | T, **fields: Any) -> Entry:
    """Describes the op `name`; the remaining arguments are fields of Entry.

    `skip="out meta"` leaves checks out; say why in a comment.
    """
    if name in ENTRIES:
        DUPLICATES.append(f"{name} has entries in {ENTRIES[name].source} and {_module}")
    calls = [sample if isinstance(sample, S) else S(sample) for sample in samples]
    skipped = fields.pop("skip", "").split()
    errors = [
        (call if isinstance(call, S) else S(call), kind, text)
        for call, kind, text in fields.pop("errors", ())
    ]
    entry = Entry(name, calls, errors=errors, **fields)
    entry.checks = dict.fromkeys(skipped, False)
    entry.source = _module
    ENTRIES[name] = entry
    return entry


def alias(name: str, of: str) -> Entry:
    """`name` is another name of the op `of`, whose entry it takes."""
    if name in ENTRIES:
        DUPLICATES.append(f"{name} has entries in {ENTRIES[name].source} and {_module}")
    ENTRIES[name] = replace(ENTRIES[of], name=name, source=_module)
    return ENTRIES[name]


def view_forms(name: str, *suffixes: str) -> None:
    """The other forms of the view `name`: "copy", and "" for the one in place."""
    of = ENTRIES[name]
    for suffix in suffixes:
        form = replace(of, name=f"{name}_{suffix}", view=False, source=_module)
        form.grad = of.grad if suffix else False  # a leaf does not change in place
        ENTRIES[form.name] = form


_module = ""


def load() -> dict[str, Entry]:
    """Reads all of tests/ops/samples."""
    global _module
    package = importlib.import_module("tests.ops.samples")
    modules: Iterable[pkgutil.ModuleInfo] = pkgutil.iter_modules(package.__path__)
    for info in modules:
        _module = f"tests/ops/samples/{info.name}.py"
        importlib.import_module(f"tests.ops.samples.{info.name}")
    return ENTRIES
