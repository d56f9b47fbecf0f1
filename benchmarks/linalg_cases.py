"""Linear algebra: each function on a few sizes, float32 and float64."""

from __future__ import annotations

from benchmarks.timing import Case

SETUP = """
t.manual_seed(0)
a = t.randn({n}, {n}, dtype=t.{dtype})
s, b = a @ a.mT + {n} * t.eye({n}, dtype=a.dtype), t.randn({n}, 8, dtype=a.dtype)
u, L = s.triu(), t.linalg
"""
CALLS = {
    "lu_factor": "L.lu_factor(a)",
    "inv": "L.inv(a)",
    "solve, 8 columns": "L.solve(a, b)",
    "solve_triangular": "L.solve_triangular(u, a, upper=True)",
    "cholesky": "L.cholesky(s)",
    "qr": "L.qr(a)",
    "eigh": "L.eigh(s)",
    "svd": "L.svd(a)",
}

LINALG = [
    Case(f"{name}, {n} {dtype}", call, SETUP.format(n=n, dtype=dtype))
    for dtype in ("float32", "float64")
    for n in (16, 128, 512)
    for name, call in CALLS.items()
]
