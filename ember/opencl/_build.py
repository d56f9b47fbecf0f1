"""The process that compiles kernels, so that a driver's compiler may fail in it.

`core/opencl/helper.cpp` starts it, sends sources, and ends it when a build takes too
long or too much memory. Messages are fields, each with its length before it. Of each
one it says that it was received, then what came of it: ``b`` and the binary, or ``f``
and what the compiler says.
"""

from __future__ import annotations

import os
import resource
import select
import shutil
import signal
import socket
import struct
import threading
import time
from pathlib import Path
from typing import Any

from ember import _C
from ember.opencl import devices

_CHANNEL = 3  #: the descriptor that it is started with
_IDLE = 20.0  #: seconds without work after which it ends


def _read(channel: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = channel.recv(min(size - len(data), 1 << 20))
        if not piece:
            os._exit(0)  # the program has ended
        data += piece
    return bytes(data)


def _request(channel: socket.socket) -> list[str]:
    (size,) = struct.unpack("=Q", _read(channel, 8))
    data, fields = _read(channel, size), []
    while data:
        (size,) = struct.unpack("=Q", data[:8])
        fields.append(data[8 : 8 + size].decode(errors="surrogateescape"))
        data = data[8 + size :]
    return fields


def _end_with(parent: int) -> None:
    """A program that was killed does not leave a compiler behind."""
    while os.getppid() == parent:
        time.sleep(0.5)
    devices.forget_driver_cache()
    os._exit(0)


def _limit(what: int, amount: int) -> None:
    """Lower a limit of the process, as far as there is none below it."""
    _, most = resource.getrlimit(what)
    if most == resource.RLIM_INFINITY or amount < most:
        resource.setrlimit(what, (amount, most))


def _misbehave(name: str, options: str) -> None:
    """For tests: EMBER_OPENCL_BUILD_TEST="kernel:what", or "kernel+plain:what"."""
    for rule in os.environ.get("EMBER_OPENCL_BUILD_TEST", "").split(","):
        kernel, _, what = rule.partition(":")
        if kernel not in (name + "+plain", "+plain") and "EMBER_PLAIN" in options:
            continue
        if kernel.removesuffix("+plain") not in (name, ""):
            continue
        if what == "abort":
            os.write(2, b"LLVM ERROR: as the test wants\n")
            os.abort()
        elif what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif what == "sleep":
            time.sleep(1000)
        elif what == "spin":
            while True:
                pass
        elif what == "memory":
            block = []
            while True:
                block.append(bytearray(b"x") * (64 << 20))
        elif what == "fail":
            raise RuntimeError("as the test wants")


class _Pocl:
    """Binaries of PoCL 3.0 that hold all that a launch needs, and nothing else.

    PoCL compiles a kernel when it is first launched with work-groups of a size, again
    when the grid has 65535 items or more, and once more for groups of any size if it
    is asked for the binary. The second is right for small grids, too, so that one
    alone is compiled, before the first launch. The others are made to be there
    already: by a copy of it, and by a kernel that is never launched (and would end
    the process).
    """

    def __init__(self, group: int) -> None:
        self._group = group
        self._stubs: dict[str, bytes] = {}
        # What is compiled together with a binary. PoCL reads the variable once.
        os.environ["POCL_BINARY_SPECIALIZE_WG"] = f"{group}-1-1-goffs0"

    @staticmethod
    def serves(identity: str) -> bool:
        platform, *_, driver = identity.split("\n")
        return platform == "Portable Computing Language" and driver.startswith("3.0")

    @staticmethod
    def _programs() -> set[Path]:
        return {bc.parent for bc in Path(devices.driver_cache()).glob("*/*/program.bc")}

    def _build(self, place: int, source: str, options: str) -> tuple[Any, Path | None]:
        """A program, and the one directory that it has added, if it has."""
        before = self._programs()
        made = _C._opencl_program(place, source, options)
        added = self._programs() - before
        return made, added.pop() if len(added) == 1 else None

    def _stub(self, place: int, name: str) -> bytes:
        if name not in self._stubs:
            text = f"__kernel void {name}(void) {{ *(volatile __global int*)1 = 0; }}"
            made, folder = self._build(place, text, "-w")
            _C._opencl_program_binary(made)
            file = folder and folder / name / "0-0-0" / f"{name}.so"
            self._stubs[name] = file.read_bytes() if file and file.is_file() else b""
        return self._stubs[name]

    def binary(self, place: int, source: str, options: str, name: str) -> bytes:
        stub = self._stub(place, name)
        made, folder = self._build(place, source, options)
        if folder is None or not stub:
            return _C._opencl_program_binary(made)
        kernel = folder / name
        (kernel / "0-0-0").mkdir(parents=True)
        (kernel / "0-0-0" / f"{name}.so").write_bytes(stub)
        binary = _C._opencl_program_binary(made)
        compiled = kernel / f"{self._group}-1-1-goffs0"
        if compiled.is_dir():
            shutil.copytree(compiled, compiled.with_name(compiled.name + "-smallgrid"))
            again = _C._opencl_program(place, source, options)
            binary = _C._opencl_program_binary(again)
        shutil.rmtree(folder, ignore_errors=True)
        return binary


def main(group: int, plain: bool) -> None:
    """Build what is asked for, with that size of work-groups, until nothing is."""
    if plain:  # without LLVM's vectorizers, in which PoCL may lose its way
        os.environ["POCL_WORK_GROUP_METHOD"] = "loops"
    parent = os.getppid()
    channel = socket.socket(fileno=_CHANNEL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit(resource.RLIMIT_CORE, 0)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    names = devices.found_devices()
    if isinstance(names, str):
        raise SystemExit(names)
    if memory := int(os.environ.get("EMBER_OPENCL_BUILD_BYTES", "0")):
        # A second limit, for what grows faster than the program can look at.
        _limit(resource.RLIMIT_DATA, 2 * memory + (1 << 30))
    pocl = _Pocl(group)
    channel.sendall(b"r")
    while select.select([channel], [], [], _IDLE)[0]:
        place, identity, options, source, name = _request(channel)
        channel.sendall(b"g")
        outcome = b"b"
        try:
            if (here := _C._opencl_identity(int(place))) != identity:
                raise RuntimeError(f"the helper process has another device: {here}")
            _misbehave(name, options)
            if pocl.serves(identity):
                data = pocl.binary(int(place), source, options, name)
            else:
                made = _C._opencl_program(int(place), source, options)
                data = _C._opencl_program_binary(made)
        except Exception as error:
            outcome, data = b"f", str(error).encode(errors="surrogateescape")
        channel.sendall(outcome + struct.pack("=Q", len(data)) + data)
    devices.forget_driver_cache()
    os._exit(0)
