"""Between ember and NumPy for the op tests: tensors from arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

import ember

from .entry import S


def dtype_of(name: str) -> Any:
    return getattr(ember, name)


def name_of(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def tensor(array: np.ndarray, dtype: str | None = None, device: str = "cpu") -> Any:
    """A tensor of the array's values; `dtype` where NumPy lacks it (bfloat16 ...)."""
    wanted = dtype_of(dtype or str(array.dtype))
    if device == "meta":
        return ember.empty(array.shape, dtype=wanted, device="meta")
    return ember.from_numpy(np.array(array)).to(wanted)


def array(t: Any) -> np.ndarray:
    t = t.detach()
    if name_of(t.dtype).startswith(("bfloat16", "float8")):
        t = t.to(ember.float32)
    elif name_of(t.dtype) == "complex32":
        t = t.to(ember.complex64)
    return np.array(t.numpy())


def tensors(call: S, dtype: str, device: str = "cpu", seed: int = 0) -> S:
    """The call with tensors in place of T."""
    arrays = iter(call.arrays(dtype, seed).tensors())

    def build(t: Any) -> Any:
        fixed = t.dtype if isinstance(t, np.ndarray) else t.dtype or dtype
        return tensor(next(arrays), str(fixed), device)

    return call.map(build)


def outputs(result: Any) -> list[Any]:
    """The tensors of a result, whatever holds them."""
    if isinstance(result, ember.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in outputs(part)]
    return []


def values(result: Any) -> list[np.ndarray]:
    """Everything in a result, as arrays."""
    if isinstance(result, ember.Tensor):
        return [array(result)]
    if isinstance(result, (tuple, list)) and not isinstance(result, ember.Size):
        return [a for part in result for a in values(part)]
    return [np.asarray(result)]


def grad(outs: list, inputs: list, weights: list, create_graph: bool = False) -> list:
    """Gradients of sum(out * weight) with respect to `inputs`; zeros for None."""
    found = ember.autograd.grad(
        outs, inputs, weights, create_graph=create_graph, allow_unused=True
    )
    return [
        ember.zeros(x.shape, dtype=x.dtype) if g is None else g
        for g, x in zip(found, inputs, strict=True)
    ]
