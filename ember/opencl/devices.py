"""Finding OpenCL devices, choosing one, waiting for it."""

from __future__ import annotations

import atexit
import ctypes
import importlib.metadata
import importlib.util
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ember
from ember import _C, _cache
from ember._cache import Private
from ember.opencl import builds
from ember.version import pip_install

_INSTALL = (
    "install the OpenCL driver of your device's vendor, or, for a device that runs on "
    f"the CPU: {pip_install('opencl')}"
)
_CACHE_MEGABYTES = 512
# None: nothing was tried yet; a list: names of devices; a str: why there are none
_found: list[str] | str | None = None
_initialized = False


def _wheel_loader() -> str | None:
    """The loader in pyopencl's wheel, prepared to find PoCL there."""
    spec = importlib.util.find_spec("pyopencl")
    if spec is None or not spec.origin:
        return None
    home = Path(spec.origin).parent
    libraries = home / ".libs"
    loaders = sorted(libraries.glob("libOpenCL*.so*"))
    if not loaders:
        return None
    # The loader crashes without the variable, and PoCL's .icd file names no directory.
    os.environ.setdefault("PYOPENCL_HOME", str(home))
    for pocl in libraries.glob("libpocl*.so*"):
        try:
            ctypes.CDLL(str(pocl))
        except OSError:
            continue
    others = _intel_driver()
    if others and driver_cache() and "OCL_ICD_VENDORS" not in os.environ:
        vendors = Path(driver_cache()) / "vendors"
        vendors.mkdir(exist_ok=True)
        for i, driver in enumerate(others):
            (vendors / f"{i}.icd").write_text(driver + "\n")
        os.environ["OCL_ICD_VENDORS"] = str(vendors)
    return str(loaders[0])


def _intel_driver() -> list[str]:
    """The driver for CPUs in Intel's wheel, which no .icd file of the system names."""
    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    named = [Path(f.locate()) for f in files if f.name == "libintelocl.so"]
    return [str(path.resolve()) for path in named if path.exists()]


class _DriverCache:
    """The directory in which PoCL works: this process's own.

    PoCL keeps what it compiles, and a process that is killed meanwhile leaves what
    makes every later one fail. Binaries are kept by ember, so nothing is lost.
    """

    private: Private | None = None

    VARIABLES = ("POCL_CACHE_DIR", "OCL_ICD_VENDORS")

    def __enter__(self) -> None:
        self.before = {name: os.environ.get(name) for name in self.VARIABLES}
        if _DriverCache.private is None:
            chosen = os.environ.get("POCL_CACHE_DIR")
            base = chosen or _cache.directory("opencl", "EMBER_OPENCL_CACHE")
            _DriverCache.private = Private(base)
            atexit.register(forget_driver_cache)
        if _DriverCache.private.path:
            os.environ["POCL_CACHE_DIR"] = _DriverCache.private.path

    def __exit__(self, *error: object) -> None:
        # The drivers have read them; processes started from here have their own.
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def driver_cache() -> str:
    """The directory in which the driver works; empty if it is not known."""
    return _DriverCache.private.path if _DriverCache.private else ""


def forget_driver_cache() -> None:
    """Remove that directory."""
    if _DriverCache.private:
        _DriverCache.private.remove()


def found_devices() -> list[str] | str:
    """The names of all devices, or why there are none."""
    global _found
    if _found is not None:
        return _found
    named = os.environ.get("EMBER_OPENCL_LIBRARY")
    reasons = []
    for find in [lambda: named] if named else [lambda: "libOpenCL.so.1", _wheel_loader]:
        with _DriverCache():
            loader = find()
            if loader is None:
                continue
            directory = _cache.directory("opencl", "EMBER_OPENCL_CACHE")
            most = _cache.size("EMBER_OPENCL_CACHE_SIZE", _CACHE_MEGABYTES)
            answer = _C._opencl_open(loader, directory, most)
        if not isinstance(answer, str):
            _found = answer
            return answer
        reasons.append(answer)
    _found = "; ".join(reasons)
    return _found


def _choice(names: list[str]) -> list[int]:
    """The places of the devices that `EMBER_OPENCL_DEVICE` asks for."""
    chosen = os.environ.get("EMBER_OPENCL_DEVICE")
    if not chosen:
        return list(range(len(names)))
    places: list[int] = []
    for part in map(str.strip, chosen.split(",")):
        if part.isdigit() and int(part) < len(names):
            found = [int(part)]
        else:
            found = [i for i, name in enumerate(names) if part.lower() in name.lower()]
            if not found:  # the platform and the driver have names, too
                every = [_C._opencl_identity(i).lower() for i in range(len(names))]
                found = [i for i, text in enumerate(every) if part.lower() in text]
        if not found or not part:
            raise RuntimeError(
                f"EMBER_OPENCL_DEVICE={chosen!r}: no OpenCL device is at {part} "
                f"or has it in its name; there are {names}"
            )
        places += [place for place in found if place not in places]
    return places


def init() -> None:
    """Find the devices. Every use of one does this by itself, and opens it."""
    global _initialized
    if _initialized:
        return
    names = found_devices()
    if isinstance(names, str):
        raise RuntimeError(f"There is no OpenCL device ({names}); {_INSTALL}")
    _C._opencl_use(_choice(names))
    builds.set_up(os.path.dirname(driver_cache()))
    # Drivers crash if the process ends while they still compile or run a kernel.
    atexit.register(_C._opencl_finish_all)
    _initialized = True


def is_initialized() -> bool:
    """Whether the device is open."""
    return _initialized


def is_available() -> bool:
    """Whether there is an OpenCL device."""
    return not isinstance(found_devices(), str)


def device_count() -> int:
    """How many OpenCL devices there are (of those in EMBER_OPENCL_DEVICE, if set)."""
    names = found_devices()
    if isinstance(names, str):
        return 0
    return _C._opencl_device_count() if _initialized else len(_choice(names))


def device_index(device: Any) -> int:
    """The index of a device in any form; the current one for None."""
    init()
    if device is None:
        return _C._opencl_current_device()
    if isinstance(device, int):
        index = device
    else:
        parsed = ember.device(device)
        if not _C._means_device_kind(parsed.type, "opencl"):
            raise ValueError(f"Expected an OpenCL device, but got: {device}")
        index = current_device() if parsed.index is None else parsed.index
    if not 0 <= index < _C._opencl_device_count():
        raise RuntimeError(
            f"Invalid device index {index}: there are {_C._opencl_device_count()} "
            "OpenCL devices"
        )
    return index


def current_device() -> int:
    """The index of this thread's current device, which ``"opencl"`` means."""
    init()
    return _C._opencl_current_device()


def set_device(device: Any) -> None:
    """Make another device this thread's current one."""
    _C._opencl_set_device(device_index(device))


class device:
    """A context manager that makes a device the current one.

    >>> import ember
    >>> if ember.opencl.is_available():
    ...     last = ember.opencl.device_count() - 1
    ...     with ember.opencl.device(last):
    ...         assert ember.ones(2, device="opencl").device.index == last
    """

    def __init__(self, device: Any) -> None:
        self.idx = device_index(device)
        self.prev_idx = -1

    def __enter__(self) -> device:
        self.prev_idx = _C._opencl_current_device()
        _C._opencl_set_device(self.idx)
        return self

    def __exit__(self, *error: object) -> None:
        _C._opencl_set_device(self.prev_idx)


class device_of(device):
    """A context manager that makes a tensor's device the current one."""

    def __init__(self, obj: Any) -> None:
        where = obj.device
        ours = _C._means_device_kind(where.type, "opencl")
        super().__init__(where if ours else None)


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """What the device says of itself: name, memory, limits, abilities."""
    return SimpleNamespace(**_C._opencl_properties(device_index(device)))


def get_device_name(device: Any = None) -> str:
    """The name of the device."""
    return get_device_properties(device).name


def synchronize(device: Any = None) -> None:
    """Wait for all work on the device, in all its streams."""
    _C._opencl_synchronize(device_index(device))
