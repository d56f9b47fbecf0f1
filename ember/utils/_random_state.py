"""The state of every generator that a training loop may draw from."""

from __future__ import annotations

import random
import sys
from typing import Any

import ember


def random_state() -> dict[str, Any]:
    """ember's (of every device), Python's and, if it is in use, NumPy's global state.

    It is made of tensors, numbers and tuples, which every checkpoint may hold.
    """
    state = {
        "ember": ember.get_rng_state(),
        "opencl": ember.opencl.get_rng_state(),
        "python": random.getstate(),
    }
    if "numpy" in sys.modules:
        numpy: Any = sys.modules["numpy"]
        name, keys, *rest = numpy.random.get_state()
        state["numpy"] = (str(name), [int(k) for k in keys], *map(float, rest))
    return state


def set_random_state(state: dict[str, Any]) -> None:
    """Go on from a `random_state()`."""
    ember.set_rng_state(state["ember"].cpu())
    ember.opencl.set_rng_state(state["opencl"])
    version, keys, gauss = state["python"]
    random.setstate((version, tuple(keys), gauss))
    if "numpy" in state:
        import numpy

        name, words, place, has_gauss, cached = state["numpy"]
        words = numpy.array(words, dtype=numpy.uint32)
        place, has_gauss = int(place), int(has_gauss)
        numpy.random.set_state((name, words, place, has_gauss, cached))  # noqa: NPY002
