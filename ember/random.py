"""Seeds and states of the default generator of random numbers.

The CPU's numbers are torch's: the same seed gives the same tensors, initial weights and
shuffled batches. OpenCL devices draw numbers of their own, from a generator that is
seeded together with the CPU's; see `ember.opencl.get_rng_state`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from ember._C import Generator, Tensor, _opencl_generator, default_generator

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def manual_seed(seed: int) -> Generator:
    """Seeds the generators of all devices; negative seeds count from 2**64."""
    _opencl_generator.manual_seed(int(seed))
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seeds all generators from the system's entropy; returns the seed."""
    number = default_generator.seed()
    _opencl_generator.manual_seed(number)
    return number


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator as a tensor of bytes, in torch's format."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restores a state that `get_rng_state` returned, ember's or torch's."""
    default_generator.set_state(new_state)


def _states() -> tuple[Tensor, Tensor]:
    """The states of the generators of all devices."""
    return default_generator.get_state(), _opencl_generator.get_state()


def _set_states(states: tuple[Tensor, Tensor]) -> None:
    for generator, state in zip(
        (default_generator, _opencl_generator), states, strict=True
    ):
        generator.set_state(state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[object] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cpu",
) -> Iterator[None]:
    """Restores the states of the generators at the end of the block.

    Those of all devices, so `devices` need not be named.
    """
    if not enabled:
        yield
        return
    states = _states()
    try:
        yield
    finally:
        _set_states(states)


def thread_safe_generator() -> Generator | None:
    """The generator of a worker that is a thread; None elsewhere: take the default.

    A `DataLoader`'s workers are processes, each with a default generator of its own.

    >>> import ember
    >>> ember.rand(2, generator=ember.random.thread_safe_generator()).shape
    torch.Size([2])
    """
    return None
