"""Kernels, and the libraries and caches behind them, used by several threads."""

import subprocess
import sys
import threading

import ember
from ember.nn import functional as F
from tests.threads import LARGE, at_once, ends, until


def kernels():
    ember.manual_seed(0)
    a, b = ember.randn(300, 300), ember.randn(300, 300)
    image, weight = ember.randn(2, 8, 40, 40), ember.randn(8, 8, 3, 3)
    index = ember.randint(300, (300,))
    spd = a.double() @ a.double().T + 300 * ember.eye(300, dtype=ember.float64)
    return {
        "add": lambda: a + b.T,
        "exp": lambda: a.exp(),
        "sum": lambda: a.sum(0),
        "std": lambda: a.std(1),
        "matmul": lambda: a @ b,
        "double": lambda: a.double() @ b.double(),
        "complex": lambda: a.to(ember.complex64) @ b.to(ember.complex64),
        "conv": lambda: F.conv2d(image, weight, padding=1),
        "pool": lambda: F.max_pool2d(image, 2),
        "softmax": lambda: F.softmax(a, 1),
        "norm": lambda: F.layer_norm(a, (300,)),
        "sort": lambda: a.sort(1).values,
        "cumsum": lambda: a.cumsum(1),
        "fft": lambda: ember.fft.fft(a),
        "gather": lambda: a[index],
        "mask": lambda: a[a > 0],
        "scatter": lambda: ember.zeros(300, 300).index_add_(0, index, a),
        "cat": lambda: ember.cat([a, b]),
        "cholesky": lambda: ember.linalg.cholesky(spd),
        "solve": lambda: ember.linalg.solve(spd, a.double()),
        "cast": lambda: a.half().float(),
        "interpolate": lambda: F.interpolate(image, scale_factor=2.0, mode="bilinear"),
        "unique": lambda: index.unique(),
    }


def test_every_thread_computes_the_same():
    table = kernels()
    expected = {name: f() for name, f in table.items()}

    def work():
        for name, f in table.items():
            assert ember.equal(f(), expected[name]), name

    at_once(*[work] * 4)


FIRST_USE = """
import threading
import ember
from ember.nn import functional as F

a = ember.ones(200, 200)
image, weight = ember.ones(1, 4, 20, 20), ember.ones(4, 4, 3, 3)
jobs = [
    lambda: F.conv2d(image, weight),
    lambda: F.conv2d(image, weight),
    lambda: a @ a,
    lambda: a.double() @ a.double(),
    lambda: a.to(ember.complex64) @ a.to(ember.complex64),
    lambda: ember.linalg.svd(a),
    lambda: ember.linalg.inv(a + 200 * ember.eye(200)),
    lambda: ember.fft.fft(a),
    lambda: ember.randn(200, 200),
    lambda: F.layer_norm(a, (200,)),
]
barrier, done = threading.Barrier(len(jobs)), []

def run(job):
    barrier.wait()
    job()
    done.append(1)

threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
for t in threads: t.start()
for t in threads: t.join()
assert len(done) == len(jobs)
print("done")
"""


def test_libraries_are_loaded_by_several_threads_at_once():
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", FIRST_USE], capture_output=True, text=True
        )
        assert done.returncode == 0 and done.stdout == "done\n", done.stderr


def test_caches_of_primitives_and_plans():
    expected = {n: ember.fft.fft(ember.ones(n)).real.sum().item() for n in range(2, 60)}

    def work():
        for n in range(2, 60):
            assert ember.fft.fft(ember.ones(n)).real.sum().item() == expected[n]
            image = ember.ones(1, 1, n + 2, n + 2)
            assert F.conv2d(image, ember.ones(1, 1, 3, 3))[0, 0, n - 1, 0] == 9
            assert (ember.ones(n, n) @ ember.ones(n, n))[0, 0] == n

    at_once(*[work] * 4)


def test_the_number_of_threads_changes_while_kernels_run():
    x, stopped = ember.ones(LARGE), threading.Event()

    def work():
        for _ in range(60):
            assert (x + 1).sum() == 2 * LARGE
            assert x.reshape(100, -1).sum(1)[3] == LARGE // 100

    def change():
        for n in (1, 2, 3):
            ember.set_num_threads(n)
            assert ember.get_num_threads() in (1, 2, 3)

    at_once(ends(stopped, work), work, until(stopped, change))
