"""Seeds and states of the default generator of random numbers.

The numbers are torch's: the same seed gives the same tensors, initial weights and
shuffled batches on every device.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from ember._C import Generator, Tensor, default_generator

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator; negative seeds count from 2**64."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seeds the default generator from the system's entropy; returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator as a tensor of bytes, in torch's format."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restores a state that `get_rng_state` returned, ember's or torch's."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[object] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cpu",
) -> Iterator[None]:
    """Restores the state of the default generator at the end of the block.

    All devices draw from the one generator, so `devices` need not be named.
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
