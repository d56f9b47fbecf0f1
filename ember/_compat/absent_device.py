"""The module of a kind of devices of which there are none."""

from __future__ import annotations

from typing import Any, NoReturn

from ember import _unavailable


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


manual_seed_all = manual_seed


def seed() -> None:
    """Nothing to seed."""


seed_all = seed


def empty_cache() -> None:
    """Nothing is cached."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
current_allocated_memory = driver_allocated_memory = memory_allocated
recommended_max_memory = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing to reset."""


def get_rng_state_all() -> list:
    """Empty."""
    return []


def set_rng_state_all(new_states: list) -> None:
    """Nothing to set."""


_NEED_A_DEVICE = """
    synchronize current_device get_device_name get_device_properties
    get_device_capability current_stream set_stream get_rng_state set_rng_state
    mem_get_info set_device init _lazy_init initial_seed set_per_process_memory_fraction
    stream
    """.split()


def fill(space: dict[str, Any], kind: str) -> None:
    """Give a module the functions that programs ask whether there is such a device."""

    def missing(*args: Any, **kwargs: Any) -> NoReturn:
        """Raises: there are no such devices."""
        raise AssertionError(
            f"ember is not compiled with {kind.upper()} enabled: it has no such "
            "devices. Use 'cpu', or 'opencl' for a GPU"
        )

    for name, value in list(globals().items()):
        if callable(value) and not name.startswith("_") and name not in ("fill", "Any"):
            space[name] = value
    space.update(dict.fromkeys(_NEED_A_DEVICE, missing))
    _unavailable.fill(
        space, kind, "ember has no such devices", "Stream Event StreamContext device"
    )
