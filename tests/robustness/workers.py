"""Training from a DataLoader: one of its workers or the program itself is killed.

Left must be: no process, no file but whole checkpoints, nothing in /dev/shm, and, if a
worker was killed, a program that ended by itself and says which one.
"""

import os
import random
import signal
import subprocess
import time

import ember
from tests.robustness.processes import LIMIT, descendants, is_alive, start, until
from tests.robustness.save import TEMPORARY

PROGRAM = """
import sys, time
import numpy as np
import ember
from ember.utils.data import DataLoader, Dataset

class Noise(Dataset):
    def __len__(self):
        return 100_000
    def __getitem__(self, i):
        if i % 7 == 0:
            time.sleep(0.001)
        return np.full((3, 32, 32), i, np.float32), i

if __name__ == "__main__":
    method, persistent, path = sys.argv[1], sys.argv[2] == "1", sys.argv[3]
    loader = DataLoader(Noise(), 16, num_workers=2, multiprocessing_context=method,
                        persistent_workers=persistent)
    print("ready", flush=True)
    step = 0
    while True:
        for x, y in loader:
            assert (x[:, 0, 0, 0] == y).all() and (x[:, 2, 31, 31] == y).all()
            if step % 5 == 0:
                ember.save({"step": step, "x": x}, path)
            step += 1
            if step % 40 == 0 and not persistent:
                break
"""


def shared_files() -> set[str]:
    """Files in /dev/shm, without those that other programs of this machine make."""
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    others = ("sem.mp-", "torch_", "psm_", "mpich_")
    return {name for name in names if not name.startswith(others)}


def one_round(draw: random.Random, folder: str) -> str:
    """Run and kill once; what was killed. Raises AssertionError."""
    before = shared_files()
    path = os.path.join(folder, "model.pt")
    method = draw.choice(["fork", "fork", "spawn", "forkserver"])
    arguments = [method, draw.choice("01"), path]
    main = start(PROGRAM, folder, *arguments)
    time.sleep(draw.choice([0.01, 0.1, 0.3, 0.6, 1.0]) * draw.random())
    known = set(descendants(main.pid))
    target = draw.choice(["worker", "parent"])
    workers = [pid for pid in known if not is_helper(pid, main.pid)]
    if target == "worker" and workers:
        os.kill(draw.choice(workers), signal.SIGKILL)
        try:
            _, errors = main.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            # A worker that had done its part, of a loader that was left, is not missed.
            goes_on = until(lambda: time.time() - changed(path) < 1, LIMIT / 2)
            main.kill()
            main.communicate()
            assert goes_on and arguments[1] == "0", (
                f"{arguments[:2]}: it hangs without its worker"
            )
            return f"{method}, worker that was done"
        ended = "killed by signal" in errors or "exited unexpectedly" in errors
        starting = "EOFError" in errors or "BrokenPipe" in errors
        assert main.returncode == 1 and (ended or starting), errors
        target = "worker" if ended else "starting worker"
    else:
        target = "parent"
        main.kill()
        main.communicate()
    left = until(lambda: not any(map(is_alive, known)), LIMIT / 2)
    assert left, f"{arguments[:2]}, {target}: left {[p for p in known if is_alive(p)]}"
    files = set(os.listdir(folder)) - {"program.py", "model.pt"}
    files = {name for name in files if not TEMPORARY.fullmatch(name)}
    assert not files, f"{target}: left {files}"
    if os.path.exists(path):
        ember.load(path)
    assert until(lambda: shared_files() <= before, 5), shared_files() - before
    return f"{method}, {target}"


def changed(path: str) -> float:
    """When a file was last written; long ago if it does not exist."""
    return os.path.getmtime(path) if os.path.exists(path) else 0.0


def is_helper(pid: int, main: int) -> bool:
    """Python's own resource tracker and fork server are not workers."""
    try:
        with open(f"/proc/{pid}/cmdline") as line:
            text = line.read()
        with open(f"/proc/{pid}/stat") as stat:
            parent = int(stat.read().rpartition(")")[2].split()[1])
    except OSError:
        return True
    return "resource_tracker" in text or ("forkserver" in text and parent == main)
