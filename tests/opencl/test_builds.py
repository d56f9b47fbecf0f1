"""Kernels are built in a process of their own: what goes wrong there stays there."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import ember
from ember import _C

from .test_device import run

# Prints the result, then how each kernel came about.
PROGRAM = """
import ember
x = ember.arange(6.0, device="opencl").view(2, 3)
try:
    print((x * 3 + 1).sum().item())
except RuntimeError as error:
    print("RuntimeError:", str(error).replace("\\n", " "))
for record in ember.opencl.build_log():
    print(record.kernel, record.how)
"""
DEAD = "could not build kernel 'reduce'"


def build(cache, test="", **variables):
    return run(
        PROGRAM,
        EMBER_OPENCL_CACHE=str(cache),
        EMBER_OPENCL_BUILD_TEST=test,
        **variables,
    )


def lines(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    path = tmp_path_factory.mktemp("first")
    code = PROGRAM.replace(".sum().item()", ".tolist()")
    lines(run(code, EMBER_OPENCL_CACHE=str(path)))
    return path


@pytest.fixture
def pointwise(first, tmp_path):
    """A cache that holds all kernels of the program but the last, `reduce`."""
    return shutil.copytree(first, tmp_path / "cache")


@pytest.mark.parametrize(
    ("what", "says", "limits"),
    [
        ("abort", "LLVM ERROR: as the test wants", {}),
        ("spin", "took more than 4 seconds", {"EMBER_OPENCL_BUILD_SECONDS": "4"}),
        ("sleep", "did not end in 30 seconds", {"EMBER_OPENCL_BUILD_SECONDS": "3"}),
        pytest.param(
            "memory",
            "of memory",
            {"EMBER_OPENCL_BUILD_MEMORY": "1000"},
            marks=pytest.mark.skipif(
                "ASAN_OPTIONS" in os.environ, reason="a sanitizer maps terabytes"
            ),
        ),
        ("fail", "as the test wants", {}),
    ],
)
def test_a_compiler_that_fails_costs_the_usual_variant_only(
    pointwise, what, says, limits
):
    refused = pointwise
    done = build(refused, f"reduce:{what}", **limits)
    result, *records = lines(done)
    assert result == "51.0"
    assert "reduce refused" in records and records[-1] == "reduce built"
    assert (
        DEAD in done.stderr and says in done.stderr and "plain variant" in done.stderr
    )
    name = ember.opencl.get_device_name()
    assert name in done.stderr, "the device is named"
    if what == "fail":
        return
    # It is not tried at each start, only if more is allowed.
    again = build(refused, f"reduce:{what}", **limits)
    assert lines(again)[0] == "51.0" and "reduce built" not in lines(again)
    assert DEAD in again.stderr
    more = build(refused, EMBER_OPENCL_BUILD_SECONDS="90")
    assert "reduce built" in lines(more) and DEAD not in more.stderr


def test_a_kernel_that_cannot_be_built_at_all_is_an_error_with_its_reason(pointwise):
    result, *_ = lines(build(pointwise, "reduce:abort,reduce+plain:abort"))
    assert result.startswith("RuntimeError: OpenCL: kernel 'reduce' cannot be built on")
    assert "LLVM ERROR" in result and ember.opencl.get_device_name() in result


def test_a_helper_that_somebody_killed_is_started_again(tmp_path):
    code = """
import os, signal
import ember
x = ember.arange(6.0, device="opencl").view(2, 3) * 3
with open(f"/proc/self/task/{os.getpid()}/children") as file:
    helpers = [int(word) for word in file.read().split()]
assert helpers
for pid in helpers:
    os.kill(pid, signal.SIGKILL)
assert (x + 1).sum().item() == 51
assert all(record.how == "built" for record in ember.opencl.build_log())
"""
    done = run(code, EMBER_OPENCL_CACHE=str(tmp_path))
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_without_a_python_to_start_kernels_are_built_in_the_program(tmp_path):
    before = "import sys; sys.executable = {!r}\n"
    for executable in ("", "/bin/true", "/nowhere/python3"):
        cache = tmp_path / str(len(executable))
        code = before.format(executable) + PROGRAM
        done = run(code, EMBER_OPENCL_CACHE=str(cache))
        assert lines(done)[0] == "51.0" and not done.stderr
        assert "reduce built" in lines(done)
        assert "reduce cached" in lines(build(cache))
    done = run(PROGRAM, EMBER_OPENCL_CACHE="", EMBER_OPENCL_BUILD_HELPER="0")
    assert lines(done)[0] == "51.0"


def test_a_helper_that_cannot_start_is_done_without(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 7\n")
    python.chmod(0o700)
    code = f"import sys; sys.executable = {str(python)!r}\n" + PROGRAM
    done = run(code, EMBER_OPENCL_CACHE=str(tmp_path / "cache"))
    assert lines(done)[0] == "51.0"


def test_no_process_is_left(tmp_path):
    code = PROGRAM + (
        "import os\n"
        "with open(f'/proc/self/task/{os.getpid()}/children') as file:\n"
        "    print('helpers', file.read())\n"
    )
    done = run(code, EMBER_OPENCL_CACHE=str(tmp_path))
    *_, last = lines(done)
    helpers = [int(word) for word in last.split()[1:]]
    assert helpers
    for pid in helpers:
        assert not os.path.exists(f"/proc/{pid}")
    left = {path.name for path in tmp_path.iterdir() if path.suffix != ".bin"}
    assert left == {"key"}


def test_a_killed_program_leaves_nothing_that_stays(tmp_path):
    cache = tmp_path / "cache"
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={
            **os.environ,
            "EMBER_OPENCL_CACHE": str(cache),
            "EMBER_OPENCL_BUILD_TEST": "reduce:sleep",
        },
        stdout=subprocess.DEVNULL,
    )
    children = f"/proc/{program.pid}/task/{program.pid}/children"
    end = time.monotonic() + 200
    helpers: list[int] = []
    while not list(cache.glob("*.bin")) and time.monotonic() < end:
        time.sleep(0.05)  # the first kernel is there: the second hangs
    with open(children) as file:
        helpers = [int(word) for word in file.read().split()]
    assert helpers
    program.send_signal(signal.SIGKILL)
    program.wait()
    while any(map(is_alive, helpers)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_alive, helpers))
    assert lines(build(cache))[0] == "51.0"
    assert not list(cache.glob("ember-run-*"))


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_drivers_do_not_share_a_cache_that_a_kill_may_poison(tmp_path):
    """PoCL left empty files where it had been killed, and took them for programs."""
    home = tmp_path / "home"
    home.mkdir()
    variables = {"HOME": str(home), "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    done = run(PROGRAM, **variables)
    assert lines(done)[0] == "51.0"
    assert not list(tmp_path.rglob("*pocl*")) and not list(tmp_path.rglob("*.so"))
    own = tmp_path / "pocl"  # where the user wants it, but apart for each process
    own.mkdir()
    code = PROGRAM + "print(ember.opencl.devices.driver_cache())\nimport os\n"
    code += "print(os.environ['POCL_CACHE_DIR'])"
    *_, used, seen = lines(run(code, POCL_CACHE_DIR=str(own), **variables))
    assert os.path.dirname(used) == str(own) == seen and not os.listdir(own)


def test_binaries_that_the_driver_does_not_take_are_built_again(tmp_path):
    first = lines(build(tmp_path))
    assert all(line.endswith("built") for line in first[1:])
    # The same secret, so that the digest is right, and another driver's bytes.
    secret = (tmp_path / "key").read_bytes()
    for path in tmp_path.glob("*.bin"):
        head, body = path.read_bytes()[:32], b"no binary of any driver" * 9
        size = len(body).to_bytes(8, "little")
        digest = _C._keyed_digest(secret, head[:8] + size + head[16:32] + body)
        path.write_bytes(head[:8] + size + head[16:32] + digest + body)
    assert lines(build(tmp_path)) == first
    assert all(line.endswith("cached") for line in lines(build(tmp_path))[1:])


def test_a_file_of_somebody_without_the_secret_is_not_taken(tmp_path):
    first = lines(build(tmp_path))
    (tmp_path / "key").unlink()
    assert lines(build(tmp_path)) == first
    os.chmod(tmp_path / "key", 0o644)  # others have read it: a new one is made
    assert lines(build(tmp_path)) == first
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_the_digest_is_siphash():
    """The first vectors of its authors, for 128 bits."""
    key = bytes(range(16))
    expected = {
        0: "a3817f04ba25a8e66df67214c7550293",
        1: "da87c1d86b99af44347659119b22fc45",
        8: "3b62a9ba6258f5610f83e264f31497b4",
        15: "5493e99933b0a8117e08ec0f97cfc3d9",
    }
    for size, digest in expected.items():
        assert _C._keyed_digest(key, bytes(range(size))).hex() == digest
    with pytest.raises(ValueError, match="16 bytes"):
        _C._keyed_digest(b"short", b"")


def test_the_log_is_a_list_and_a_file(tmp_path):
    log = tmp_path / "log"
    done = build(tmp_path / "cache", EMBER_OPENCL_BUILD_LOG=str(log))
    build(tmp_path / "cache", EMBER_OPENCL_BUILD_LOG=str(log))
    rows = [line.split("\t") for line in log.read_text().splitlines()]
    assert [f"{row[3]} {row[0]}" for row in rows[: len(rows) // 2]] == lines(done)[1:]
    assert {row[0] for row in rows[len(rows) // 2 :]} == {"cached"}
    for _, cpu, wall, _, device, driver in rows:
        assert float(cpu) >= 0 and float(wall) >= 0
        assert device == ember.opencl.get_device_name() and driver


def test_a_terminal_shows_what_is_being_waited_for(tmp_path):
    main, side = pty.openpty()
    shown = bytearray()

    def read():
        try:
            while piece := os.read(main, 1000):
                shown.extend(piece)
        except OSError:
            pass

    reader = threading.Thread(target=read)
    reader.start()
    environment = {**os.environ, "EMBER_OPENCL_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM]
    subprocess.run(
        command, env=environment, stderr=side, stdout=subprocess.DEVNULL, timeout=240
    )
    os.close(side)
    reader.join(10)
    os.close(main)
    name = ember.opencl.get_device_name()
    text = shown.decode()
    assert f"compiling 1 kernel for {name} (first use)" in text
    assert f"compiling 2 kernels for {name} (first use)" in text
    assert text.endswith("\r\x1b[K")  # nothing stays on the line


def test_what_is_no_terminal_is_left_alone(pointwise):
    assert not build(pointwise).stderr


def test_limits_that_are_no_numbers_are_not_taken(pointwise):
    for bad in ("many", "-1", "nan", "0"):
        done = build(pointwise, EMBER_OPENCL_BUILD_SECONDS=bad)
        assert lines(done)[0] == "51.0"
        assert f"EMBER_OPENCL_BUILD_SECONDS='{bad}' is not a number" in done.stderr
