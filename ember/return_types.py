"""The types of results with several parts: `ember.return_types.max` is that of
`ember.max(x, dim)`.

>>> import ember
>>> isinstance(ember.ones(2, 2).max(0), ember.return_types.max)
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# The core makes a type when its op is called first, so it is: on a matrix of ones.
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "aminmax": lambda ember, x: ember.aminmax(x),
    "cummax": lambda ember, x: ember.cummax(x, 0),
    "cummin": lambda ember, x: ember.cummin(x, 0),
    "frexp": lambda ember, x: ember.frexp(x),
    "geqrf": lambda ember, x: ember.geqrf(x),
    "histogram": lambda ember, x: ember.histogram(x, 2),
    "histogramdd": lambda ember, x: ember.histogramdd(x, [2]),
    "kthvalue": lambda ember, x: ember.kthvalue(x, 1),
    "linalg_cholesky_ex": lambda ember, x: ember.linalg.cholesky_ex(x),
    "linalg_eig": lambda ember, x: ember.linalg.eig(x),
    "linalg_eigh": lambda ember, x: ember.linalg.eigh(x),
    "linalg_inv_ex": lambda ember, x: ember.linalg.inv_ex(x),
    "linalg_ldl_factor": lambda ember, x: ember.linalg.ldl_factor(x),
    "linalg_ldl_factor_ex": lambda ember, x: ember.linalg.ldl_factor_ex(x),
    "linalg_lstsq": lambda ember, x: ember.linalg.lstsq(x, x),
    "linalg_lu": lambda ember, x: ember.linalg.lu(x),
    "linalg_lu_factor": lambda ember, x: ember.linalg.lu_factor(x),
    "linalg_lu_factor_ex": lambda ember, x: ember.linalg.lu_factor_ex(x),
    "linalg_qr": lambda ember, x: ember.linalg.qr(x),
    "linalg_slogdet": lambda ember, x: ember.linalg.slogdet(x),
    "linalg_solve_ex": lambda ember, x: ember.linalg.solve_ex(x, x),
    "linalg_svd": lambda ember, x: ember.linalg.svd(x),
    "lu_unpack": lambda ember, x: ember.lu_unpack(*ember.linalg.lu_factor(x)),
    "max": lambda ember, x: ember.max(x, 0),
    "median": lambda ember, x: ember.median(x, 0),
    "min": lambda ember, x: ember.min(x, 0),
    "mode": lambda ember, x: ember.mode(x),
    "nanmedian": lambda ember, x: ember.nanmedian(x, 0),
    "qr": lambda ember, x: ember.qr(x),
    "slogdet": lambda ember, x: ember.slogdet(x),
    "sort": lambda ember, x: ember.sort(x),
    "svd": lambda ember, x: ember.svd(x),
    "topk": lambda ember, x: ember.topk(x, 1),
    "triangular_solve": lambda ember, x: ember.triangular_solve(x, x),
}
all_return_types: list[type] = []


def __getattr__(name: str) -> type:
    if name not in _CALLS:
        raise AttributeError(f"module 'ember.return_types' has no attribute '{name}'")
    import ember

    with ember.no_grad():
        kind = type(_CALLS[name](ember, ember.ones(1, 1)))
    globals()[name] = kind
    all_return_types.append(kind)
    return kind


def __dir__() -> list[str]:
    return sorted(_CALLS)
