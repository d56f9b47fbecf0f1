"""Making a batch of samples: `default_collate` and `default_convert`."""

from collections.abc import Mapping, Sequence

import ember
from ember import Tensor


def _is_numpy(value) -> bool:
    return type(value).__module__ == "numpy"


def default_convert(data):
    """NumPy arrays inside `data` as tensors, all else as it is."""
    if isinstance(data, Tensor):
        return data
    if _is_numpy(data):
        return ember.as_tensor(data) if data.dtype.kind in "biufc" else data
    if isinstance(data, Mapping):
        return _like_mapping(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(v) for v in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(v) for v in data])
    return data


def default_collate(batch: list):
    """A batch of equal structures as one structure of batched tensors.

    >>> import ember
    >>> ember.utils.data.default_collate([(1, 2.0), (3, 4.0)])
    [tensor([1, 3]), tensor([2., 4.], dtype=torch.float64)]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return ember.stack(batch, 0)
    if _is_numpy(first):
        return _collate_numpy(batch)
    if isinstance(first, float):
        return ember.tensor(batch, dtype=ember.float64)
    if isinstance(first, int):
        return ember.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        columns = {key: default_collate([row[key] for row in batch]) for key in first}
        return _like_mapping(first, columns)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(list(c)) for c in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(row) != len(first) for row in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(list(column)) for column in zip(*batch)]
        return parts if isinstance(first, tuple) else _like_sequence(first, parts)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or "
        f"lists; found {type(first)}"
    )


def _collate_numpy(batch: list):
    first = batch[0]
    if first.dtype.kind not in "biufc":
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts "
            f"or lists; found {first.dtype}"
        )
    if first.shape == () and not hasattr(first, "setflags"):
        return ember.as_tensor(batch)
    return ember.stack([ember.as_tensor(array) for array in batch], 0)


def _like_mapping(like, values: dict):
    try:
        return type(like)(values)
    except TypeError:  # its constructor is another
        return values


def _like_sequence(like, values: list):
    try:
        return type(like)(values)
    except TypeError:  # range and others cannot be made from a list
        return values
