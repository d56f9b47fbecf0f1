"""Kills programs, or the processes that build kernels for them, during OpenCL builds.

A round starts from a cache that is empty or has part of the kernels, kills at a random
moment, and runs the program again: it must compute the right numbers without a word,
then leave no process and no directory of one behind.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import ember

from .processes import descendants, is_alive, until

LIMIT = 300.0  # seconds after which a program counts as hung
PROGRAM = """
import ember
x = ember.arange(12.0, device="opencl").view(3, 4)
print("open", flush=True)
assert (x * 2 + 1).sum().item() == 144
assert x.cumsum(1)[:, -1].tolist() == [6, 22, 38]
assert x.flip(1).sort(1).values.equal(x)
assert (x @ x.T).sum().item() == 1134
"""
_full = tempfile.TemporaryDirectory()  # a cache that has all the kernels, once filled


def missing() -> str:
    return "" if ember.opencl.is_available() else "there is no OpenCL device"


def start(cache: str) -> "subprocess.Popen[str]":
    root = os.path.dirname(ember.__path__[0])
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": root, "EMBER_OPENCL_CACHE": cache},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def fill(draw: random.Random, cache: str) -> None:
    """Make a cache that has none, or some, of the kernels."""
    os.mkdir(cache, 0o700)
    if draw.random() < 0.1:
        return
    for name in os.listdir(_full.name):
        if name == "key" or draw.random() < 0.7:
            shutil.copy2(os.path.join(_full.name, name), cache)


def one_round(draw: random.Random, folder: str) -> str:
    """Run, kill, run again; what was killed. Raises AssertionError."""
    cache = os.path.join(folder, "cache")
    fill(draw, cache)
    program = start(cache)
    program.stdout.readline()
    time.sleep(draw.random() ** 2 * draw.choice([0.5, 2, 5]))
    known = descendants(program.pid)
    target = draw.choice(["program", "helper"]) if known else "program"
    victims = [program.pid] if target == "program" else known
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    _, errors = program.communicate(timeout=LIMIT)
    if target == "helper":
        assert program.returncode == 0 and not errors, f"without its helper: {errors}"
    elif program.returncode == 0:
        target = "nothing, it had ended"
    again = start(cache)
    _, errors = again.communicate(timeout=LIMIT)
    assert again.returncode == 0 and not errors, f"after {target} was killed: {errors}"
    assert until(lambda: not any(map(is_alive, known)), 30), f"{target}: left processes"
    left = [name for name in os.listdir(cache) if name.startswith("ember-run-")]
    assert not left, f"{target}: left {left}"
    if not os.listdir(_full.name):
        shutil.copytree(cache, _full.name, dirs_exist_ok=True)
    return target
