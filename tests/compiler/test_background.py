"""Compiling in the background, by several threads, in children, and not at all."""

import os
import subprocess
import sys
import threading

import pytest

import ember
from ember.compiler import _queue
from ember.compiler._program import Builder

from . import needs_jit


def program(steps=1):
    b = Builder()
    x = b.load()
    for i in range(steps):
        x = b.binary("add", b.unary("exp", x), b.constant(-i - 1.0), compute="float32")
    return b.program([x])


@needs_jit
def test_background():
    from ember.compiler._kernel import Fused

    f = Fused(program(3))
    x, out = ember.randn(50), ember.empty(50)
    layout, item = f.bound((x,), (out,), (), (50,))
    pending = f.prepare(layout)
    assert f.prepare(layout) is pending
    pending.result()
    assert pending.ready()
    f.launch(layout, [item])
    assert (out == f(x)[0]).all()


@needs_jit
def test_threads_share_kernels():
    from ember.compiler._kernel import Fused

    f, x, found = Fused(program(5)), ember.randn(1000), []

    def work():
        for _ in range(20):
            found.append(f(x)[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80 and all((y == found[0]).all() for y in found)
    assert len(f._kernels) == 1


FORKS = """
import os, sys, time
import ember
from ember.compiler import _queue
from ember.compiler._kernel import Fused
from tests.compiler.test_background import program
x = ember.randn(100)
programs = [Fused(program(n)) for n in range(1, 9)]
layout = programs[0].bound((x,), (ember.empty(100),), (), (100,))[0]
pending = [f.prepare(layout) for f in programs]
want = [f(x)[0] for f in programs[:2]]
time.sleep(float(sys.argv[1]))
child = os.fork()
if child == 0:  # the thread that compiles is not here
    for f, y in zip(programs, want):
        assert (f(x)[0] == y).all()
    for f in programs:
        f(x)
    f = Fused(program(9))
    f.prepare(layout).result()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
for one in pending:
    one.result()
print("done")
"""


@needs_jit
@pytest.mark.parametrize("wait", [0, 0.03, 0.1])
def test_forks(wait):
    done = subprocess.run(
        [sys.executable, "-c", FORKS, str(wait)],
        env={**os.environ, "EMBER_JIT_CACHE": ""},
        capture_output=True,
        text=True,
        timeout=120,
        cwd=os.path.dirname(os.path.dirname(os.path.dirname(__file__))),
    )
    assert done.stdout == "done\n", done.stderr


def test_errors_reach_who_asks():
    def fail():
        raise RuntimeError("no such thing")

    pending = _queue.submit(fail)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no such thing"):
            pending.result()
    assert _queue.submit(lambda: 7).result() == 7


WITHOUT = """
import sys, warnings
sys.modules["llvmlite"] = None
import ember
from ember.compiler import _llvm, _queue
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert not _queue.is_available() and not _queue.is_available()
assert len(told) == 1 and "op by op" in str(told[0].message), told
assert ember.version.pip_install("jit") in str(told[0].message)
"""


def test_without_llvmlite():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True, timeout=60)


def test_import_loads_no_compiler():
    text = "import sys, ember; print([m for m in sys.modules if 'llvmlite' in m "
    text += "or m.startswith('ember.compiler._')])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
