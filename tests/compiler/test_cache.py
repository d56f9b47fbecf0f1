"""Machine code on disk: found again, never trusted blindly, never torn."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from . import needs_jit

pytestmark = needs_jit

PROGRAM = """
import sys, time
import ember
from ember.compiler import _cache, _llvm
from ember.compiler._kernel import Fused
from ember.compiler._program import Builder
compiled = []
keep = _cache.keep
_cache.keep = lambda *a: (compiled.append(1), keep(*a))
for n in range(int(sys.argv[1])):
    b = Builder()
    x = b.load()
    y = b.unary("exp", x)
    for i in range(n + 1):
        y = b.binary("add", y, b.constant(i + 0.5), compute="float32")
    x = ember.arange(100) / 50.0
    want = x.exp()
    for i in range(n + 1):
        want = want + (i + 0.5)
    assert (Fused(b.program([y]))(x)[0] == want).all()
print(len(compiled))
"""


def run(directory, count=1, wait=True, **environment):
    command = [sys.executable, "-W", "always", "-c", PROGRAM, str(count)]
    process = subprocess.Popen(
        command,
        env={**os.environ, "EMBER_JIT_CACHE": str(directory), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if not wait:
        return process
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return int(out), errors


def kept(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.bin"))


@pytest.fixture
def directory(tmp_path):
    made = tmp_path / "jit"
    made.mkdir(mode=0o700)
    return made


def test_second_process_compiles_nothing(directory):
    assert run(directory)[0] == 1
    assert run(directory)[0] == 0
    assert len(kept(directory)) == 1


def test_levels_are_kept_apart(directory):
    assert run(directory, EMBER_CPU_LEVEL="baseline")[0] == 1
    assert run(directory, EMBER_CPU_LEVEL="baseline")[0] == 0
    if run(directory)[0]:  # unless this machine has no other
        assert len(kept(directory)) == 2


@pytest.mark.parametrize("harm", ["torn", "empty", "flipped", "swapped", "longer"])
def test_damaged_code_is_not_loaded(directory, harm):
    run(directory, 2)
    one, other = kept(directory)
    whole = one.read_bytes()
    harmed = {
        "torn": whole[: len(whole) // 2],
        "empty": b"",
        "flipped": whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:],
        "swapped": other.read_bytes(),
        "longer": whole + b"more",
    }[harm]
    one.write_bytes(harmed)
    assert run(directory, 2)[0] == 1
    assert run(directory, 2)[0] == 0


def test_code_of_others_is_not_loaded(directory, tmp_path):
    """Whole, but signed with another secret."""
    run(directory)
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o700)
    run(foreign)
    (one,), (other,) = kept(directory), kept(foreign)
    one.write_bytes(other.read_bytes())
    assert run(directory)[0] == 1


def test_directory_that_others_may_open_is_not_used(directory):
    directory.chmod(0o755)
    count, errors = run(directory)
    assert count == 1 and "others may open it" in errors
    assert not kept(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_directory_of_another_user_is_not_used(directory):
    os.chown(directory, 65534, 65534)
    count, errors = run(directory)
    assert count == 1 and "it belongs to user 65534" in errors


def test_no_directory_no_cache(tmp_path):
    assert run("", HOME=str(tmp_path))[0] == 1
    assert not list(tmp_path.rglob("*.bin"))


def test_several_writers(directory):
    processes = [run(directory, 4, wait=False) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert run(directory, 4)[0] == 0
    assert len(kept(directory)) == 4


def test_killed_while_writing(directory):
    for attempt in range(3):
        process = run(directory, 40, wait=False)
        end = time.monotonic() + 60
        while len(kept(directory)) < 2 * attempt + 1 and time.monotonic() < end:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert run(directory, 3)[0] <= 3
    assert run(directory, 3)[0] == 0


def test_size_is_bounded(directory):
    run(directory, 12, EMBER_JIT_CACHE_SIZE="0.02")
    assert sum(p.stat().st_size for p in kept(directory)) < 30000
