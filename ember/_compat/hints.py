"""Types that libraries write in their hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any, TypeVar

import ember
from ember import Tensor

T = TypeVar("T")
_scalar_or_tuple_any_t = T | tuple[T, ...]
_scalar_or_tuple_1_t = T | tuple[T]
_scalar_or_tuple_2_t = T | tuple[T, T]
_scalar_or_tuple_3_t = T | tuple[T, T, T]
_size_any_t = _scalar_or_tuple_any_t[int]
_size_1_t = _scalar_or_tuple_1_t[int]
_size_2_t = _scalar_or_tuple_2_t[int]
_size_3_t = _scalar_or_tuple_3_t[int]
_size_any_opt_t = _scalar_or_tuple_any_t[int | None]
_ratio_2_t = _scalar_or_tuple_2_t[float]
_ratio_3_t = _scalar_or_tuple_3_t[float]
_ratio_any_t = _scalar_or_tuple_any_t[float]
_tensor_list_t = _scalar_or_tuple_any_t[Tensor]
_maybe_indices_t = _scalar_or_tuple_2_t[Tensor]

FILE_LIKE = str | IO[bytes] | Any
MAP_LOCATION = Callable[[Any, str], Any] | ember.device | str | dict[str, str] | None


class _BroadcastingList:
    """A list of numbers, or one number for all of them."""

    def __getitem__(self, kind: Any) -> Any:
        return kind | list[kind]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _BroadcastingList()


def not_none(obj: T | None) -> T:
    """The object, which is not None."""
    if obj is None:
        raise TypeError("Invariant encountered: value was None when it should not be")
    return obj


DEFAULT_PROTOCOL = 2  # of pickles in checkpoints
_collate_fn_t = Callable[[list], Any]
_worker_init_fn_t = Callable[[int], None]
