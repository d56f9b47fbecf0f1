"""The launcher: workers and their environment, failures, restarts, hosts that go."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ember
from ember.distributed.elastic._workers import Std
from ember.distributed.run import config_from_args, parse_args
from tests.distributed.ranks import needs_mpi

pytestmark = needs_mpi
ROOT = str(Path(ember.__path__[0]).parent)
MEET = """
import os, sys, time, json
import ember, ember.distributed as dist
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
"""
TRAIN = (
    MEET
    + """
from ember import nn
folder, kill = sys.argv[1], sys.argv[2:]
ember.manual_seed(0)
net = nn.Linear(3, 1)
start, path = 0, folder + "/state.pt"
if os.path.exists(path):
    start, state = ember.load(path)
    net.load_state_dict(state)
ddp = nn.parallel.DistributedDataParallel(net)
optimizer = ember.optim.SGD(ddp.parameters(), lr=0.1)
for step in range(start, 8):
    first = os.environ["EMBER_ELASTIC_ROUND"] == "0"
    if kill and first and step == 4 and rank == int(kill[0]):
        os.kill(os.getpid(), 9)
    optimizer.zero_grad()
    x = ember.arange(12.0).view(4, 3)[rank * 4 // size : (rank + 1) * 4 // size]
    (ddp(x / 12) - step).pow(2).mean().backward()
    optimizer.step()
    if rank == 0:
        ember.save((step + 1, net.state_dict()), path)
    dist.barrier()
if rank == 0:
    print("WEIGHTS", json.dumps([p.tolist() for p in net.parameters()]), flush=True)
dist.destroy_process_group()
"""
)


def program(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(text)
    return str(path)


def launch(*words, **more):
    return subprocess.Popen(
        [sys.executable, "-m", "ember.distributed.run", *map(str, words)],
        env={**os.environ, "PYTHONPATH": ROOT, "PYTHONSAFEPATH": "", **more},
        cwd=ROOT,  # which -m looks at first
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process, seconds=120):
    out, errors = process.communicate(timeout=seconds)
    return process.returncode, out, errors


def test_workers_know_who_they_are(tmp_path):
    text = MEET + (
        "x = ember.tensor([rank + 1.0]); dist.all_reduce(x)\n"
        "names = ['RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'LOCAL_WORLD_SIZE',\n"
        "         'GROUP_RANK', 'TORCHELASTIC_RESTART_COUNT', 'OMP_NUM_THREADS']\n"
        "print(json.dumps([x.item(), sys.argv[1:], *map(os.environ.get, names)]))\n"
        "print('trouble', file=sys.stderr)\n"
    )
    logs = tmp_path / "logs"
    code, out, errors = finish(
        launch("--standalone", "--nproc-per-node=3", "-t", "3", "--log-dir", logs,
               program(tmp_path, text), "a", "--b")
    )  # fmt: skip
    assert code == 0, errors
    told = sorted(line for line in out.splitlines() if line)
    assert [line[:11] for line in told] == [f"[default{r}]:" for r in range(3)]
    for rank, line in enumerate(told):
        expected = [6.0, ["a", "--b"], str(rank), str(rank), "3", "3", "0", "0", "1"]
        assert json.loads(line[11:]) == expected
    assert errors.count("trouble") == 3
    assert len(list(logs.glob("*/attempt_0/*/stdout.log"))) == 3


def test_failures_are_reported(tmp_path):
    text = (
        "import os\n"
        "from ember.distributed.elastic.multiprocessing.errors import record\n"
        "@record\n"
        "def main():\n"
        "    if os.environ['RANK'] == '1': raise ValueError('no such luck')\n"
        "    import time; time.sleep(60)\n"
        "main()\n"
    )
    path = program(tmp_path, text)
    code, _, errors = finish(launch("--standalone", "--nproc-per-node=2", path))
    assert code == 1
    assert "rank      : 1 (local_rank: 1)" in errors
    assert "ValueError: no such luck" in errors and "program.py FAILED" in errors
    killed = program(tmp_path, "import os; os.kill(os.getpid(), 9)")
    code, _, errors = finish(launch("--standalone", killed))
    assert code == 1 and "Signal 9 (SIGKILL)" in errors


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_goes_on_from_its_checkpoint(tmp_path, victim):
    path = program(tmp_path, TRAIN)
    weights = []
    for name, kill in (("calm", []), ("disturbed", [victim])):
        folder = tmp_path / name
        folder.mkdir()
        code, out, errors = finish(
            launch("--standalone", "--nproc-per-node=2", "--max-restarts=2", path,
                   folder, *kill)
        )  # fmt: skip
        assert code == 0, errors
        weights += [line for line in out.splitlines() if line.startswith("WEIGHTS")]
        if kill:
            assert f"rank {victim} (pid" in errors and "restarts are left" in errors
    assert len(weights) == 2 and weights[0] == weights[1]


def test_restarts_run_out(tmp_path):
    path = program(tmp_path, "raise SystemExit(3)")
    code, _, errors = finish(launch("--standalone", "--max-restarts", 2, path))
    assert code == 1 and errors.count("failed in round") == 3
    assert "exitcode  : 3" in errors


def test_workers_end_with_their_agent(tmp_path):
    text = r"import os, time; os.write(1, b'%d\n' % os.getpid()); time.sleep(300)"
    path = program(tmp_path, text)
    for number, code in ((signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -9)):
        agent = launch("--standalone", "--nproc-per-node=2", path)
        pids = [int(agent.stdout.readline()) for _ in range(2)]
        agent.send_signal(number)
        assert finish(agent, 60)[0] == code
        end = time.monotonic() + 30
        while any(os.path.exists(f"/proc/{pid}") for pid in pids):
            assert time.monotonic() < end, "workers outlive their agent"
            time.sleep(0.05)


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_hosts_meet_and_go(tmp_path):
    """Two agents; one is killed, and the other goes on alone from the checkpoint."""
    slow = TRAIN.replace("optimizer.step()", "optimizer.step(); time.sleep(0.3)")
    path = program(tmp_path, slow)
    words = ["--nnodes=1:2", "--rdzv-backend=c10d", "--rdzv-id=test",
             "--max-restarts=3", f"--rdzv-endpoint=127.0.0.1:{free_port()}",
             "--rdzv-conf=last_call_timeout=20", path, tmp_path]  # fmt: skip
    secret = {"EMBER_DISTRIBUTED_SECRET": "between us"}
    first = launch(*words, **secret)
    time.sleep(1)
    second = launch(*words, **secret)
    end = time.monotonic() + 60
    while not (tmp_path / "state.pt").exists():
        assert time.monotonic() < end and first.poll() is None
        time.sleep(0.05)
    second.kill()
    second.communicate()
    code, out, errors = finish(first)
    assert code == 0, errors
    assert "WEIGHTS" in out
    assert "beginning again" in errors or "failed in round" in errors


def test_options():
    config, command, rest = config_from_args(
        parse_args("--nnodes 2:4 --nproc_per_node 3 --rdzv_backend c10d "
                   "--rdzv_endpoint host:99 -r 0:1,1:2 --tee 3 -m pkg.mod "
                   "--x 1".split())
    )  # fmt: skip
    assert (config.min_nodes, config.max_nodes, config.nproc_per_node) == (2, 4, 3)
    assert config.endpoint() == ("host", 99)
    assert config.redirects == {0: Std.OUT, 1: Std.ERR} and config.tee == Std.ALL
    assert command == sys.executable
    assert rest == ["-u", "-m", "pkg.mod", "--x", "1"]
    for bad in ("--nnodes 0 a", "--nproc-per-node gpu a", "--nproc-per-node x a",
                "-r 9 a", "--rdzv-backend etcd a", "--rdzv-conf a a",
                "--no-python -m a", "--max-restarts -1 a"):  # fmt: skip
        with pytest.raises((ValueError, RuntimeError)):
            config_from_args(parse_args(bad.split()))


def double(x):
    assert os.environ["WORLD_SIZE"] == "2"
    return x * 2 + int(os.environ["RANK"])


def test_functions():
    from ember.distributed.elastic.multiprocessing.errors import ChildFailedError
    from ember.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(1, 1, 2, max_restarts=0)
    assert elastic_launch(config, double)(4) == {0: 8, 1: 9}
    with pytest.raises(ChildFailedError, match="TypeError"):
        elastic_launch(config, double)(None)


def test_the_example_prints_the_losses_of_one_process(tmp_path):
    path = str(Path(__file__).parents[2] / "examples" / "gpt_parallel.py")
    words = [path, "--steps", "50", "--save", tmp_path / "state.pt"]
    code, out, errors = finish(launch("--standalone", "--nproc-per-node=2", *words))
    assert code == 0, errors
    alone = subprocess.run(
        [sys.executable, path, "--steps", "50"],
        env={**os.environ, "PYTHONPATH": ROOT, "PYTHONSAFEPATH": ""},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert out == alone.stdout and out.count("loss") == 2
    assert ember.load(tmp_path / "state.pt")["step"] == 50
