"""Indices, masks and values that another thread changes while a kernel reads them.

What an op then returns is anybody's guess, or an exception; but it stays within its
memory. Each case runs in a child, which must not die by a signal.
"""

import os
import subprocess
import sys

import pytest

PRELUDE = """
import threading, time
import numpy as np
import ember
import ember.nn.functional as F

ember.manual_seed(0)
n, size = 200_000, 5_000
REFUSED = (RuntimeError, IndexError, ValueError, NotImplementedError, OverflowError)
FAR = 1 << 40

def flipped(array, good, bad):
    # In another thread, by NumPy, which copies without the lock.
    stop = threading.Event()
    def run():
        while not stop.is_set():
            np.copyto(array, bad)
            np.copyto(array, good)
    thread = threading.Thread(target=run)
    thread.start()
    return stop, thread

def repeat(call, seconds, stop, thread):
    end, done = time.monotonic() + seconds, 0
    try:
        while time.monotonic() < end or not done:
            done += 1
            try:
                call()
            except REFUSED:
                pass
    finally:
        stop.set()
        thread.join()

def race(tensor, bad, call, seconds=0.25):
    array = tensor.numpy()
    good = array.copy()
    bad = np.broadcast_to(np.asarray(bad, array.dtype), array.shape).copy()
    stop, thread = flipped(array, good, bad)
    repeat(call, seconds, stop, thread)
    np.copyto(array, good)

def moving(tensor, call, seconds=0.25):
    # Its memory is another's from one moment to the next; only Python switches threads.
    stop, numel, bytes = threading.Event(), tensor.numel(), tensor.nbytes
    storage, shape = tensor.untyped_storage(), tensor.shape
    def run():
        while not stop.is_set():
            storage.resize_(0)
            taken = [ember.full((numel,), 7) for _ in range(2)]
            storage.resize_(bytes)
            tensor.set_(ember.ones(shape))
            tensor.data = ember.zeros(shape)
            tensor.set_(storage, 0, shape)
            del taken
    thread = threading.Thread(target=run)
    thread.start()
    repeat(call, seconds, stop, thread)

index = ember.randint(0, size, (n,))
line, rows = ember.randn(size), ember.randn(size, 8)
mask = ember.rand(n) > 0.5
values = ember.randn(n)
"""

CASES = {
    "memory that moves": """
x, y = ember.randn(400_000), ember.randn(400_000)
moving(x, lambda: x.exp())
moving(x, lambda: x.sum())
moving(x, lambda: y.add_(x))
moving(x, lambda: x.mul_(y))
moving(x, lambda: x.sort())
moving(x, lambda: ember.cat([x, y]))
moving(x, lambda: x.cumsum(0))
a, b = ember.randn(500, 500), ember.randn(500, 500)
moving(a, lambda: a @ b)
moving(a, lambda: ember.mm(b, b, out=a))
moving(a, lambda: ember.linalg.inv(a))
moving(a, lambda: ember.linalg.eigvalsh(a), 1)
moving(a, lambda: a.softmax(1))
image, filters = ember.randn(8, 16, 40, 40), ember.randn(16, 16, 3, 3)
moving(image, lambda: F.conv2d(image, filters))
moving(image, lambda: F.max_pool2d(image, 2))""",
    "memory of a graph that moves": """
x = ember.randn(300, 300)
def run():
    w = ember.randn(300, 300, requires_grad=True)
    ((x @ w).exp() * x).sum().backward()
moving(x, run, 1)""",
    "gather": "race(index, FAR, lambda: line.gather(0, index))",
    "gather rows": """
wide = index.view(-1, 8)
race(index, -FAR, lambda: rows.gather(0, wide[:size]))""",
    "scatter": "race(index, FAR, lambda: line.clone().scatter_(0, index, values))",
    "scatter add": "race(index, -FAR, lambda: line.scatter_add(0, index, values))",
    "scatter reduce": """
race(index, FAR, lambda: line.scatter_reduce(0, index, values, 'amax'))""",
    "index select": "race(index, FAR, lambda: rows.index_select(0, index))",
    "index": "race(index, FAR, lambda: line[index])",
    "two indices": """
small = index % 8
race(index, FAR, lambda: rows[index, small])""",
    "index put": """
race(index, FAR, lambda: line.clone().index_put_((index,), values, accumulate=True))""",
    "index add": """
many = ember.randn(n, 8)
race(index, FAR, lambda: rows.index_add(0, index, many))""",
    "take": "race(index, FAR, lambda: rows.take(index))",
    "put": "race(index, -FAR, lambda: rows.clone().put_(index, values))",
    "take along dim": "race(index, FAR, lambda: line.take_along_dim(index, 0))",
    "embedding": "race(index, FAR, lambda: F.embedding(index, rows))",
    "embedding gradient": """
w = rows.clone().requires_grad_()
race(index, FAR, lambda: F.embedding(index, w).sum().backward())""",
    "embedding bag": """
starts = ember.arange(0, n, 10)
race(index, FAR, lambda: F.embedding_bag(index, rows, starts))
race(starts, -FAR, lambda: F.embedding_bag(index, rows, starts))""",
    "class losses": """
x, t = ember.randn(20_000, 10), ember.randint(0, 10, (20_000,))
race(t, FAR, lambda: F.cross_entropy(x, t))
race(t, -FAR, lambda: F.nll_loss(x, t))
w = x.clone().requires_grad_()
weight = ember.rand(10)
race(t, FAR, lambda: F.cross_entropy(w, t, weight, label_smoothing=0.1).backward())""",
    "class losses of planes": """
x, t = ember.randn(8, 10, 50, 50), ember.randint(0, 10, (8, 50, 50))
w = x.clone().requires_grad_()
race(t, FAR, lambda: F.cross_entropy(w, t).backward())
race(t, -FAR, lambda: F.nll_loss(w, t).backward())""",
    "margin losses": """
x, t = ember.randn(20_000, 10), ember.randint(0, 10, (20_000,))
race(t, FAR, lambda: F.multi_margin_loss(x, t))
many = ember.randint(0, 10, (20_000, 10))
race(many, FAR, lambda: F.multilabel_margin_loss(x, many))""",
    "ctc loss": """
x = ember.randn(50, 16, 20).log_softmax(-1)
t = ember.randint(1, 20, (16, 20))
long, short = ember.full((16,), 50), ember.full((16,), 20)
race(t, FAR, lambda: F.ctc_loss(x, t, long, short))
race(long, FAR, lambda: F.ctc_loss(x, t, long, short))
race(short, FAR, lambda: F.ctc_loss(x, t, long, short))""",
    "mask": "race(mask, False, lambda: values[mask])",
    "mask that grows": """
none = ember.zeros(n, dtype=ember.bool)
race(none, True, lambda: values[none])
race(none, True, lambda: none.nonzero())
race(none, True, lambda: values.clone().masked_scatter_(none, values))""",
    "masked select": "race(mask, False, lambda: values.masked_select(mask))",
    "masked scatter": """
race(mask, False, lambda: values.clone().masked_scatter_(mask, values))""",
    "masked put": """
few = values[:int(mask.sum())]
def put():
    x = values.clone()
    x[mask] = few
race(mask, False, put)""",
    "nonzero": """
race(mask, False, lambda: mask.nonzero())
grid = mask.view(100, 40, -1)
race(mask, False, lambda: grid.nonzero())""",
    "repeat interleave": """
counts = ember.ones(n, dtype=ember.int64)
race(counts, 0, lambda: line[:1].expand(n).repeat_interleave(counts))
race(counts, 3, lambda: values.repeat_interleave(counts))
race(counts, -FAR, lambda: values.repeat_interleave(counts))""",
    "bincount": """
small = index % 100
race(small, 90_000, lambda: small.bincount())
race(small, -1, lambda: small.bincount())""",
    "histograms": """
race(values, np.nan, lambda: values.histc(50, -3, 3))
race(values, 1e30, lambda: values.histc(50))
race(values, 1e30, lambda: ember.histogram(values, 20))""",
    "search": """
order = line.argsort()
race(order, FAR, lambda: ember.searchsorted(line, values, sorter=order))
race(line, np.nan, lambda: ember.searchsorted(line, values))""",
    "one hot": """
few = index[:500] % 100
race(few, FAR, lambda: F.one_hot(few, 100))
race(few, 1_000, lambda: F.one_hot(few))""",
    "unpool": """
x = ember.randn(4, 8, 32, 32)
y, at = F.max_pool2d(x, 2, return_indices=True)
race(at, FAR, lambda: F.max_unpool2d(y, at, 2))""",
    "pool gradient": """
for x in (ember.randn(4, 8, 32, 32), ember.randn(4, 8, 32, 32).contiguous(
        memory_format=ember.channels_last)):
    def run():
        w = x.detach().requires_grad_()
        y, at = F.max_pool2d(w, 2, return_indices=True)
        at.numpy()[...] = FAR
        y.sum().backward()
    race(x, np.nan, run)""",
    "segments": """
lengths = ember.full((n // 10,), 10)
race(lengths, 30, lambda: ember.segment_reduce(values, "sum", lengths=lengths))
race(lengths, -FAR, lambda: ember.segment_reduce(values, "max", lengths=lengths))""",
    "grid sample": """
x, grid = ember.randn(2, 3, 32, 32), ember.rand(2, 64, 64, 2) * 2 - 1
race(grid, np.nan, lambda: F.grid_sample(x, grid, align_corners=False))
race(grid, 1e38, lambda: F.grid_sample(x, grid, padding_mode="reflection",
                                       align_corners=False))""",
    "multinomial": """
p = ember.rand(100, 1000)
race(p, np.nan, lambda: p.multinomial(20))
race(p, -1, lambda: p.multinomial(20, replacement=True))""",
    "sort": """
race(values, np.nan, lambda: values.sort())
flat = values.view(-1, 50)
race(values, 0, lambda: flat.sort(1, descending=True))
race(index, -1, lambda: index.argsort())""",
    "ranks": """
flat = values.view(-1, 10_000)
for x in (values, flat, values.view(-1, 40)):
    race(values, np.nan, lambda: x.topk(20))
    race(values, 1e9, lambda: x.kthvalue(17))
    race(values, np.nan, lambda: x.median(-1))
    race(values, np.nan, lambda: x.nanmedian(-1))
    race(values, 0, lambda: x.mode(-1), 0.1)
    race(values, np.nan, lambda: x.quantile(0.3), 0.1)""",
    "unique": """
race(index, FAR, lambda: index.unique(return_inverse=True, return_counts=True))
race(index, 0, lambda: index.unique_consecutive(return_inverse=True))
grid = index.view(-1, 4)
race(index, FAR, lambda: grid[:2000].unique(dim=0))
race(index, 0, lambda: ember.isin(index, index[:100]))""",
    "compressed rows": """
start, columns = ember.arange(0, n + 1, 40), (ember.arange(40) * 7).repeat(n // 40)
with_values = ember.sparse_csr_tensor(start, columns, values, (n // 40, 300))
inside = with_values.col_indices(), with_values.crow_indices()
for dense in (ember.randn(300, 1), ember.randn(300, 20), ember.randn(300, 100)):
    race(inside[0], FAR, lambda: with_values @ dense)
    race(inside[1], FAR, lambda: with_values @ dense)""",
    "coordinates": """
at = ember.stack([index % 500, index % 300])
x = ember.sparse_coo_tensor(at, values, (500, 300))
inside = x._indices()
dense = ember.randn(300, 20)
race(inside, FAR, lambda: x @ dense)
race(inside, FAR, lambda: x.to_dense())
race(inside, -FAR, lambda: x.coalesce())""",
    "packed sequences": """
from ember.nn.utils.rnn import pack_padded_sequence, PackedSequence
lengths = ember.full((16,), 20)
x = ember.randn(16, 20, 4)
race(lengths, FAR, lambda: pack_padded_sequence(x, lengths, batch_first=True))
net = ember.nn.LSTM(4, 8)
p = pack_padded_sequence(x, lengths, batch_first=True)
race(p.batch_sizes, FAR, lambda: net(p))""",
    "pivots": """
a = ember.randn(40, 40, 40)
lu, pivots = ember.linalg.lu_factor(a)
b = ember.randn(40, 40, 30)
race(pivots, 1 << 29, lambda: ember.linalg.lu_solve(lu, pivots, b))
race(pivots, 0, lambda: ember.lu_unpack(lu, pivots))
ld, pivots = ember.linalg.ldl_factor(a + a.mT)
race(pivots, -(1 << 29), lambda: ember.linalg.ldl_solve(ld, pivots, b))
big, swaps = ember.linalg.lu_factor(ember.randn(200, 200))
right = ember.randn(200, 100)
race(swaps, 1 << 29, lambda: ember.linalg.lu_solve(big, swaps, right))""",
}


@pytest.mark.parametrize("name", CASES)
def test_changed_while_read(name):
    code = PRELUDE + CASES[name] + "\nprint('done')\n"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, timeout=300, env={**os.environ},
    )  # fmt: skip
    assert run.returncode >= 0, f"ended by signal {-run.returncode}:\n{run.stderr}"
    assert run.stdout == "done\n", run.stderr
