"""Several processes: forks, programs kept on disk, workers that feed a device."""

import os
import subprocess
import sys

from .test_device import run

CHILD = """
import os
import signal
import ember

{before}
pid = os.fork()
if pid == 0:
    signal.alarm(60)  # what hangs is killed
    try:
        {during}
    except RuntimeError as error:
        os._exit(0 if "'spawn'" in str(error) else 1)
    os._exit(2)
assert os.waitpid(pid, 0)[1] == 0
assert ember.ones(3, device="opencl").sum().item() == 3
"""


def check_fork(before, during):
    done = run(CHILD.format(before=before, during=during))
    assert done.returncode == 0, done.stderr


def test_a_fork_of_a_process_that_computes_is_told():
    check_fork("x = ember.ones(3, device='opencl')", "x + 1")
    check_fork("x = ember.ones(3, device='opencl')", "x.cpu()")
    check_fork("x = ember.ones(3, device='opencl')", "ember.opencl.synchronize()")
    check_fork("x = ember.ones(3, device='opencl')", "ember.opencl.memory_stats()")


def test_a_fork_of_a_process_that_only_asked_is_told():
    # The driver's threads were started by the question, and are not in the child.
    check_fork("ember.opencl.is_available()", "ember.ones(3, device='opencl')")


def test_a_fork_before_any_use_works():
    code = """
import os
import ember

pid = os.fork()
if pid == 0:
    os._exit(int(ember.ones(3, device="opencl").sum().item()))
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
assert ember.ones(4, device="opencl").sum().item() == 4
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_a_fork_drops_what_it_inherits():
    code = """
import gc, os, signal
import ember

x = ember.ones(3, device="opencl")
event = ember.opencl.current_stream().record_event()
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    del x, event
    gc.collect()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert (x + 1).sum().item() == 6
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_workers_feed_a_device():
    code = """
import ember
from ember.utils.data import DataLoader, TensorDataset

x = ember.zeros(1, device="opencl")  # open before the workers are forked
data = TensorDataset(ember.arange(40.0).view(20, 2), ember.arange(20))
total = 0
for values, places in DataLoader(data, batch_size=6, num_workers=2, pin_memory=True):
    values = values.to("opencl", non_blocking=True)
    places = places.to("opencl", non_blocking=True)
    x += values.sum() + places.sum()
assert x.item() == 780 + 190
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


USE_PROGRAMS = """
import ember
x = ember.arange(5.0, device="opencl")
assert (x * 3 + 1).sum().item() == 35
assert x.cumsum(0)[-1].item() == 10
stats = ember.opencl.memory_stats()
print(stats["programs_built"], stats["programs_loaded"])
"""


def together(count, cache, **variables):
    """How many programs each of `count` processes has built and loaded."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", USE_PROGRAMS],
            env={**os.environ, "EMBER_OPENCL_CACHE": str(cache), **variables},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    ended = [process.communicate(timeout=240)[0] for process in started]
    assert all(process.returncode == 0 for process in started)
    return [tuple(map(int, text.split())) for text in ended]


def test_processes_share_the_cache_of_programs(tmp_path):
    for built, loaded in together(3, tmp_path):
        assert built + loaded > 0
    files = sorted(tmp_path.glob("*.bin"))
    left = {path.name for path in tmp_path.iterdir()} - {path.name for path in files}
    assert left == {"key"}  # nothing half written
    assert all(built == 0 for built, _ in together(2, tmp_path))
    # Files that are cut short, changed, empty, or another's cost a build, nothing else.
    whole = [path.read_bytes() for path in files]
    files[0].write_bytes(whole[0][: len(whole[0]) // 2])
    files[1].write_bytes(whole[1][:-1] + bytes([whole[1][-1] ^ 1]))
    files[2].write_bytes(b"")
    files[3].write_bytes(whole[0])
    [(built, loaded)] = together(1, tmp_path)
    assert built == 4 and built + loaded == len(files)
    assert [path.read_bytes()[:8] for path in files] == [w[:8] for w in whole]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    code = "import ember; assert ember.ones(3, device='opencl').sum().item() == 3"
    done = run(code, EMBER_OPENCL_CACHE=str(tmp_path / "file" / "below"))
    assert done.returncode == 0, done.stderr


def test_programs_that_were_not_used_for_longest_are_removed(tmp_path):
    [(built, _)] = together(1, tmp_path)
    *used, last = sorted(tmp_path.glob("*.bin"), key=lambda p: p.stat().st_mtime_ns)
    assert len(used) == built - 1 > 1
    last.unlink()  # to be written again, which is when the size is looked at
    others = [tmp_path / f"{i:032x}.bin" for i in range(8)]
    torn = tmp_path / f"{9:032x}.bin.123"  # of a process that was killed
    foreign = [tmp_path / name for name in ("notes.bin", f"{9:032x}.bin.old", "a.txt")]
    for path in [*others, torn, *foreign]:
        path.write_bytes(bytes(2**18))
    for age, path in enumerate([*used, torn, *others]):
        os.utime(path, (age, age))
    assert together(1, tmp_path, EMBER_OPENCL_CACHE_SIZE="2") == [(1, len(used))]
    assert all(path.exists() for path in [*used, last, *foreign])
    assert not torn.exists()
    left = [path for path in others if path.exists()]
    assert left == others[-len(left) :] and 0 < len(left) < len(others)
    kept = sum(p.stat().st_size for p in tmp_path.glob("*.bin") if p not in foreign)
    assert kept <= 1.5 * 2**20  # three quarters


def test_a_cache_that_is_too_small_is_trimmed_by_many_at_once(tmp_path):
    for _ in range(2):
        for built, loaded in together(4, tmp_path, EMBER_OPENCL_CACHE_SIZE="0.05"):
            assert built + loaded > 1
        assert sum(p.stat().st_size for p in tmp_path.glob("*.bin*")) <= 0.05 * 2**20


def test_a_size_that_is_no_number_is_not_taken(tmp_path):
    code = "import ember; ember.ones(3, device='opencl').sum().item()"
    for size in ("many", "-1", "nan"):
        done = run(code, EMBER_OPENCL_CACHE=str(tmp_path), EMBER_OPENCL_CACHE_SIZE=size)
        assert done.returncode == 0, done.stderr
        assert f"EMBER_OPENCL_CACHE_SIZE='{size}' is not a number" in done.stderr
    done = run(code, EMBER_OPENCL_CACHE=str(tmp_path), EMBER_OPENCL_CACHE_SIZE="inf")
    assert done.returncode == 0 and not done.stderr
    assert any(tmp_path.iterdir())
