"""Modules, loaders, files, the profiler and processes, used by several threads."""

import subprocess
import sys
import threading

import pytest

import ember
from ember import nn
from ember.nn import functional as F
from tests.threads import LARGE, SECONDS, at_once, ends, until

# --- modules, loaders, files ---------------------------------------------------------


def test_threads_train_one_module():
    ember.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.01), nn.Linear(16, 1)
    )
    optimizer = ember.optim.SGD(model.parameters(), lr=0.02)
    inputs = ember.randn(4, 32, 8)
    losses = []

    def work(x):
        for _ in range(3):
            loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
            loss.backward()
            losses.append(loss.item())

    for _ in range(20):
        optimizer.zero_grad()
        at_once(*[lambda x=x: work(x) for x in inputs])
        optimizer.step()
    assert sum(losses[-12:]) < sum(losses[:12]) / 2


def test_hooks_of_modules_come_and_go():
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), ember.ones(2, 4)
    stopped = threading.Event()

    def work():
        for _ in range(200):
            model(x).sum().backward()
            model.state_dict()

    def change():
        handles = [
            model.register_forward_hook(lambda m, a, y: None),
            model.register_forward_pre_hook(lambda m, a: None),
            model[0].register_full_backward_hook(lambda m, i, o: None),
        ]
        for handle in handles:
            handle.remove()

    at_once(ends(stopped, work), work, until(stopped, change))


class Rows(ember.utils.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return ember.full((3,), float(i)), i


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_in_several_threads(workers):
    def work():
        loader = ember.utils.data.DataLoader(
            Rows(), batch_size=8, shuffle=True, num_workers=workers, pin_memory=True
        )
        for _ in range(2):
            rows = [i for x, index in loader for i in index.tolist() if x.shape[1] == 3]
            assert sorted(rows) == list(range(40))

    at_once(work, work)


def test_files_are_written_and_read_at_once(tmp_path):
    common = tmp_path / "common.pt"
    ember.save({"x": ember.arange(LARGE)}, common)

    def work(n):
        own = tmp_path / f"{n}.pt"
        for i in range(5):
            ember.save({"x": ember.full((LARGE,), i), "n": n}, own)
            assert (ember.load(own)["x"] == i).all()
            assert ember.load(common)["x"][-1] == LARGE - 1
            ember.save({"x": ember.arange(LARGE)}, common)

    at_once(*[lambda n=n: work(n) for n in range(3)])
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *(f"{n}.pt" for n in range(3)),
        "common.pt",
    ]


def test_the_profiler_starts_and_stops_while_threads_run():
    x, stopped = ember.ones(LARGE, requires_grad=True), threading.Event()

    def work():
        for _ in range(40):
            (x * 2).sum().backward()

    def watch():
        with ember.profiler.profile(profile_memory=True, record_shapes=True) as prof:
            ember.ones(3).exp()
        assert any(e.name == "exp" for e in prof.events())

    at_once(ends(stopped, work), work, until(stopped, watch))


# --- processes -----------------------------------------------------------------------

FORK = """
import os, sys, threading
import ember
from ember.nn import functional as F

sys.setswitchinterval(1e-5)
ember.set_num_threads(2)
leaf, stopped = ember.ones(70_000, requires_grad=True), threading.Event()
shared = leaf * leaf.exp()

def work():
    while not stopped.is_set():
        (leaf * 2).sum().backward()
        shared.sum().backward(retain_graph=True)
        ember.randn(5000).sort(), ember.fft.fft(ember.ones(500))
        [ember.ones(n) for n in range(50)]
        F.conv2d(ember.ones(1, 4, 20, 20), ember.ones(4, 4, 3, 3))

threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            (leaf * 2).sum().backward()
            shared.sum().backward()
            ember.randn(5000).sort()
            assert (ember.ones(300, 300) @ ember.ones(300, 300))[0, 0] == 300
            assert ember.fft.fft(ember.ones(500))[0].real == 500
            F.conv2d(ember.ones(1, 4, 20, 20), ember.ones(4, 4, 3, 3))
            if "TSAN_OPTIONS" not in os.environ:  # it allows no threads here
                t = threading.Thread(target=lambda: (leaf * 3).sum().backward())
                t.start()
                t.join()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
stopped.set()
for t in threads: t.join()
print("done")
"""


def run(program, *args):
    command = [sys.executable, "-c", program, *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr


def test_children_are_forked_while_threads_run():
    run(FORK, "20")


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)"])
def test_the_process_ends_while_threads_run(end):
    program = FORK.replace("target=work)", "target=work, daemon=True)")
    program = program.replace("stopped.set()", f"print('done', flush=True); {end}")
    for _ in range(3):
        run(program, "0")


def test_a_python_without_the_gil_is_refused():
    program = "import sys; sys.abiflags = 't'; import ember"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "ImportError: ember needs a build of Python with the GIL" in done.stderr
