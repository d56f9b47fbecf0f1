"""Starting programs, finding what they started, and waiting for an end."""

import os
import subprocess
import sys
import time
from collections.abc import Callable

import ember

LIMIT = 60.0  # seconds after which a round counts as hung


def start(text: str, folder: str, *arguments: str, **settings: str) -> subprocess.Popen:
    """Run a program in a session of its own until it says "ready".

    `settings` go to its environment. It is written to program.py in the folder.
    """
    program = os.path.join(folder, "program.py")
    with open(program, "w") as file:
        file.write(text)
    root = os.path.dirname(ember.__path__[0])
    process = subprocess.Popen(
        [sys.executable, program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": root} | settings,
        start_new_session=True,
    )
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise AssertionError(f"it does not start: {process.communicate()[1]}")
    return process


def descendants(pid: int) -> list[int]:
    """Processes below this one."""
    found, queue = [], [pid]
    while queue:
        try:
            with open(f"/proc/{queue[0]}/task/{queue[0]}/children") as children:
                below = [int(word) for word in children.read().split()]
        except OSError:
            below = []
        queue = queue[1:] + below
        found += below
    return found


def is_alive(pid: int) -> bool:
    """Whether a process still runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(condition: Callable[[], bool], limit: float) -> bool:
    """Whether the condition came true in time."""
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
