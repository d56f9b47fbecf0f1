"""A rank that dies, does not come or leaves: the others get an error that says who."""

import os
import signal
import time
from datetime import timedelta

import pytest

import ember
import ember.distributed as dist
from tests.distributed.ranks import needs_mpi, run

pytestmark = needs_mpi


def dies(rank, victim, moment):
    x = ember.ones(1 << 16)
    dist.all_reduce(x)
    if rank == victim:
        time.sleep(0.3)  # the others have left the first one
        if moment == "busy":
            dist.all_reduce(ember.ones(1 << 22), async_op=True)
        os.kill(os.getpid(), signal.SIGKILL)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=f"rank {victim} is lost"):
        for _ in range(100000):
            dist.all_reduce(ember.ones(1 << 22))
    took = time.monotonic() - start
    with pytest.raises(RuntimeError, match=f"rank {victim} is lost"):
        dist.barrier()
    return took


@pytest.mark.parametrize("victim", [0, 1, 2])
@pytest.mark.parametrize("moment", ["idle", "busy"])
def test_survivors_name_the_dead(victim, moment):
    others = {0, 1, 2} - {victim}
    times = run(dies, 3, victim, moment, expect=others)
    assert max(times[r] for r in others) < 5


def leaves(rank):
    if rank == 1:
        return None  # its process ends as usual
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="rank 1 has left"):
        dist.all_reduce(ember.ones(1))
    return time.monotonic() - start


def test_a_rank_that_left():
    assert run(leaves, 2)[0] < 5


def test_a_rank_that_does_not_come(tmp_path):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"rank 1 did not arrive within 0\.3 s"):
        dist.init_process_group(
            init_method=f"file://{tmp_path}/store",
            rank=0,
            world_size=2,
            timeout=timedelta(seconds=0.3),
        )
    assert time.monotonic() - start < 5 and not dist.is_initialized()


def test_no_group_without_a_world():
    with pytest.raises(RuntimeError, match="MPI has not begun"):
        ember._C._dist_comm([0, 99], 1e9)
