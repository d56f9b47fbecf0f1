"""How processes that were told little find a store: by the environment, an address or a
file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from urllib.parse import parse_qs, urlparse

from ember.distributed._errors import DistNetworkError
from ember.distributed._options import default_pg_timeout
from ember.distributed._stores import FileStore, PrefixStore, Store, TCPStore

Met = tuple[Store, int, int]
_handlers: dict[str, Callable[..., Iterator[Met]]] = {}


def register_rendezvous_handler(
    scheme: str, handler: Callable[..., Iterator[Met]]
) -> None:
    """Let `handler` answer addresses that begin with `scheme`."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **kwargs: object
) -> Iterator[Met]:
    """Yields the store, the rank and the number of processes."""
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, int):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, int):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    parts = urlparse(url)
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    asked = {
        key: int(value[0])
        for key, value in parse_qs(parts.query).items()
        if value[0].lstrip("-").isdigit()
    }
    for name, given in (("rank", rank), ("world_size", world_size)):
        if given != -1 and name in asked:
            raise AssertionError(
                f"The url: {url} has node-specific arguments(rank, world_size) already."
            )
    rank, world_size = asked.get("rank", rank), asked.get("world_size", world_size)
    return _handlers[parts.scheme](parts, rank, world_size, **kwargs)


def _libuv(parts) -> bool:
    """Which of PyTorch's two servers is asked for; ours is one, and says so."""
    asked = parse_qs(parts.query).get("use_libuv", [os.environ.get("USE_LIBUV", "1")])
    return asked[0] == "1"


def _missing(scheme: str, what: str) -> ValueError:
    return ValueError(
        f"Error initializing torch.distributed using {scheme}:// rendezvous: {what}"
    )


def _tcp_store(
    parts, host: str, port: int, rank: int, size: int, timeout: timedelta
) -> Store:
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    if agent:  # the launcher keeps the store; every attempt has keys of its own
        store = TCPStore(host, port, size, False, timeout, wait_for_workers=False)
        count = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        attempt = os.environ.get("EMBER_ELASTIC_ROUND", count)
        return PrefixStore(f"/worker/attempt_{attempt}", store)
    own = {"multi_tenant": True, "use_libuv": _libuv(parts)}
    try:
        return TCPStore(host, port, size, rank == 0, timeout, **own)
    except DistNetworkError as error:
        who = "" if rank == 0 else " (rank 0 keeps the store there)"
        raise DistNetworkError(f"{error}{who}") from None


def _tcp(
    parts, rank: int, size: int, timeout: timedelta = default_pg_timeout, **_
) -> Iterator[Met]:
    if parts.port is None:
        raise _missing("tcp", "port number missing")
    if rank == -1:
        raise _missing("tcp", "rank parameter missing")
    if size == -1:
        raise _missing("tcp", "world size parameter missing")
    host = parts.hostname
    yield _tcp_store(parts, host, parts.port, rank, size, timeout), rank, size
    raise RuntimeError("Unable to perform rerendezvous using tcp:// method")


def _env(
    parts, rank: int, size: int, timeout: timedelta = default_pg_timeout, **_
) -> Iterator[Met]:
    def value(name: str) -> str:
        found = os.environ.get(name)
        if found is None:
            raise _missing("env", f"environment variable {name} expected, but not set")
        return found

    rank = int(value("RANK")) if rank == -1 else rank
    size = int(value("WORLD_SIZE")) if size == -1 else size
    host, port = value("MASTER_ADDR"), int(value("MASTER_PORT"))
    yield _tcp_store(parts, host, port, rank, size, timeout), rank, size
    raise RuntimeError("Unable to perform rerendezvous using env:// method")


def _file(parts, rank: int, size: int, **_) -> Iterator[Met]:
    if not parts.path:
        raise _missing("file", "path missing")
    if rank == -1:
        raise _missing("file", "rank parameter missing")
    if size == -1:
        raise _missing("file", "world size parameter missing")
    yield FileStore(parts.path, size), rank, size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


for _name, _handler in {"tcp": _tcp, "env": _env, "file": _file}.items():
    register_rendezvous_handler(_name, _handler)
