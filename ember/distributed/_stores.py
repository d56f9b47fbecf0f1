"""Stores: keys and values by which processes find each other.

>>> import ember.distributed as dist
>>> store = dist.HashStore()
>>> store.set("greeting", "hello")
>>> store.get("greeting"), store.add("count", 3), store.num_keys()
(b'hello', 3, 2)
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from ember import _C
from ember.distributed._errors import (
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from ember.distributed._secret import secret

Value = str | bytes
_default_timeout = timedelta(seconds=300)


def _bytes(value: Value) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):  # of numbers, as PyTorch's C++ passes vectors
        return bytes(value)
    return bytes(value)


def _key(key: Value) -> str:
    return key.decode() if isinstance(key, bytes) else key


class Store:
    """What all stores can do. A class of one's own defines `set`, `get`, `add` and what
    else it needs."""

    def __init__(self) -> None:
        self._timeout = _default_timeout

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait, unless they are told."""
        return getattr(self, "_timeout", _default_timeout)

    def set_timeout(self, timeout: timedelta) -> None:
        """Change how long `get` and `wait` wait."""
        self._timeout = timeout

    def _seconds(self, timeout: timedelta | None) -> float:
        return (self.timeout if timeout is None else timeout).total_seconds()

    def _absent(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Not implemented. {type(self).__name__} does not define this method"
        )

    set = get = add = compare_set = check = delete_key = num_keys = _absent
    wait = list_keys = queue_push = queue_pop = queue_len = _absent

    def append(self, key: str, value: Value) -> None:
        """Add bytes to the end of a value."""
        before, after = b"", _bytes(value)
        while (found := self.compare_set(key, before, after)) != after:
            before, after = found, found + _bytes(value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys, as soon as all are there."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[Value]) -> None:
        """Set several keys."""
        for key, value in zip(keys, values):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether `append`, `multi_get` and `multi_set` are there."""
        return type(self).append is not Store.append

    def clone(self) -> Store:
        """Another connection to the same keys."""
        return self

    def barrier(
        self, key: str, world_size: int, timeout: timedelta | None = None
    ) -> None:
        """Return when `world_size` callers have come; the key serves again after."""
        arrived = self.add(key, 1)
        opened = f"{key}/open/{(arrived - 1) // world_size}"
        if arrived % world_size == 0:
            self.set(opened, "")
            return
        seconds = self._seconds(timeout)
        try:
            self.wait([opened], timedelta(seconds=seconds))
        except DistStoreError:
            raise DistStoreError(
                f"barrier timeout after {round(seconds * 1000)}ms at {key}: "
                f"{self.add(key, 0)} have come, of {world_size} in a round"
            ) from None


class _Keys(Store):
    """A store on a table of the core, in this process or another."""

    _handle: Any

    def _ask(self, command: str, *arguments: Value, timeout: float = 0.0) -> Any:
        try:
            return _C._dist_ask(self._handle, command, arguments, timeout)
        except RuntimeError as error:
            raise DistNetworkError(
                f"{type(self).__name__}.{command}(): {error}"
            ) from None

    def _late(self, what: str, keys: Sequence[str], seconds: float) -> DistStoreError:
        return DistStoreError(
            f"{what} timeout after {round(seconds * 1000)}ms, keys: /{', /'.join(keys)}"
        )

    def set(self, key: str, value: Value) -> None:
        """Set a key."""
        self._ask("set", key, _bytes(value))

    def append(self, key: str, value: Value) -> None:
        """Add bytes to the end of a value."""
        self._ask("append", key, _bytes(value))

    def get(self, key: str) -> bytes:
        """The value of a key, as soon as it is there."""
        seconds = self.timeout.total_seconds()
        value = self._ask("get", key, timeout=seconds)
        if value is None:
            raise self._late("wait", [key], seconds)
        return value

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which is 0 at first; the sum."""
        return self._ask("add", key, str(amount))

    def compare_set(
        self, key: str, expected_value: Value, desired_value: Value
    ) -> bytes:
        """Set a key if it has the expected value; what it has then."""
        return self._ask(
            "compare_set", key, _bytes(expected_value), _bytes(desired_value)
        )

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Return when all keys are there."""
        seconds = self._seconds(timeout)
        if not self._ask("wait", *keys, timeout=seconds):
            raise self._late("wait", keys, seconds)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        return self._ask("check", *keys)

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        return self._ask("delete", key)

    def queue_push(self, key: str, value: Value) -> None:
        """Put a value at the end of a queue."""
        self._ask("push", key, _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the value at the head of a queue."""
        seconds = self.timeout.total_seconds() if block else 0.0
        value = self._ask("pop", key, timeout=seconds)
        if value is None:
            raise (
                self._late("queue_pop", [key], seconds)
                if block
                else QueueEmptyError(f"queue {key} is empty")
            )
        return value

    def queue_len(self, key: str) -> int:
        """How many values are in a queue."""
        return self._ask("length", key)

    def num_keys(self) -> int:
        """How many keys there are."""
        return self._ask("size")

    def list_keys(self) -> list[str]:
        """All keys."""
        return [key.decode() for key in self._ask("keys")]


class HashStore(_Keys):
    """Keys of this process, for its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._handle = _C._dist_table()


_servers: dict[int, Any] = {}  # by port; those that others may use again


def _agent_keeps(port: int) -> bool:
    """Whether the launcher already serves at this port, for its workers."""
    kept = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") in ("1", "True")
    return kept and os.environ.get("MASTER_PORT") == str(port)


class TCPStore(_Keys):
    """Keys in a server that one of the processes runs.

    >>> import ember.distributed as dist
    >>> store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    >>> other = dist.TCPStore("localhost", store.port)
    >>> other.set("a", "1")
    >>> store.get("a")
    b'1'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = _default_timeout,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        if world_size == 0:
            raise ValueError("TCPStore world size cannot be 0")
        self._timeout, self._libuv = timeout, use_libuv
        self._host, self._world_size = host_name, world_size
        self._server = None
        is_master = is_master and not _agent_keeps(port)
        if is_master:
            self._server = _servers.get(port) if multi_tenant and port else None
            if self._server is None:
                fd = -1 if master_listen_fd is None else master_listen_fd
                try:
                    self._server = _C._dist_server(host_name, port, secret(), fd)
                except RuntimeError as error:
                    raise DistNetworkError(str(error)) from None
            port = _C._dist_server_port(self._server)
            if multi_tenant:
                _servers[port] = self._server
        self._port = port
        try:
            self._handle = _C._dist_client(
                host_name, port, secret(), timeout.total_seconds()
            )
        except RuntimeError as error:
            raise DistNetworkError(str(error)) from None
        if world_size is None or not wait_for_workers or world_size < 0:
            self._ask("add", "init/", "0")
            return
        arrived = self.add("init/", 1)
        if is_master:
            end = time.monotonic() + timeout.total_seconds()
            while (arrived := self.add("init/", 0)) < world_size:
                if time.monotonic() > end:
                    raise DistStoreError(
                        f"Timed out after {int(timeout.total_seconds()) + 1} seconds "
                        f"waiting for clients. {arrived}/{world_size} clients joined."
                    )
                time.sleep(0.005)

    host = property(lambda self: self._host, doc="The server's name.")
    port = property(lambda self: self._port, doc="Where the server listens.")
    libuvBackend = property(lambda self: self._libuv, doc="What it was made with.")

    def _address(self) -> str:
        """This process's end of the connection: an interface that others can reach."""
        return self._ask("address")

    def clone(self) -> TCPStore:
        """Another connection."""
        return TCPStore(self._host, self._port, timeout=self.timeout)

    def __repr__(self) -> str:
        own = "localhost" if self._address().startswith("127.") else self._address()
        with socket.socket(fileno=os.dup(self._ask("descriptor"))) as end:
            at = end.getsockname()[1]
            client = f"fd={self._ask('descriptor')}, addr={own}:{at}"
        server = f"TCPServer(port={self._port})" if self._server else "<nullptr>"
        return (
            f"TCPStore(client=TCPClient(SocketImpl({client}, "
            f"remote={self._host}:{self._port})), server={server})"
        )


class PrefixStore(Store):
    """Keys of another store, with something put before them."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        if not isinstance(store, Store):
            kind = ValueError if store is None else TypeError
            raise kind(f"PrefixStore(): expected a Store, got {type(store).__name__}")
        self._prefix, self._store = prefix, store

    underlying_store = property(lambda self: self._store, doc="The other store.")

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store: Any = self
        while isinstance(store, PrefixStore):
            store = store._store
        return store

    @property
    def timeout(self) -> timedelta:
        """That of the other store."""
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._store.set_timeout(timeout)

    def _of(self, key: str) -> str:
        return f"{self._prefix}/{_key(key)}"

    def set(self, key: str, value: Value) -> None:
        return self._store.set(self._of(key), value)

    def append(self, key: str, value: Value) -> None:
        return self._store.append(self._of(key), _bytes(value))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._store.multi_get([self._of(key) for key in keys])

    def multi_set(self, keys: Sequence[str], values: Sequence[Value]) -> None:
        self._store.multi_set(
            [self._of(key) for key in keys], list(map(_bytes, values))
        )

    def get(self, key: str) -> bytes:
        return self._store.get(self._of(key))

    def add(self, key: str, amount: int) -> int:
        return self._store.add(self._of(key), amount)

    def compare_set(self, key: str, expected: Value, desired: Value) -> bytes:
        return self._store.compare_set(self._of(key), expected, desired)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        full = [self._of(key) for key in keys]
        return (
            self._store.wait(full)
            if timeout is None
            else self._store.wait(full, timeout)
        )

    def check(self, keys: Sequence[str]) -> bool:
        return self._store.check([self._of(key) for key in keys])

    def delete_key(self, key: str) -> bool:
        return self._store.delete_key(self._of(key))

    def num_keys(self) -> int:
        return self._store.num_keys()

    def queue_push(self, key: str, value: Value) -> None:
        self._store.queue_push(self._of(key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self._store.queue_pop(self._of(key), block)

    def queue_len(self, key: str) -> int:
        return self._store.queue_len(self._of(key))

    def list_keys(self) -> list[str]:
        start = self._prefix + "/"
        return [k[len(start) :] for k in self._store.list_keys() if k.startswith(start)]

    def has_extended_api(self) -> bool:
        return self._store.has_extended_api()

    def clone(self) -> PrefixStore:
        return PrefixStore(self._prefix, self._store.clone())


class FileStore(Store):
    """Keys in a file that all processes can open; it goes with its last user."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self._path, self._size = os.fspath(file_name), world_size
        self._users = self.add("_users", 1)
        self._open = True

    path = property(lambda self: self._path, doc="The file.")

    @contextlib.contextmanager
    def _keys(self) -> Iterator[tuple[dict[str, bytes], Any]]:
        """All keys, and a function that writes them; under the lock of the file."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        with open(fd, "r+b") as file:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if os.fstat(fd).st_uid != os.geteuid():
                raise DistStoreError(f"FileStore: {self._path} belongs to another user")
            data = file.read()
            keys = dict(_parse(data)) if data else {}

            def write() -> None:
                file.seek(0)
                file.truncate()
                file.write(b"".join(_line(k, v) for k, v in keys.items()))
                file.flush()

            yield keys, write

    def set(self, key: str, value: Value) -> None:
        with self._keys() as (keys, write):
            keys[_key(key)] = _bytes(value)
            write()

    def append(self, key: str, value: Value) -> None:
        with self._keys() as (keys, write):
            keys[_key(key)] = keys.get(_key(key), b"") + _bytes(value)
            write()

    def get(self, key: str) -> bytes:
        self.wait([key])
        with self._keys() as (keys, _):
            return keys[_key(key)]

    def add(self, key: str, amount: int) -> int:
        with self._keys() as (keys, write):
            total = int(keys.get(key, b"0")) + amount
            keys[key] = str(total).encode()
            write()
            return total

    def compare_set(
        self, key: str, expected_value: Value, desired_value: Value
    ) -> bytes:
        with self._keys() as (keys, write):
            expected, desired = _bytes(expected_value), _bytes(desired_value)
            if key not in keys and expected:
                return expected
            if key not in keys or keys[key] == expected:
                keys[key] = desired
                write()
            return keys[key]

    def check(self, keys: Sequence[str]) -> bool:
        with self._keys() as (found, _):
            return all(_key(key) in found for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        seconds = self._seconds(timeout)
        end = time.monotonic() + seconds
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(
                    f"wait timeout after {round(seconds * 1000)}ms, keys: {list(keys)}"
                )
            time.sleep(0.005)

    def delete_key(self, key: str) -> bool:
        with self._keys() as (keys, write):
            there = keys.pop(_key(key), None) is not None
            write()
            return there

    # A queue is a key whose value has the form of a file of keys without names.
    def queue_push(self, key: str, value: Value) -> None:
        with self._keys() as (keys, write):
            keys[key] = keys.get(key, b"") + _line("", _bytes(value))
            write()

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        end = time.monotonic() + self.timeout.total_seconds()
        while True:
            with self._keys() as (keys, write):
                if key in keys:
                    (_, first), *rest = _parse(keys.pop(key))
                    if rest:
                        keys[key] = b"".join(_line(*item) for item in rest)
                    write()
                    return first
            if not block:
                raise QueueEmptyError(f"queue {key} is empty")
            if time.monotonic() > end:
                raise DistStoreError(
                    f"queue_pop timeout after {self.timeout.total_seconds():g} s, "
                    f"keys: {key}"
                )
            time.sleep(0.005)

    def queue_len(self, key: str) -> int:
        with self._keys() as (keys, _):
            return sum(1 for _ in _parse(keys.get(key, b"")))

    def num_keys(self) -> int:
        with self._keys() as (keys, _):
            return len(keys)

    def list_keys(self) -> list[str]:
        with self._keys() as (keys, _):
            return list(keys)

    def __del__(self) -> None:
        if not getattr(self, "_open", False):
            return
        self._open = False
        try:
            if os.path.exists(self._path) and self.add("_users", -1) == 0:
                os.unlink(self._path)
        except Exception:
            pass


def _line(key: str, value: bytes) -> bytes:
    name = key.encode()
    return (
        len(name).to_bytes(8, "little")
        + len(value).to_bytes(8, "little")
        + name
        + value
    )


def _parse(data: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(data):
        name = int.from_bytes(data[at : at + 8], "little")
        size = int.from_bytes(data[at + 8 : at + 16], "little")
        at += 16
        yield data[at : at + name].decode(), data[at + name : at + name + size]
        at += name + size
