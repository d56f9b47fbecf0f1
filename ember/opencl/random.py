"""The random numbers of OpenCL devices: their seed and their state."""

from __future__ import annotations

from typing import Any

import ember
from ember import _C


def manual_seed(seed: int) -> None:
    """Seed the device's random numbers; `ember.manual_seed` does so, too.

    They are Philox sequences, one for each draw: the same seed gives the same numbers
    on every OpenCL device, but not those of the CPU.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     ember.opencl.manual_seed(3)
    ...     first = ember.rand(4, device="opencl")
    ...     ember.opencl.manual_seed(3)
    ...     assert ember.equal(ember.rand(4, device="opencl"), first)
    """
    _C._opencl_generator.manual_seed(int(seed))


manual_seed_all = manual_seed


def seed() -> None:
    """Seed the device's random numbers from the system's entropy."""
    _C._opencl_generator.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed of the device's random numbers."""
    return _C._opencl_generator.initial_seed()


def get_rng_state(device: Any = "opencl") -> ember.Tensor:
    """The state of the device's random numbers, as a tensor of bytes."""
    return _C._opencl_generator.get_state()


def set_rng_state(new_state: ember.Tensor, device: Any = "opencl") -> None:
    """Restore what `get_rng_state` returned."""
    _C._opencl_generator.set_state(new_state)


def get_rng_state_all() -> list[ember.Tensor]:
    """The states of the random numbers of all devices."""
    return [get_rng_state()]


def set_rng_state_all(new_states: list[ember.Tensor]) -> None:
    """Restore what `get_rng_state_all` returned."""
    for state in new_states:
        set_rng_state(state)
