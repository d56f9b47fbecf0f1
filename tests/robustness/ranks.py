"""Training by several processes, one of which is killed: in init_process_group, a
forward pass, a collective or while a checkpoint is written.

Alone, the others must end by themselves with an error that names it, soon, and leave no
shared segment. With a launcher the run must end with the loss of one that nobody
disturbed.
"""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time

import ember
import ember.distributed as dist
from tests.robustness.processes import LIMIT, descendants, until

ROUNDS = 200
RANKS, STEPS, SOON = 3, 40, 5.0
ARRIVAL = 15.0  # seconds in which all ranks have to come

PROGRAM = f"""
import os, sys
from datetime import timedelta
import ember, ember.distributed as dist
from ember import nn
from ember.nn.parallel import DistributedDataParallel

path, steps = sys.argv[1], int(sys.argv[2])
ember.set_num_threads(1)
print("begins", flush=True)
dist.init_process_group("gloo", timeout=timedelta(seconds={ARRIVAL}))
rank, size = dist.get_rank(), dist.get_world_size()
print("ready", flush=True)
ember.manual_seed(0)
layers = nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1)
model = DistributedDataParallel(nn.Sequential(*layers))
optimizer = ember.optim.Adam(model.parameters(), lr=1e-3)
first = 0
if os.path.exists(path):
    state = ember.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["step"] + 1
for step in range(first, steps):
    ember.manual_seed(step)
    x = ember.randn(12, 64)[rank::size]
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 2:
        if rank == 0:
            state = {{"model": model.state_dict(), "optimizer": optimizer.state_dict()}}
            ember.save(state | {{"step": step}}, path)
        dist.barrier()
loss = loss.detach()
dist.all_reduce(loss, dist.ReduceOp.AVG)
if rank == 0:
    with open(path + ".loss", "w") as file:
        file.write(repr(loss.item()))
dist.destroy_process_group()
"""
_undisturbed: list[str] = []


def missing() -> str:
    """Why it can't run here."""
    return "" if dist.is_available() else "there is no MPI library"


def segments() -> set[str]:
    """MPI's shared memory."""
    return {name for name in os.listdir("/dev/shm") if name.startswith("mpich_shm")}


def program(folder: str) -> str:
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write(PROGRAM)
    return path


def environment(**settings: str) -> dict[str, str]:
    root = os.path.dirname(ember.__path__[0])
    return os.environ | {"PYTHONPATH": root, "OMP_NUM_THREADS": "1"} | settings


def one_round(draw: random.Random, folder: str) -> str:
    """Run and kill once; what was killed. Raises AssertionError."""
    before = segments()
    found = draw.choice([survivors, elastic])(draw, folder)
    gone = until(lambda: not segments() - before, 10)
    assert gone, f"{found}: shared segments are left: {segments() - before}"
    return found


def survivors(draw: random.Random, folder: str) -> str:
    """Ranks on their own: the others end with an error."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(RANKS)}
    command = [sys.executable, program(folder), f"{folder}/state", str(10**9)]
    processes = []
    try:
        for rank in range(RANKS):
            with open(f"{folder}/errors{rank}", "w") as errors:
                processes.append(
                    subprocess.Popen(
                        command,
                        stdout=subprocess.PIPE,
                        stderr=errors,
                        text=True,
                        env=environment(**where, RANK=str(rank)),
                    )
                )
        moment = draw.choice(["init", "training", "training"])
        for process in processes:
            assert process.stdout is not None
            wanted = ["begins\n"] if moment == "init" else ["begins\n", "ready\n"]
            assert [process.stdout.readline() for _ in wanted] == wanted, "no start"
        time.sleep(draw.random() * draw.choice([0.02, 0.3, 1.0]))
        victim = draw.randrange(RANKS)
        os.kill(processes[victim].pid, signal.SIGKILL)
        others = [r for r in range(RANKS) if r != victim]
        limit = SOON + (ARRIVAL if moment == "init" else 0)
        ended = until(
            lambda: all(processes[r].poll() is not None for r in others), limit
        )
        assert ended, f"killed rank {victim} in {moment}: a survivor goes on"
        for r in others:
            with open(f"{folder}/errors{r}") as file:
                text = file.read()
            named = re.search(rf"rank[s ][^\n]*\b{victim}\b", text)
            last = text.strip().splitlines()[-1:]
            assert processes[r].returncode and named, (
                f"killed rank {victim} in {moment}: rank {r} ended with "
                f"{processes[r].returncode} and {last}"
            )
        return f"{moment}, no launcher"
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def launched(folder: str) -> tuple[subprocess.Popen, str]:
    path = f"{folder}/state"
    launcher = ["-m", "ember.distributed.run", "--standalone", "--max-restarts", "5"]
    command = [sys.executable, *launcher, "--nproc-per-node", str(RANKS)]
    main = subprocess.Popen(
        [*command, program(folder), path, str(STEPS)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    return main, path


def elastic(draw: random.Random, folder: str) -> str:
    """A launcher begins again: the loss at the end is the same."""
    if not _undisturbed:
        quiet = os.path.join(folder, "quiet")
        os.mkdir(quiet)
        main, path = launched(quiet)
        _, text = main.communicate(timeout=LIMIT * 2)
        assert main.returncode == 0, text
        with open(path + ".loss") as file:
            _undisturbed.append(file.read())
    main, path = launched(folder)
    there = until(lambda: len(descendants(main.pid)) >= RANKS, LIMIT)
    assert there, "the launcher starts no workers"
    time.sleep(draw.random() * draw.choice([1.0, 3.0, 6.0]))
    known = descendants(main.pid)
    killed = "nobody, as it had ended"
    if known:
        os.kill(draw.choice(known), signal.SIGKILL)
        killed = "a worker"
    try:
        _, text = main.communicate(timeout=LIMIT * 2)
    except subprocess.TimeoutExpired:
        for pid in descendants(main.pid):
            os.kill(pid, signal.SIGKILL)
        main.kill()
        raise AssertionError("the launcher hangs after a worker was killed") from None
    assert main.returncode == 0, f"the launcher ended with {main.returncode}: {text}"
    with open(path + ".loss") as file:
        loss = file.read()
    assert loss == _undisturbed[0], f"loss {loss}, undisturbed {_undisturbed[0]}"
    return f"{killed}, launcher"
