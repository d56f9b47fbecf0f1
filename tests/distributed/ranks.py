"""Runs a function as several ranks, in processes of their own, with a time limit."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import ember
import ember.distributed as dist

needs_mpi = pytest.mark.skipif(not dist.is_available(), reason="no MPI library")


def _segments() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if name.startswith("mpich_shm")}


def _rank(
    function: Callable, rank: int, size: int, path: str, args: tuple, answers: Any
) -> None:
    ember.set_num_threads(1)
    try:
        dist.init_process_group(
            "gloo",
            init_method=f"file://{path}",
            rank=rank,
            world_size=size,
            timeout=timedelta(seconds=20),
        )
        answer = function(rank, *args)
        dist.destroy_process_group()
        answers.put((rank, True, answer))
    except BaseException:
        answers.put((rank, False, traceback.format_exc()))


def run(
    function: Callable,
    size: int,
    *args: Any,
    expect: set[int] | None = None,
    seconds: float = 60,
) -> list[Any]:
    """What `function(rank, *args)` returns on each of `size` ranks, which are in a
    process group. Only the ranks in `expect` have to answer."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    before = _segments()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "store")
        processes = [
            context.Process(target=_rank, args=(function, r, size, path, args, answers))
            for r in range(size)
        ]
        for process in processes:
            process.start()
        expected = set(range(size)) if expect is None else expect
        found: dict[int, Any] = {}
        end = time.monotonic() + seconds
        try:
            while expected - set(found):
                rank, well, answer = answers.get(
                    timeout=max(0.1, end - time.monotonic())
                )
                assert well, f"rank {rank}:\n{answer}"
                found[rank] = answer
            for process in processes:
                process.join(10)
                assert process.exitcode is not None, "a rank did not end"
        finally:
            for process in processes:
                process.kill()
                process.join(10)
    left, end = _segments() - before, time.monotonic() + 10
    while left and time.monotonic() < end:  # those of other tests go
        time.sleep(0.05)
        left &= _segments()
    assert not left, "shared segments are left behind"
    return [found.get(rank) for rank in range(size)]
