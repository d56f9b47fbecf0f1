"""Making a batch of samples: `default_collate` and `default_convert`."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ember
from ember import Tensor

# A worker has shared memory for batches of at least this many bytes.
LARGE = 1 << 14
allocate: Callable[[tuple, "ember.dtype"], Tensor] | None = None


def _is_numpy(value) -> bool:
    return type(value).__module__ == "numpy"


def default_convert(data):
    """NumPy arrays inside `data` as tensors, all else as it is.

    >>> import numpy as np
    >>> default_convert({"x": np.arange(2), "name": "a"})
    {'x': tensor([0, 1]), 'name': 'a'}
    """
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
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: list, *, collate_fn_map: dict | None = None):
    """A batch by functions for types, which may be new or replace the default ones.

    A function is called as `fn(batch, collate_fn_map=...)`. Mappings and sequences of
    types that have none are collated item by item.

    >>> import ember
    >>> from ember.utils.data._utils.collate import collate
    >>> collate([1, 2], collate_fn_map={int: lambda batch, **options: sum(batch)})
    3
    """
    first, map = batch[0], collate_fn_map
    fn = _function_for(first, map) if map else None
    if fn is not None:
        return fn(batch, collate_fn_map=map)
    if isinstance(first, Mapping):
        columns = {
            key: collate([row[key] for row in batch], collate_fn_map=map)
            for key in first
        }
        return _like_mapping(first, columns)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(collate(list(c), collate_fn_map=map) for c in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(row) != len(first) for row in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [collate(list(column), collate_fn_map=map) for column in zip(*batch)]
        return parts if isinstance(first, tuple) else _like_sequence(first, parts)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or "
        f"lists; found {type(first)}"
    )


def _function_for(value, map: dict) -> Callable | None:
    kind = type(value)
    if kind in map:
        return map[kind]
    if map is default_collate_fn_map and _is_numpy(value):
        text = isinstance(value, (str, bytes))  # one of NumPy's
        return collate_str_fn if text else collate_numpy_fn
    for known, fn in map.items():
        if isinstance(value, known):
            return fn
    return None


def collate_tensor_fn(batch: list, *, collate_fn_map: dict | None = None):
    """A stack of tensors."""
    return _stack(batch)


def collate_numpy_fn(batch: list, *, collate_fn_map: dict | None = None):
    """A stack of arrays, or a tensor of NumPy's numbers."""
    return _collate_numpy(batch)


def collate_float_fn(batch: list, *, collate_fn_map: dict | None = None):
    """A tensor of numbers, in double precision."""
    return ember.tensor(batch, dtype=ember.float64)


def collate_int_fn(batch: list, *, collate_fn_map: dict | None = None):
    """A tensor of integers."""
    return ember.tensor(batch)


def collate_str_fn(batch: list, *, collate_fn_map: dict | None = None):
    """Text stays as it is."""
    return batch


# Programs add types of their own. NumPy's are looked up by name (`_function_for`), so
# that it need not be imported; `_utils.collate` puts them here too.
default_collate_fn_map: dict[Any, Callable] = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _collate_numpy(batch: list):
    first = batch[0]
    if first.dtype.kind not in "biufc":
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts "
            f"or lists; found {first.dtype}"
        )
    if type(first).__name__ != "ndarray":  # one of NumPy's numbers
        return ember.as_tensor(batch)
    return _stack([ember.as_tensor(array) for array in batch])


def _stack(batch: list[Tensor]) -> Tensor:
    first = batch[0]
    if allocate is None or first.nbytes * len(batch) < LARGE or not _alike(batch):
        return ember.stack(batch, 0)
    out = allocate((len(batch), *first.shape), first.dtype)
    return ember.stack(batch, 0, out=out)


def take_rows(t: Tensor, rows: Tensor) -> Tensor:
    """A batch of the rows of a tensor."""
    size = (len(rows), *t.shape[1:])
    plain = type(t) is Tensor and t.is_cpu and not t.requires_grad
    if allocate is None or not plain or math.prod(size) * t.element_size() < LARGE:
        return t.index_select(0, rows.to(t.device))
    return ember.index_select(t, 0, rows, out=allocate(size, t.dtype))


def _alike(batch: list[Tensor]) -> bool:
    shape, dtype = batch[0].shape, batch[0].dtype
    return all(
        type(t) is Tensor
        and t.shape == shape
        and t.dtype == dtype
        and t.is_cpu
        and not t.requires_grad
        for t in batch
    )


def collate_one_by_one(samples: Iterator, count: int):
    """`default_collate` of samples that are made as they are asked for.

    Large arrays are written to their place in the batch at once, while they are in the
    processor's cache, and their memory serves for the next sample.
    """
    first = next(samples)
    parts, build = _parts_of(first)
    if not any(map(_is_large, parts)) or not _is_default():
        return default_collate([first, *samples])
    columns: list = [_Rows(p, count) if _is_large(p) else [p] for p in parts]
    del parts
    for sample in samples:
        values = (sample,) if build is None else sample
        if build is not None and (
            type(sample) is not type(first) or len(sample) != len(columns)
        ):
            whole = [_sample_at(columns, i, first) for i in range(len(columns[0]))]
            return default_collate([*whole, sample, *samples])
        if type(sample) is dict:
            values = [sample[key] for key in first]
        for column, value in zip(columns, values):
            column.append(value)
    made = [c.batch() if isinstance(c, _Rows) else default_collate(c) for c in columns]
    return made[0] if build is None else build(made)


def _is_default() -> bool:
    """Whether types are collated as they always were."""
    own = (collate_tensor_fn, collate_numpy_fn)
    arrays = ("Tensor", "ndarray", "tuple", "list", "dict")
    return all(
        fn in own
        for kind, fn in default_collate_fn_map.items()
        if getattr(kind, "__name__", "") in arrays
    )


def _parts_of(sample) -> tuple[Sequence, Callable | None]:
    """What is collated separately in samples like this, and how it is put together."""
    if type(sample) in (tuple, list):
        return sample, list
    if type(sample) is dict:
        return list(sample.values()), lambda made: dict(zip(sample, made))
    return (sample,), None


def _sample_at(columns: list, i: int, like):
    values = [column[i] for column in columns]
    return dict(zip(like, values)) if type(like) is dict else type(like)(values)


def _is_large(value) -> bool:
    if type(value) is Tensor:
        return value.nbytes >= LARGE and value.is_cpu and not value.requires_grad
    return (
        type(value).__name__ == "ndarray"
        and _is_numpy(value)
        and value.nbytes >= LARGE
        and value.dtype.kind in "biufc"
    )


class _Rows:
    """A batch of large arrays, filled row by row; a list if they turn out to differ."""

    def __init__(self, first, count: int) -> None:
        row = first if isinstance(first, Tensor) else ember.as_tensor(first)
        self.shape, self.dtype = row.shape, row.dtype
        self.out = (allocate or _empty)((count, *self.shape), self.dtype)
        self.filled = 0
        self.rest: list | None = None
        self.append(row)

    def __len__(self) -> int:
        return self.filled if self.rest is None else len(self.rest)

    def __getitem__(self, i: int):
        return self.out[i] if self.rest is None else self.rest[i]

    def append(self, value) -> None:
        t = value if isinstance(value, Tensor) else ember.as_tensor(value)
        same = t.shape == self.shape and t.dtype == self.dtype and not t.requires_grad
        if self.rest is not None or not same:
            if self.rest is None:
                self.rest = list(self.out[: self.filled])
            self.rest.append(t)
            return
        self.out[self.filled].copy_(t)
        self.filled += 1

    def batch(self) -> Tensor:
        return self.out if self.rest is None else default_collate(self.rest)


def _empty(size: tuple, dtype) -> Tensor:
    return ember.empty(size, dtype=dtype)


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
