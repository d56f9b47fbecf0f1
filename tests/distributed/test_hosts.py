"""Two hosts, as network namespaces with names, shared memory and files of their own:
they train together, and a link that falls silent is noticed.
"""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

import ember
from tests.distributed.ranks import needs_mpi

PROGRAM = """
import json, os, sys, time
from datetime import timedelta
import ember, ember.distributed as dist
from ember import nn
from ember.nn.parallel import DistributedDataParallel

ember.set_num_threads(1)
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
ember.manual_seed(0)
model = DistributedDataParallel(nn.Linear(300, 300))
optimizer = ember.optim.SGD(model.parameters(), lr=0.01)
losses = []
for step in range(3):
    x = ember.randn(8, 300)[rank::2]
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss, dist.ReduceOp.AVG)
    losses.append(loss.item())
shared = os.listdir("/dev/shm")
print(json.dumps({"losses": losses, "host": os.uname().nodename}), flush=True)
if sys.argv[1] == "silence":
    dist.barrier()
    start = time.monotonic()
    try:
        while True:
            dist.all_reduce(ember.ones(1 << 16))
    except RuntimeError as error:
        took = time.monotonic() - start
        print(json.dumps({"error": str(error), "took": took}), flush=True)
        os._exit(3)
"""


def command(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture
def hosts():
    """Names of two namespaces with a link between them, 10.77.0.1 and .2."""
    if os.geteuid() or not shutil.which("ip") or not shutil.which("unshare"):
        pytest.skip("network namespaces need root and iproute2")
    names = [f"ember{os.getpid()}{letter}" for letter in "ab"]
    try:
        for name in names:
            if command("ip", "netns", "add", name).returncode:
                pytest.skip("network namespaces are not allowed here")
        a, b = names
        made = command(
            "ip", "link", "add", "e0", "netns", a, "type", "veth",
            "peer", "name", "e0", "netns", b,
        )  # fmt: skip
        if made.returncode:
            pytest.skip("no links between namespaces here")
        for i, name in enumerate(names):
            inside = ["ip", "-n", name]
            command(*inside, "addr", "add", f"10.77.0.{i + 1}/24", "dev", "e0")
            command(*inside, "link", "set", "e0", "up")
            command(*inside, "link", "set", "lo", "up")
        time.sleep(3)  # a new link is not at once ready
        yield names
    finally:
        for name in names:
            command("ip", "netns", "del", name)


def start(names, path, what):
    """A rank on each host."""
    root = os.path.dirname(ember.__path__[0])
    processes = []
    for rank, name in enumerate(names):
        env = os.environ | {
            "PYTHONPATH": root, "RANK": str(rank), "WORLD_SIZE": "2",
            "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29517", "OMP_NUM_THREADS": "1",
            "EMBER_DISTRIBUTED_SECRET": "between us",
            "EMBER_DISTRIBUTED_HEARTBEAT": "2",
            "EMBER_DISTRIBUTED_ADDRESS": f"10.77.0.{rank + 1}",
            "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "e0", "FI_TCP_IFACE": "e0",
        }  # fmt: skip
        alone = f"mount -t tmpfs none /dev/shm && hostname host{rank} && exec "
        alone += f"{sys.executable} {path} {what}"
        words = ["ip", "netns", "exec", name, "unshare", "--uts", "--ipc", "--mount"]
        processes.append(
            subprocess.Popen(
                [*words, "sh", "-c", alone],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=env,
            )
        )
    return processes


def end(processes):
    for process in processes:
        process.kill()
        process.communicate()


@needs_mpi
def test_two_hosts_train_together(hosts, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    processes = start(hosts, tmp_path / "program.py", "train")
    try:
        found = []
        for process in processes:
            out, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors
            found.append(json.loads(out))
    finally:
        end(processes)
    assert [row["host"] for row in found] == ["host0", "host1"]
    assert found[0]["losses"] == found[1]["losses"] and len(found[0]["losses"]) == 3


@needs_mpi
def test_a_silent_link(hosts, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    processes = start(hosts, tmp_path / "program.py", "silence")
    try:
        for process in processes:
            assert "losses" in process.stdout.readline()
        time.sleep(0.5)
        for i, name in enumerate(hosts):  # nothing arrives; no connection is told
            command("ip", "-n", name, "route", "add", "blackhole", "10.77.0.0/25")
            own = f"10.77.0.{i + 1}/24"
            command("ip", "-n", name, "addr", "del", own, "dev", "e0")
        begun = time.monotonic()
        for process in processes:
            out, errors = process.communicate(timeout=60)
            assert process.returncode == 3, errors
            assert "is lost" in json.loads(out)["error"]
        assert time.monotonic() - begun < 30
    finally:
        end(processes)
