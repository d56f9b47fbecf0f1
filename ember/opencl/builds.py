"""How kernels are built: where, within which limits, and what that took."""

from __future__ import annotations

import atexit
import os
import sys
from typing import NamedTuple

from ember import _C
from ember._cache import tell


class BuildRecord(NamedTuple):
    """Where a kernel came from."""

    kernel: str
    device: str
    driver: str
    how: str  #: ``"built"``, ``"cached"`` (on disk), or ``"refused"``
    cpu: float  #: seconds of CPU
    wall: float  #: seconds


def build_log() -> list[BuildRecord]:
    """The kernels that this process has needed so far, in order.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     x = ember.ones(3, device="opencl") * 2
    ...     slowest = max(ember.opencl.build_log(), key=lambda record: record.cpu)
    ...     assert slowest.how in ("built", "cached") and slowest.cpu >= 0
    """
    return [BuildRecord(*record) for record in _C._opencl_build_log()]


def _number(variable: str, usual: float, unit: str) -> float:
    """A positive number from the environment."""
    text = os.environ.get(variable)
    if not text:
        return usual
    try:
        number = float(text)
        if number > 0:
            return number
    except ValueError:
        pass
    tell(f"{variable}={text!r} is not a number of {unit}; {usual:g} is used")
    return usual


def _python() -> str:
    """The interpreter to start processes with; empty where Python is embedded."""
    path = sys.executable or ""
    is_python = os.path.basename(path).lower().startswith(("python", "pypy"))
    return path if is_python and os.access(path, os.X_OK) else ""


def set_up(directory: str) -> None:
    """Say how kernels are built from now on: by which command, within which limits.

    The process that builds them makes a directory of its own in this one.
    """
    seconds = _number("EMBER_OPENCL_BUILD_SECONDS", 60.0, "seconds")
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    usual = min(4096.0, physical / 2**21)
    megabytes = _number("EMBER_OPENCL_BUILD_MEMORY", usual, "megabytes")
    python, command = _python(), []
    if python and os.environ.get("EMBER_OPENCL_BUILD_HELPER") != "0":
        root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        code = (
            f"import os, sys; sys.path.insert(0, {root!r}); "
            f"os.environ['EMBER_OPENCL_BUILD_BYTES'] = '{int(megabytes * 2**20)}'; "
            f"os.environ.update(EMBER_OPENCL_CACHE='', POCL_CACHE_DIR={directory!r}); "
            "from ember.opencl._build import main; "
            "main(int(sys.argv[1]), sys.argv[2] == 'plain')"
        )
        command = [python, "-c", code]
    _C._opencl_helper(command, seconds, int(megabytes * 2**20))
    atexit.register(_C._opencl_stop_helper)
