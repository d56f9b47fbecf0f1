"""Products of float16 and bfloat16: decoding (one row), small batches, training."""

from __future__ import annotations

from benchmarks.timing import Case

DTYPES = ("bfloat16", "float16")
LINEAR = """
f = t.nn.functional.linear
x, w, b = (t.randn(s).to(t.{dtype}) for s in (({rows}, {k}), ({n}, {k}), ({n},)))
"""
GRADS = LINEAR + "g = t.randn({rows}, {n}).to(t.{dtype})\n"

HALF = [
    *(
        Case(f"linear, {rows} rows, {k} to {n}, {dtype}", "f(x, w, b)",
             LINEAR.format(rows=rows, k=k, n=n, dtype=dtype))
        for dtype in DTYPES
        for k, n in ((4096, 4096), (4097, 4095), (768, 3072))
        for rows in (1, 8, 256)
    ),
    *(
        Case(f"its gradients, {rows} rows, 2048 to 2048, {dtype}", "g @ w, g.t() @ x",
             GRADS.format(rows=rows, k=2048, n=2048, dtype=dtype))
        for dtype in DTYPES
        for rows in (8, 256)
    ),
    *(
        Case(f"1024x1024 @ 1024x1024, {dtype}", "a @ a",
             f"a = t.randn(1024, 1024).to(t.{dtype})")
        for dtype in DTYPES
    ),
]  # fmt: skip
