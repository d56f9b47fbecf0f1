"""Reductions over any axes beside op by op, to rounding: `python -m
tests.compiler.columns` at the level that EMBER_CPU_LEVEL names; test_columns.py calls
it at each.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator

import ember
from ember.compiler import _llvm
from ember.compiler._kernel import Fused
from ember.compiler._program import Builder
from ember.compiler._total import Total

SHAPES = [
    (5,),
    (1, 1, 1),
    (7, 100),
    (100, 7),
    (300, 129),
    (2, 3, 40, 17),
    (20, 1, 64),
    (0, 20),
    (20, 0),
    (3, 0, 4),
    (5000, 20),
    (9000, 3),
    (40, 3000),
]
DTYPES = ["float32", "float64", "bfloat16", "int64", "int8", "bool"]


def spaces() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], bool]]:
    """Shape, axes, and whether memory is the other way round."""
    for shape, turned in itertools.product(SHAPES, (False, True)):
        for count in range(1, len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                yield shape, axes, turned


def values(shape: tuple[int, ...], dtype: str, turned: bool) -> ember.Tensor:
    size = shape[::-1] if turned else shape
    x = ember.randn(size, dtype=ember.float64) * 3
    x = x.to(getattr(ember, dtype))
    return x.permute(*reversed(range(len(shape)))) if turned else x


def names_of(dtype: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> list[str]:
    """Those that eager has for a dtype and a space."""
    kinds = ["any", "all"] if dtype == "bool" else ["sum", "max", "min"]
    if dtype.startswith(("float", "bfloat")):
        kinds.append("mean")
    if 0 in (shape[d] for d in axes):
        kinds = [name for name in kinds if name not in ("max", "min")]
    return kinds


def eager(name: str, x: ember.Tensor, axes: tuple[int, ...]) -> ember.Tensor:
    if name in ("max", "min"):
        return getattr(x, "a" + name)(axes, keepdim=True)
    if name == "sum" and not x.is_floating_point():
        return x.sum(axes, keepdim=True, dtype=x.dtype)
    if name in ("sum", "mean") and x.dtype != ember.float64:
        return getattr(x.double(), name)(axes, keepdim=True).to(x.dtype)
    return getattr(x, name)(axes, keepdim=True)


def far(got: ember.Tensor, want: ember.Tensor, x: ember.Tensor, name: str) -> bool:
    if got.dtype != want.dtype or got.shape != want.shape:
        return True
    if name not in ("sum", "mean") or not x.is_floating_point():
        return not ((got == want) | (got != got) & (want != want)).all()
    many = max(1, x.numel() // max(1, want.numel()))
    spread = 1e-5 * (many**0.5 if name == "sum" else 1)
    if x.dtype == ember.bfloat16:
        return not ember.allclose(got.float(), want.float(), 1e-2, 0.02, True)
    return not ember.allclose(got, want, 1e-5, spread, equal_nan=True)


def compare(dtype: str) -> tuple[int, list[str]]:
    """How much was compared, and what differs."""
    checked, wrong = 0, []
    for shape, axes, turned in spaces():
        names = names_of(dtype, shape, axes)
        b = Builder()
        i = b.load(dtype)
        program = b.program([b.reduce(name, i) for name in names], [1] * len(names))
        x = values(shape, dtype, turned)
        for way in (Fused(program), Total(program)):
            for name, got in zip(names, way(x, axes=axes), strict=True):
                checked += 1
                if far(got, eager(name, x, axes), x, name):
                    kind = type(way).__name__
                    wrong.append(f"{kind} {name} {dtype} {shape} {axes} {turned}")
    return checked, wrong


def main() -> int:
    ember.manual_seed(0)
    found = [compare(dtype) for dtype in DTYPES]
    wrong = [line for _, lines in found for line in lines]
    print(*wrong, sep="\n")
    print(f"{_llvm.level()}: {sum(n for n, _ in found)} results, {len(wrong)} differ")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
