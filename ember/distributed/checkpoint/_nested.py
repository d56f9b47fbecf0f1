"""State dictionaries within each other as one flat one: names are joined by dots.

Dictionaries are always opened, lists and tuples where a tensor or a dictionary is in
them. As in PyTorch's files, keys of dictionaries become text; an empty dictionary is
lost.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ember import Tensor

Path = tuple[str | int, ...]


def flatten_state_dict(state_dict: Mapping) -> tuple[dict[str, Any], dict[str, Path]]:
    """Values by joined name, and the path of each name."""
    flat: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    for path, value in _leaves((), state_dict):
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path
    return flat, paths


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves((*path, str(key)), part)
    elif isinstance(value, (list, tuple)) and _is_opened(value):
        for i, part in enumerate(value):
            yield from _leaves((*path, i), part)
    else:
        yield path, value


def _is_opened(value: Any) -> bool:
    if isinstance(value, (Mapping, Tensor)):
        return True
    return isinstance(value, (list, tuple)) and any(map(_is_opened, value))


def set_element(root: Any, path: Path, value: Any) -> None:
    """Put a value at a path; dictionaries and lists that are missing are made."""
    container = root
    for key, following in itertools.pairwise(path):
        make: type = list if isinstance(following, int) else dict
        container = _entry(container, key, make)
    if isinstance(container, list):
        assert isinstance(path[-1], int)
        container.extend([None] * (path[-1] + 1 - len(container)))
        container[path[-1]] = value
    elif isinstance(container, tuple):
        raise ValueError(
            f"distributed.checkpoint: {'.'.join(map(str, path))} lies in a tuple, "
            "which can't be changed; use a list"
        )
    else:
        container[_own_key(container, path[-1])] = value


def _entry(container: Any, key: Any, make: type) -> Any:
    """The container at a key, made if there is none."""
    if isinstance(container, (list, tuple)):
        if isinstance(container, list):
            container.extend([None] * (key + 1 - len(container)))
            if container[key] is None:
                container[key] = make()
        return container[key]
    return container.setdefault(_own_key(container, key), make())


def _own_key(container: Mapping, key: Any) -> Any:
    """The key of a dictionary whose text this is."""
    if key in container:
        return key
    return next((own for own in container if str(own) == key), key)
