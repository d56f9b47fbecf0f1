"""Walks over graphs of data pipes, which accelerate and torchdata import."""

from __future__ import annotations

from typing import Any


def traverse_dps(datapipe: Any) -> dict:
    """A pipe and those that it draws from: {id: (pipe, {...})}."""
    inner: dict = {}
    for value in vars(datapipe).values():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if hasattr(item, "__getitem__") and hasattr(item, "functions"):
                inner |= traverse_dps(item)
    return {id(datapipe): (datapipe, inner)}


traverse = traverse_dps


def get_all_graph_pipes(graph: dict) -> list:
    """All pipes of what `traverse_dps` found."""
    pipes = []
    for pipe, inner in graph.values():
        pipes += [pipe, *get_all_graph_pipes(inner)]
    return pipes


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Seed every pipe that can be seeded."""
    import ember

    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if callable(getattr(pipe, "set_seed", None)):
            seed = ember.empty((), dtype=ember.int64).random_(generator=rng).item()
            pipe.set_seed(int(seed))
    return datapipe


def apply_sharding(
    datapipe: Any, num_of_instances: int, instance_id: int, *a: Any
) -> Any:
    """Tell every pipe that can be divided which part is this process's."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if callable(getattr(pipe, "apply_sharding", None)):
            pipe.apply_sharding(num_of_instances, instance_id, *a)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switch shuffling on or off in every pipe that shuffles."""
    if shuffle is None:
        return datapipe
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if callable(getattr(pipe, "set_shuffle", None)):
            pipe.set_shuffle(shuffle)
    return datapipe


apply_shuffle_seed = apply_random_seed
