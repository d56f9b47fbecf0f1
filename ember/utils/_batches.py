"""What a training loop has to know of batches: tensors, tuples, dicts of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import ember


def move(batch: Any, device: Any) -> Any:
    """The batch with its tensors on `device`; None leaves them where they are."""
    if device is None:
        return batch
    if isinstance(batch, ember.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, Mapping):
        return {key: move(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(move(value, device) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(move(value, device) for value in batch)
    return batch


def split(batch: Any, target: str) -> tuple[list, dict[str, Any], Any]:
    """Positional and named inputs of the model, and the targets.

    The last of a tuple is the target, and the entry `target` of a dict.
    """
    if isinstance(batch, Mapping):
        if target not in batch:
            known = ", ".join(map(str, batch))
            raise KeyError(
                f"Trainer: no {target!r} in a batch with {known}; target= names the "
                "entry that the loss compares with"
            )
        inputs = {key: value for key, value in batch.items() if key != target}
        return [], inputs, batch[target]
    if isinstance(batch, list | tuple):
        if len(batch) < 2:
            raise ValueError(
                f"Trainer: a batch of {len(batch)} part has no targets; override "
                "compute_loss for such batches"
            )
        return list(batch[:-1]), {}, batch[-1]
    raise TypeError(
        "Trainer: a batch is a tuple (inputs, targets) or a dict, and this one is a "
        f"{type(batch).__name__}; override compute_loss for other batches"
    )


def inputs_of(batch: Any, target: str) -> tuple[list, dict[str, Any]]:
    """What the model is called with when only its outputs are wanted."""
    if isinstance(batch, Mapping):
        return [], {key: value for key, value in batch.items() if key != target}
    if isinstance(batch, list | tuple):
        return list(batch[:-1] if len(batch) > 1 else batch), {}
    return [batch], {}


def count_of(*parts: Any) -> int:
    """How many samples: the length of the first tensor that has one, else 1."""
    for part in parts:
        if isinstance(part, ember.Tensor):
            if part.dim():
                return len(part)
        elif isinstance(part, Mapping):
            return count_of(*part.values())
        elif isinstance(part, list | tuple):
            return count_of(*part)
    return 1


def check_reread(loader: Iterable, what: str, passes: int) -> None:
    """An iterator has nothing left for a second pass."""
    if passes > 1 and isinstance(loader, Iterator):
        raise TypeError(
            f"Trainer: the {what} is a {type(loader).__name__}, which can be read "
            f"once, and {passes} passes are wanted; give a DataLoader or a list"
        )


def no_batches(what: str) -> ValueError:
    return ValueError(
        f"Trainer: the {what} gave no batch; is the dataset empty, or smaller than a "
        "batch while drop_last=True?"
    )
