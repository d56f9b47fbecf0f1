"""Calls that might end the process, made in a child: what ended it, if anything did."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

MEMORY = 8 << 30  # bytes of address space that a child may use


def quietly(call: Callable[[], Any]) -> Exception | None:
    """Makes a call; the error that it raised."""
    try:
        call()
    except Exception as error:
        return error
    return None


def deaths(
    calls: Sequence[tuple[str, Callable[[], Any]]], seconds: int = 60
) -> list[str]:
    """Makes all calls in children, one after the other; the names of those that killed
    one, with the signal. `seconds` bounds each call."""
    found, start = [], 0
    while start < len(calls):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _run(calls[start:], write, seconds)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            done = len(pipe.read())
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            break
        start += done
        name = signal.Signals(os.WTERMSIG(status)).name
        found.append(f"{calls[start - 1][0]}: {name}")
    return found


def _run(
    calls: Sequence[tuple[str, Callable[[], Any]]], pipe: int, seconds: int
) -> None:
    """What a child does; a byte is written before each call."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # it reserves terabytes
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for _, call in calls:
            os.write(pipe, b".")
            signal.alarm(seconds)
            try:
                call()
            except BaseException:
                pass
            signal.alarm(0)
        sys.stdout = sys.stderr = None
    finally:
        os._exit(0)
