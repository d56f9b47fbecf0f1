"""How processes that know a store become one MPI world, and communicators of it.

The store carries little: who is where, and the address of a server in rank 0, by which
MPI finds its way and every rank hears at once that another has died.
"""

from __future__ import annotations

import atexit
import contextlib
import glob
import os
import secrets
import socket
import sys
import time
from datetime import timedelta
from multiprocessing import util
from typing import Any

from ember import _C
from ember.distributed._errors import (
    DistBackendError,
    DistNetworkError,
    DistStoreError,
)
from ember.distributed._secret import secret
from ember.distributed._stores import Store, TCPStore

_SEGMENT = "/dev/shm/mpich_shm_"
_server: Any = None
_world: tuple[str, int, int] | None = None  # name, rank, size


def library_paths() -> str:
    """Where MPI may be, for the core to open; `EMBER_MPI_LIBRARY` before all."""
    given = os.environ.get("EMBER_MPI_LIBRARY")
    name = "libmpi_abi.so.1"
    beside = os.path.join(sys.prefix, "lib", name)
    return given or f"{beside}:{name}"


def is_mpi_installed() -> bool:
    """Whether there is a library to open."""
    import ctypes.util

    first = library_paths().split(":")[0]
    return os.path.exists(first) or ctypes.util.find_library("mpi_abi") is not None


def _host() -> str:
    """What processes have in common that can share memory."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    shared = os.stat("/dev/shm")
    return f"{socket.gethostname()}-{boot}-{shared.st_dev}-{shared.st_ino}"


def _wait_for(store: Store, names: dict[int, str], timeout: timedelta) -> list[bytes]:
    """The values of the ranks' keys; an error names those that did not come."""
    try:
        store.wait(list(names.values()), timeout)
    except DistNetworkError:
        raise
    except Exception as error:
        absent = [rank for rank, name in names.items() if not store.check([name])]
        raise DistStoreError(
            f"init_process_group(): rank {', '.join(map(str, absent))} did not arrive "
            f"within {timeout.total_seconds():g} s ({error})"
        ) from None
    return [store.get(name) for name in names.values()]


def _mapping(hosts: list[bytes]) -> str:
    """Which ranks share a host, as PMI writes it: (node, nodes, ranks on each)."""
    numbers: dict[bytes, int] = {}
    nodes = [numbers.setdefault(host, len(numbers)) for host in hosts]
    blocks: list[list[int]] = []
    for node in nodes:
        if blocks and blocks[-1][0] == node:
            blocks[-1][1] += 1
        else:
            blocks.append([node, 1])
    return "(vector" + "".join(f",({node},1,{count})" for node, count in blocks) + ")"


def _interface(store: Store, alone: bool) -> str:
    """The address at which this rank's server listens: the loopback on one host."""
    if alone:
        return "127.0.0.1"
    given = os.environ.get("EMBER_DISTRIBUTED_ADDRESS")
    below: Any = getattr(store, "_underlying_non_prefix_store", store)
    if given is None and isinstance(below, TCPStore):
        given = below._address()
        if given.startswith("127."):
            given = None
    return given or socket.gethostbyname(socket.gethostname())


def _begin(store: Store, rank: int, size: int, timeout: timedelta) -> None:
    global _server, _world
    begun = time.time()
    store.set(f"world/host/{rank}", _host())
    names = {r: f"world/host/{r}" for r in range(size)}
    hosts = _wait_for(store, names, timeout)
    alone = len(set(hosts)) == 1
    if rank == 0:
        address = _interface(store, alone)
        _server = _C._dist_server(address, 0, secret(), -1)
        port = _C._dist_server_port(_server)
        store.set("world/at", f"{address} {port} ember{secrets.token_hex(12)}")
    address, number, name = store.get("world/at").decode().split()
    if alone:  # MPI opens no port
        os.environ.setdefault("UCX_TLS", "self,sm")
        os.environ.setdefault("UCX_NET_DEVICES", "lo")
        os.environ.setdefault("FI_TCP_IFACE", "lo")
    where = (address, int(number), secret(), timeout.total_seconds())
    try:
        try:
            paths, mapping = library_paths(), _mapping(hosts)
            _C._dist_begin(paths, rank, size, name, mapping, *where)
        except RuntimeError as error:
            if "timed out" in str(error):
                raise DistBackendError(_absent(store, rank, size, error)) from None
            if "rank" in str(error):
                raise
            raise DistNetworkError(f"the meeting point of rank 0: {error}") from None
        _world = (name, rank, size)
        atexit.register(leave)
        util.Finalize(None, leave, exitpriority=100)
        store.set(f"world/begun/{rank}", "")
        _wait_for(store, {r: f"world/begun/{r}" for r in range(size)}, timeout)
    except BaseException:
        sweep_abandoned(begun)
        raise
    finally:
        _sweep()


def _absent(store: Store, rank: int, size: int, error: Exception) -> str:
    """The error of MPI's start, with the ranks that neither began nor gave up."""
    store.set(f"world/gave up/{rank}", "")
    time.sleep(1)  # the others' time is up as well
    missing = [
        str(r)
        for r in range(size)
        if not store.check([f"world/gave up/{r}"])
        and not store.check([f"world/begun/{r}"])
    ]
    who = f"; rank {', '.join(missing)} did not take part" if missing else ""
    return f"{error}{who}"


def _sweep() -> None:
    """Remove the names of MPI's shared segments that this process has mapped, as all
    ranks have by then: nothing is left behind, whoever dies."""
    with open("/proc/self/maps") as file:
        mapped = {
            line.split(maxsplit=5)[-1].strip() for line in file if _SEGMENT in line
        }
    for path in mapped:
        try:
            os.unlink(path)
        except OSError:
            pass


def abandoned(since: float) -> set[str]:
    """MPI's shared segments of this user, since a time, that no process has mapped."""
    found = set()
    for path in glob.glob(_SEGMENT + "*"):
        with contextlib.suppress(OSError):
            status = os.stat(path)
            if status.st_uid == os.getuid() and status.st_ctime >= since:
                found.add(path)
    for maps in glob.glob("/proc/[0-9]*/maps") if found else []:
        with contextlib.suppress(OSError), open(maps) as file:
            found -= {
                line.split(maxsplit=5)[-1].strip() for line in file if _SEGMENT in line
            }
    return found


def sweep_abandoned(since: float, patience: float = 0.5) -> None:
    """Remove what a process left that was killed while MPI began: segments that stay
    without an owner for a while."""
    left, end = abandoned(since), time.monotonic() + patience
    while left and time.monotonic() < end:
        time.sleep(0.1)
        left &= abandoned(since)
    for path in left:
        with contextlib.suppress(OSError):
            os.unlink(path)


def leave() -> None:
    """Say goodbye to the other ranks; more than once does no harm."""
    global _world
    if _world is not None:
        _world = None
        _C._dist_leave()
        _sweep()


def communicator(store: Store, rank: int, size: int, timeout: timedelta) -> int:
    """The number of a new communicator of the processes that meet at `store`. The
    first call of a process begins MPI with them."""
    try:
        return _communicator(store, rank, size, timeout)
    except DistNetworkError as error:
        raise DistBackendError(
            "init_process_group(): the store cannot be reached; rank 0, or the "
            f"launcher, keeps it and is lost ({error})"
        ) from None


def _communicator(store: Store, rank: int, size: int, timeout: timedelta) -> int:
    if _world is None:
        if _C._dist_begun():
            raise DistBackendError("MPI has ended in this process: it begins once")
        _begin(store, rank, size, timeout)
    assert _world is not None
    name, own, _ = _world
    store.set(f"member/{rank}", f"{name} {own}")
    members = _wait_for(store, {r: f"member/{r}" for r in range(size)}, timeout)
    worlds = {member.split()[0] for member in members}
    if len(worlds) > 1:
        raise DistBackendError(
            "init_process_group(): these processes already belong to different worlds; "
            "MPI begins once in a process, so start new ones"
        )
    ranks = [int(member.split()[1]) for member in members]
    return _C._dist_comm(ranks, timeout.total_seconds())
