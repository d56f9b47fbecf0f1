"""Collectives on short strings through a store, for programs without a group."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from ember.distributed._errors import DistStoreError
from ember.distributed._stores import Store, Value

_PATIENCE = timedelta(seconds=300)


class _StoreCollectives:
    """Collectives of `world_size` processes that meet at a store. Every call has a key
    of its own, which no other may use."""

    def __init__(self, store: Store, rank: int, world_size: int) -> None:
        self._store, self._rank, self._size = store, rank, world_size
        self._used: set[str] = set()

    def _begin(self, key: str) -> None:
        if key in self._used:
            raise ValueError(f"Key {key} has already been used.")
        self._used.add(key)

    def _get(self, key: str, timeout: timedelta) -> bytes:
        self._wait([key], timeout)
        return self._store.get(key)

    def _wait(self, keys: Sequence[str], timeout: timedelta) -> None:
        try:
            self._store.wait(list(keys), timeout)
        except DistStoreError as error:
            raise DistStoreError(f"Wait timeout: {error}") from None

    def _all(self, key: str, timeout: timedelta, what: str) -> list[bytes]:
        """The values of all ranks; an error names those that did not come."""
        names = [f"{key}/{rank}" for rank in range(self._size)]
        try:
            self._store.wait(names, timeout)
        except DistStoreError:
            absent = [r for r, n in enumerate(names) if not self._store.check([n])]
            raise DistStoreError(
                f"{what} failed -- missing ranks: {', '.join(map(str, absent))} "
                f"(at {key}, after {timeout.total_seconds():g} s)"
            ) from None
        return self._store.multi_get(names)

    def barrier(
        self, key: str, timeout: timedelta = _PATIENCE, block: bool = True
    ) -> None:
        """Say that this rank has come; with `block`, wait for the others."""
        self._begin(key)
        self._store.set(f"{key}/{self._rank}", "1")
        if block:
            self._all(key, timeout, "barrier")

    def broadcast_send(
        self, key: str, data: Value, timeout: timedelta = _PATIENCE
    ) -> None:
        """Send the same to all."""
        self._begin(key)
        self._store.set(key, data)

    def broadcast_recv(self, key: str, timeout: timedelta = _PATIENCE) -> bytes:
        """What one rank sends to all."""
        self._begin(key)
        return self._get(key, timeout)

    def gather_send(
        self, key: str, data: Value, timeout: timedelta = _PATIENCE
    ) -> None:
        """Send to the rank that gathers."""
        self._begin(key)
        self._store.set(f"{key}/{self._rank}", data)

    def gather_recv(
        self, key: str, data: Value, timeout: timedelta = _PATIENCE
    ) -> list[bytes]:
        """What all ranks sent, this one `data`."""
        return self._exchange(key, data, timeout, "gather")

    def scatter_send(
        self, key: str, data: Sequence[Value], timeout: timedelta = _PATIENCE
    ) -> bytes:
        """Send to every rank its element; this one's own."""
        if len(data) != self._size:
            raise ValueError(f"scatter_send(): expected {self._size} values")
        self._begin(key)
        names = [f"{key}/{rank}" for rank in range(self._size)]
        self._store.multi_set(names, data)
        return self._get(names[self._rank], timeout)

    def scatter_recv(self, key: str, timeout: timedelta = _PATIENCE) -> bytes:
        """This rank's element."""
        self._begin(key)
        return self._get(f"{key}/{self._rank}", timeout)

    def all_gather(
        self, key: str, data: Value, timeout: timedelta = _PATIENCE
    ) -> list[bytes]:
        """What all ranks give."""
        return self._exchange(key, data, timeout, "all_gather")

    def _exchange(
        self, key: str, data: Value, timeout: timedelta, what: str
    ) -> list[bytes]:
        self._begin(key)
        self._store.set(f"{key}/{self._rank}", data)
        return self._all(key, timeout, what)

    def all_sum(self, key: str, data: int, timeout: timedelta = _PATIENCE) -> int:
        """The sum of the numbers of all ranks."""
        values = self._exchange(key, str(data), timeout, "barrier")
        return sum(int(v) for v in values)
