"""Questions to the compiler: accelerate and transformers ask them."""

from collections import Counter, defaultdict

# Kept for backends that are handed graphs: counters["stats"]["unique_graphs"].
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type: str) -> bool:
    """Whether programs on a kind of device are compiled: on the CPU."""
    return device_type == "cpu"
