"""Functions that PyTorch removed; calling one tells what to call instead."""

from __future__ import annotations

from typing import Any


def _removed(name: str, instead: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"{name}(): This function was deprecated since version 1.9 and is now "
            f"removed. Use `torch.linalg.{instead}` instead."
        )

    function.__name__ = name
    function.__doc__ = f"Removed; `linalg.{instead}` computes it."
    return function


eig = _removed("eig", "eig")
lstsq = _removed("lstsq", "lstsq")
matrix_rank = _removed("matrix_rank", "matrix_rank")
solve = _removed("solve", "solve")
symeig = _removed("symeig", "eigh")
