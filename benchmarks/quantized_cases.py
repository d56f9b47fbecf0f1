"""Products with weights of 8 and 4 bits, each library by its own names."""

from __future__ import annotations

from benchmarks.timing import Case

SETUP = """
from benchmarks.decode import weights_of
f = weights_of(t, "{precision}")({n}, {k})
x = t.randn({rows}, {k}).to(t.bfloat16)
"""

QUANTIZED = [
    Case(f"linear, {rows} rows, {k} to {n}, {precision}", "f(x)",
         SETUP.format(rows=rows, k=k, n=n, precision=precision))
    for precision in ("int8", "int4")
    for k, n in ((4096, 4096), (768, 3072))
    for rows in (1, 8, 256)
]  # fmt: skip
