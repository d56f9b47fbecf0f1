"""Running one description on two libraries and comparing what happens."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def to_numpy(value: Any) -> Any:
    if hasattr(value, "detach"):
        return np.array(value.detach().resolve_conj().numpy())
    return value


def load(library: Any, a: np.ndarray) -> Any:
    return a.copy() if library is np else library.from_numpy(a.copy())


def materialise(library: Any, value: Any) -> Any:
    """Arrays become tensors of `library`, inside tuples too."""
    if isinstance(value, np.ndarray):
        return load(library, value)
    if isinstance(value, tuple):
        return tuple(materialise(library, part) for part in value)
    return value


def outcome(function: Callable[[], Any]) -> tuple[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", function()
        except Exception as error:
            return "error", error


def both(
    ember: Any, reference: Any, function: Callable[[Any], Any], what: str
) -> tuple[Any, Any] | None:
    """Runs on both; None if both raise. Differences are AssertionErrors."""
    kind, got = outcome(lambda: function(ember))
    expected_kind, want = outcome(lambda: function(reference))
    if isinstance(want, TypeError) and "must be Tensor" in str(want):
        return None  # ember takes a number wherever it takes a tensor
    if expected_kind == "error":
        assert kind == "error", f"{what}: {reference.__name__} raised {want!r}"
        # "Not implemented for this dtype" is sometimes the one, sometimes the other.
        alike = isinstance(got, RuntimeError) and isinstance(want, RuntimeError)
        if reference is not np and not alike:
            assert type(got) is type(want), f"{what}: {got!r}, expected {want!r}"
        return None
    assert kind == "value", f"{what}: raised {got!r}"
    return got, want


def agree(got: Any, want: Any, what: str, rtol: float = 0) -> None:
    """The same dtype, shape and values."""
    name = str(got.dtype).rpartition(".")[2]
    expected = str(want.dtype).rpartition(".")[2]
    assert name == expected, f"{what}: dtype {name}, expected {expected}"
    a, b = to_numpy(got), to_numpy(want)
    assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=what)


def same_layout(got: Any, want: Any, what: str) -> None:
    """The same strides and offset, where they mean something."""
    if got.numel() < 2:
        return
    layout = [
        [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1]
        + [t.storage_offset()]
        for t in (got, want)
    ]
    assert layout[0] == layout[1], f"{what}: layout {layout[0]}, expected {layout[1]}"
