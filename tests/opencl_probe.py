"""Which OpenCL device the tests use, found out by other processes.

A driver may crash or hang as soon as it is asked for devices, or with the first kernel.
So each device computes something in a process of its own first, and only those that
come through are used. Where none does, the tests of OpenCL skip, with the reason.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOUND = "EMBER_TEST_OPENCL"  #: says what was found, for the header and for workers
SECONDS = 300  # for the first kernels, on a machine with much to do

LIST = """
import ember
names = ember.opencl.devices.found_devices()
if isinstance(names, str):
    raise SystemExit(names)
print(len(names))
"""
TRY = """
import ember
x = ember.arange(12.0, device="opencl").view(3, 4)
assert (x @ x.T + 1).sum().item() == 1143 and x.sum().item() == 66
p = ember.opencl.get_device_properties()
print(f"{p.name} ({p.platform} {p.driver_version})")
"""


def use_own_cache():
    """Keep compiled kernels in the source tree, from run to run."""
    chosen = os.environ.get("EMBER_TEST_CACHE")
    path = Path(chosen or Path(__file__).resolve().parent.parent / "build/test-cache")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        usable = os.access(path, os.W_OK | os.X_OK)
    except OSError:
        usable = False
    if not usable:
        path = Path(tempfile.gettempdir()) / f"ember-tests-{os.geteuid()}"
        path.mkdir(mode=0o700, exist_ok=True)
    os.environ["XDG_CACHE_HOME"] = str(path)
    for variable in ("POCL_CACHE_DIR", "EMBER_OPENCL_CACHE", "EMBER_JIT_CACHE"):
        os.environ.pop(variable, None)


def attempt(code, **variables):
    """What a process printed, and what went wrong with it."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "", f"did not end in {SECONDS} seconds"
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["without a word"]
        return "", f"ended with {done.returncode}: {lines[-1]}"
    return done.stdout.strip(), ""


def find_driver():
    """Choose a device that works, or see to it that there is none."""
    if FOUND in os.environ:
        return
    if os.environ.get("EMBER_OPENCL_DEVICE"):
        name, reason = attempt(TRY)
        if name:
            os.environ[FOUND] = name
            return
        places = 0
    else:
        count, reason = attempt(LIST)
        places = int(count or 0)
    for place in range(places):
        name, reason = attempt(TRY, EMBER_OPENCL_DEVICE=str(place))
        if name:
            if place > 0:
                os.environ["EMBER_OPENCL_DEVICE"] = str(place)
            os.environ[FOUND] = name
            return
    os.environ[FOUND] = f"no device that works ({reason})"
    os.environ["EMBER_OPENCL_LIBRARY"] = os.environ[FOUND]
