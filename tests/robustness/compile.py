"""Kills programs while they compile to machine code and keep it.

A round starts from a cache that is empty or has part of the code, kills one of two
programs that fill it, and runs the program again: it must compute the right numbers
without a word, and the one after that must find all of the code.
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
from ember.compiler import _llvm
from tests.compiler import SANITIZED

LIMIT = 120.0  # seconds after which a program counts as hung
KERNELS = 6
PROGRAM = f"""
import ember
from ember.compiler import _cache
from ember.compiler._kernel import Fused
from ember.compiler._program import Builder
built = []
keep = _cache.keep
_cache.keep = lambda *a: (built.append(1), keep(*a))
print("open", flush=True)
x = ember.arange(1000) / 500.0
for n in range({KERNELS}):
    b = Builder()
    y = z = b.load()
    want = x
    for i in range(n + 1):
        y = b.binary("mul", b.unary("exp", b.unary("sin", y)), z, compute="float32")
        want = want.sin().exp() * x
    assert Fused(b.program([y]))(x)[0].equal(want)
print(len(built))
"""
_full = tempfile.TemporaryDirectory()  # a cache that has all the code, once filled


def missing() -> str:
    if SANITIZED:
        return "a sanitizer's kernels have other bits than machine code"
    return _llvm.why_not()


def start(cache: str) -> "subprocess.Popen[str]":
    root = os.path.dirname(ember.__path__[0])
    return subprocess.Popen(
        [sys.executable, "-W", "always", "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": root, "EMBER_JIT_CACHE": cache},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(program: "subprocess.Popen[str]", what: str) -> int:
    """Waits for a program; how many kernels it had to compile."""
    out, errors = program.communicate(timeout=LIMIT)
    assert program.returncode == 0 and not errors, f"{what}: {errors}"
    return int(out.split()[-1])


def fill(draw: random.Random, cache: str) -> None:
    """Make a cache that has none, or some, of the code."""
    os.mkdir(cache, 0o700)
    if draw.random() < 0.5:
        return
    for name in os.listdir(_full.name):
        if name == "key" or draw.random() < 0.5:
            shutil.copy2(os.path.join(_full.name, name), cache)


def one_round(draw: random.Random, folder: str) -> str:
    """Run two, kill one, run again; what was killed. Raises AssertionError."""
    cache = os.path.join(folder, "cache")
    fill(draw, cache)
    beside, program = start(cache), start(cache)
    program.stdout.readline()
    time.sleep(draw.random() * draw.choice([0.03, 0.2, 0.6]))
    program.send_signal(signal.SIGKILL)
    program.communicate(timeout=LIMIT)
    killed = "program" if program.returncode else "nothing, it had ended"
    ended(beside, "the program beside the killed one")
    ended(start(cache), f"after {killed} was killed")
    assert ended(start(cache), "the last program") == 0, "code was not kept"
    if not os.listdir(_full.name):
        shutil.copytree(cache, _full.name, dirs_exist_ok=True)
    return killed
