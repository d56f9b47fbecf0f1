"""What is measured. `t` stands for torch or for ember: the same text runs with both."""

from __future__ import annotations

from benchmarks import models
from benchmarks.half_cases import HALF
from benchmarks.linalg_cases import LINALG
from benchmarks.quantized_cases import QUANTIZED
from benchmarks.timing import Case

SMALL = "a, b = t.ones(4), t.ones(4)"
SMALL_GRAD = "a, b = t.ones(4, requires_grad=True), t.ones(4)"

OVERHEAD = [
    Case("a + b", "a + b", SMALL),
    Case("a * 2.0", "a * 2.0", SMALL),
    Case("a + b, int64", "a + b", "a = b = t.ones(4, dtype=t.int64)"),
    Case("a + b, broadcast", "a + b", "a, b = t.ones(4, 1), t.ones(4)"),
    Case("a + b, float64 and float32", "a + b", "a, b = t.ones(4).double(), t.ones(4)"),
    Case("a.add_(b)", "a.add_(b)", SMALL),
    Case("exp(a)", "t.exp(a)", SMALL),
    Case("a.relu()", "a.relu()", SMALL),
    Case("a == b", "a == b", SMALL),
    Case("where(c, a, b)", "t.where(c, a, b)", SMALL + "\nc = a == b"),
    Case("a.view(2, 2)", "a.view(2, 2)", SMALL),
    Case("a.reshape(2, 2)", "a.reshape(2, 2)", SMALL),
    Case("m.t()", "m.t()", "m = t.ones(3, 4)"),
    Case("m.transpose(0, 1)", "m.transpose(0, 1)", "m = t.ones(3, 4)"),
    Case("m[1]", "m[1]", "m = t.ones(3, 4)"),
    Case("m[:, 1:3]", "m[:, 1:3]", "m = t.ones(3, 4)"),
    Case("m[1, 2] = 3.0", "m[1, 2] = 3.0", "m = t.ones(3, 4)"),
    Case("m[index]", "m[i]", "m, i = t.ones(3, 4), t.tensor([0, 2])"),
    Case("a.sum()", "a.sum()", SMALL),
    Case("m.sum(1)", "m.sum(1)", "m = t.ones(3, 4)"),
    Case("m.mean(0, keepdim=True)", "m.mean(0, keepdim=True)", "m = t.ones(3, 4)"),
    Case("m.max(1)", "m.max(1)", "m = t.ones(3, 4)"),
    Case("m @ m, 4x4", "m @ m", "m = t.ones(4, 4)"),
    Case("m @ v", "m @ v", "m, v = t.ones(4, 4), t.ones(4)"),
    Case("softmax(m, 1)", "t.softmax(m, 1)", "m = t.ones(3, 4)"),
    Case("cat([a, b])", "t.cat([a, b])", SMALL),
    Case("a.item()", "x.item()", "x = t.ones(())"),
    Case("a.shape", "a.shape", SMALL),
    Case("a.clone()", "a.clone()", SMALL),
    Case("a.detach()", "a.detach()", SMALL),
    Case("a.to(float64)", "a.to(t.float64)", SMALL),
    Case("tensor([1., 2.])", "t.tensor([1.0, 2.0])"),
    Case("zeros(4)", "t.zeros(4)"),
    Case("empty(1000)", "t.empty(1000)"),
    Case("randn(4)", "t.randn(4)"),
    Case("linear(x, w, b)", "f(x, w, b)", """
        f = t.nn.functional.linear
        x, w, b = t.ones(2, 4), t.ones(4, 4), t.ones(4)"""),
]  # fmt: skip

OVERHEAD_GRAD = [
    Case("a + b", "a + b", SMALL_GRAD),
    Case("a * b", "a * b", SMALL_GRAD),
    Case("a * 2.0", "a * 2.0", SMALL_GRAD),
    Case("exp(a)", "t.exp(a)", SMALL_GRAD),
    Case("a.view(2, 2)", "a.view(2, 2)", SMALL_GRAD),
    Case("m[1]", "m[1]", "m = t.ones(3, 4, requires_grad=True)"),
    Case("a.sum()", "a.sum()", SMALL_GRAD),
    Case("m @ m, 4x4", "m @ m", "m = t.ones(4, 4, requires_grad=True)"),
    Case("a.detach()", "a.detach()", SMALL_GRAD),
]

BACKWARD = [
    Case("(a * b + a).sum().backward()", "(a * b + a).sum().backward()", SMALL_GRAD),
    Case("10 ops and back", "x = a\nfor _ in range(10): x = x * b\nx.sum().backward()",
         SMALL_GRAD),
    Case("grad of grad", """
y = (a * a * a).sum()
g, = t.autograd.grad(y, a, create_graph=True)
g.sum().backward()""", SMALL_GRAD),
]  # fmt: skip

MLP = """
t.manual_seed(0)
nn = t.nn
model = nn.Sequential({layers})
optimizer = t.optim.{optimizer}
x, y = t.randn(8, {size}), t.randn(8, {size})
def step():
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
"""
TINY = "nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)"
SGD = "SGD(model.parameters(), lr=0.01)"
ADAM = "Adam(model.parameters(), lr=0.01)"
STEP = [
    Case("MLP 4-4-4, SGD", "step()", MLP.format(layers=TINY, optimizer=SGD, size=4)),
    Case("MLP 4-4-4, Adam", "step()", MLP.format(layers=TINY, optimizer=ADAM, size=4)),
    Case("MLP forward, no grad", "model(x)", MLP.format(
        layers=TINY, optimizer=SGD, size=4) + "t.set_grad_enabled(False)",
    ),
]  # fmt: skip


def _training(functions: list) -> list[Case]:
    setup = "from benchmarks.models import make\nstep = make(t, {!r})"
    return [Case(f.__doc__, "step()", setup.format(f.__name__)) for f in functions]


TRAIN, MODELS = _training(models.TRAIN), _training(models.MODELS)


def _pointwise(size: int, label: str) -> list[Case]:
    base = f"x = t.rand({size}) + 0.5\ny = t.rand({size}) + 0.5\n"
    square = int(size**0.5)
    matrix = f"m = t.rand({square}, {square})\n"
    return [
        Case(f"{name}, {label}", run, setup)
        for name, run, setup in (
            ("x + y", "x + y", base),
            ("x * y", "x * y", base),
            ("x * 2", "x * 2.0", base),
            ("x.add_(y)", "x.add_(y)", base),
            ("add(x, y, out=z)", "t.add(x, y, out=z)", base + f"z = t.empty({size})"),
            ("exp", "t.exp(x)", base),
            ("log", "t.log(x)", base),
            ("sqrt", "t.sqrt(x)", base),
            ("sin", "t.sin(x)", base),
            ("tanh", "t.tanh(x)", base),
            ("sigmoid", "t.sigmoid(x)", base),
            ("relu", "t.relu(x)", base),
            ("gelu", "t.nn.functional.gelu(x)", base),
            ("erf", "t.erf(x)", base),
            ("x ** 2.5", "x ** 2.5", base),
            ("x > y", "x > y", base),
            ("where", "t.where(c, x, y)", base + "c = x > y"),
            ("clone", "x.clone()", base),
            ("fill", "x.fill_(1.5)", base),
            ("zeros", f"t.zeros({size})", ""),
            ("float32 to float64", "x.double()", base),
            ("float32 to int64", "x.long()", base),
            ("float32 to bfloat16", "x.bfloat16()", base),
            ("x + y, bfloat16", "x + y", base + "x, y = x.bfloat16(), y.bfloat16()"),
            ("x + y, int64", "x + y", base + "x = y = x.long()"),
            ("transposed copy", "m.t().contiguous()", matrix),
            ("m + m.t()", "m + m.t()", matrix),
            ("m + row", "m + r", matrix + "r = m[0].clone()"),
            ("m + column", "m + c", matrix + "c = m[:, :1].clone()"),
            ("every second", "s + s", base + "s = x[::2]"),
            ("cat", "t.cat([x, y])", base),
            ("exp and back", "t.exp(x).backward(y)", base + "x.requires_grad_()"),
        )
    ]


def _reductions(size: int, label: str) -> list[Case]:
    square = int(size**0.5)
    base = f"x = t.rand({size})\nm = t.rand({square}, {square})\n"
    return [
        Case(f"{name}, {label}", run, base)
        for name, run in (
            ("sum", "x.sum()"),
            ("sum of rows", "m.sum(1)"),
            ("sum of columns", "m.sum(0)"),
            ("mean", "x.mean()"),
            ("max", "x.max()"),
            ("max of rows", "m.max(1)"),
            ("argmax", "x.argmax()"),
            ("argmax of columns", "m.argmax(0)"),
            ("prod", "x.prod()"),
            ("var", "x.var()"),
            ("var of rows", "m.var(1)"),
            ("norm", "x.norm()"),
            ("cumsum", "m.cumsum(1)"),
            ("softmax", "m.softmax(1)"),
            ("log_softmax, columns", "m.log_softmax(0)"),
            ("any", "(x > 2).any()"),
        )
    ]


KERNELS = [
    *_pointwise(1_000_000, "1e6"),
    *_reductions(1_000_000, "1e6"),
    *_pointwise(10_000_000, "1e7")[:16],
    *_reductions(10_000_000, "1e7")[:6],
]

GEMM = [
    Case(f"{n}x{n} @ {n}x{n}, {dtype}", "a @ b",
         f"a, b = (t.rand({n}, {n}, dtype=t.{dtype}) for _ in range(2))")
    for dtype in ("float32", "float64")
    for n in (64, 128, 256, 512, 1024)
] + [
    Case("batch of 64, 64x64", "a @ a", "a = t.rand(64, 64, 64)"),
    Case("256x512 @ (128x512).T", "a @ b.t()",
         "a, b = t.rand(256, 512), t.rand(128, 512)"),
    Case("matrix @ vector, 2048", "a @ b", "a, b = t.rand(2048, 2048), t.rand(2048)"),
    Case("linear, 128 rows, 512 to 512", "f(x, w, b)", """
        f = t.nn.functional.linear
        x, w, b = t.rand(128, 512), t.rand(512, 512), t.rand(512)"""),
]  # fmt: skip

FFT = [
    Case("fft, 1e6", "t.fft.fft(x)", "x = t.rand(1_000_000) + 0j"),
    Case("fft, 256 of 1024", "t.fft.fft(x)", "x = t.rand(256, 1024) + 0j"),
    Case("fft of columns, 256x1024", "t.fft.fft(x, dim=0)",
         "x = t.rand(256, 1024) + 0j"),
    Case("fft2, 512x512", "t.fft.fft2(x)", "x = t.rand(512, 512) + 0j"),
    Case("rfft, 1e6", "t.fft.rfft(x)", "x = t.rand(1_000_000)"),
    Case("rfft, 256 of 1024", "t.fft.rfft(x)", "x = t.rand(256, 1024)"),
    Case("fft, 10007 (prime)", "t.fft.fft(x)", "x = t.rand(10_007) + 0j"),
    Case("fft, 16", "t.fft.fft(x)", "x = t.rand(16) + 0j"),
    Case("stft, 10 s at 16 kHz", "t.stft(x, 512, 128, window=w, return_complex=True)",
         "x, w = t.rand(160_000), t.hann_window(512)"),
]  # fmt: skip
CONV_SHAPES = {  # input, weight, options
    "7x7/2, 3 to 64 at 224": ("4, 3, 224, 224", "64, 3, 7, 7", "stride=2, padding=3"),
    "1x1, 64 to 256 at 56": ("4, 64, 56, 56", "256, 64, 1, 1", ""),
    "1x1, 256 to 64 at 56": ("4, 256, 56, 56", "64, 256, 1, 1", ""),
    "1x1/2, 256 to 512 at 56": ("4, 256, 56, 56", "512, 256, 1, 1", "stride=2"),
    "3x3, 64 at 56": ("4, 64, 56, 56", "64, 64, 3, 3", "padding=1"),
    "3x3, 128 at 28": ("4, 128, 28, 28", "128, 128, 3, 3", "padding=1"),
    "3x3, 256 at 14": ("4, 256, 14, 14", "256, 256, 3, 3", "padding=1"),
    "3x3, 512 at 7": ("4, 512, 7, 7", "512, 512, 3, 3", "padding=1"),
    "depthwise 3x3, 144 at 56":
        ("4, 144, 56, 56", "144, 1, 3, 3", "padding=1, groups=144"),
    "depthwise 3x3/2, 96 at 112":
        ("4, 96, 112, 112", "96, 1, 3, 3", "padding=1, groups=96, stride=2"),
    "1x1, 144 to 24 at 56": ("4, 144, 56, 56", "24, 144, 1, 1", ""),
    "5x5, 1 to 6 at 28, batch of 64": ("64, 1, 28, 28", "6, 1, 5, 5", "padding=2"),
    "5x5, 6 to 16 at 14, batch of 64": ("64, 6, 14, 14", "16, 6, 5, 5", ""),
    "3x3, 2 to 2 at 5": ("1, 2, 5, 5", "2, 2, 3, 3", ""),
}  # fmt: skip
CONV_SETUP = """
f, x, w = t.nn.functional.conv2d, t.rand({}), t.rand({}, requires_grad=True)
run = lambda: f(x, w, {})
"""
POOL_CALLS = {
    "max_pool2d 3x3/2, 64 at 112": ("4, 64, 112, 112", "max_pool2d(x, 3, 2, 1)"),
    "max_pool2d 2x2/2, 6 at 28, batch of 64": ("64, 6, 28, 28", "max_pool2d(x, 2)"),
    "avg_pool2d 3x3, 64 at 28": ("4, 64, 28, 28", "avg_pool2d(x, 3, 1, 1)"),
    "avg_pool2d 2x2/2, 64 at 56": ("4, 64, 56, 56", "avg_pool2d(x, 2)"),
    "adaptive_avg_pool2d, 2048 at 7 to 1":
        ("4, 2048, 7, 7", "adaptive_avg_pool2d(x, 1)"),
    "adaptive_avg_pool2d, 256 at 13 to 6":
        ("4, 256, 13, 13", "adaptive_avg_pool2d(x, 6)"),
}  # fmt: skip
POOL_SETUP = """
x, F = t.rand({}), t.nn.functional
run = lambda: F.{}
"""


def _layers() -> list[Case]:
    setups = {name: CONV_SETUP.format(*args) for name, args in CONV_SHAPES.items()}
    setups |= {name: POOL_SETUP.format(*args) for name, args in POOL_CALLS.items()}
    cases = []
    for name, setup in setups.items():
        cases.append(Case(name, "run()", setup + "t.set_grad_enabled(False)"))
        back = setup + "x.requires_grad_()\ng = t.ones_like(run())\n"
        cases.append(Case(f"{name}, and back", "run().backward(g)", back))
    return cases


CONV = _layers()

ALLOCATOR = [
    Case("empty(1e4)", "t.empty(10_000)"),
    Case("empty(1e6)", "t.empty(1_000_000)"),
    Case("x + x, then dropped, 1e5", "x + x", "x = t.ones(100_000)"),
    Case("growing sizes", "[t.empty(n) for n in range(1000, 30000, 1000)]"),
]


F = "F = t.nn.functional\n"


def _and_back(name: str, forward: str, setup: str, wrt: str) -> list[Case]:
    """A case without gradients, and one with its backward pass."""
    leaves = f"\nfor leaf in ({wrt},): leaf.requires_grad_()\n"
    back = f"t.autograd.grad({forward}.sum(), ({wrt},))"
    setup = F + setup
    return [Case(name, forward, setup), Case(f"{name}, and back", back, setup + leaves)]


ROWS = "x, w, b = t.randn(4096, 512), t.rand(512), t.rand(512)\n"
IMAGES = "x, w, b = t.randn(16, 64, 32, 32), t.rand(64), t.rand(64)\n"
LAST = IMAGES + "x = x.contiguous(memory_format=t.channels_last)\n"
RUNNING = "m, v = t.zeros(64), t.ones(64)\n"
BATCH = "F.batch_norm(x, m, v, w, b, {training})"
CLASSES = "x, y = t.randn(2048, 1000), t.randint(0, 1000, (2048,))\n"
PIXELS = "x, y = t.randn(8, 21, 64, 64), t.randint(0, 21, (8, 64, 64))\n"
TABLE = "w, i = t.randn(100_000, 64), t.randint(0, 100_000, (64, 128))\n"
BAGS = TABLE + "o = t.arange(0, 8192, 16)\ni = i.reshape(-1)\n"
LINES = "x = t.randn(1000, 1000)\n"
PICKS = LINES + "i = t.randint(0, 1000, (1000, 1000))\n"


def _attention(length: int, causal: bool) -> list[Case]:
    setup = f"q, k, v = (t.randn(8, 6, {length}, 64) for _ in range(3))\n"
    forward = f"F.scaled_dot_product_attention(q, k, v, is_causal={causal})"
    name = f"attention, T {length}" + (", causal" if causal else "")
    return _and_back(name, forward, setup, "q, k, v")


LAYERS = [
    *_and_back("softmax", "t.softmax(x, 1)", ROWS, "x"),
    *_and_back("log_softmax", "t.log_softmax(x, 1)", ROWS, "x"),
    *_and_back("layer_norm", "F.layer_norm(x, (512,), w, b)", ROWS, "x, w, b"),
    *_and_back("rms_norm", "F.rms_norm(x, (512,), w)", ROWS, "x, w"),
    *_and_back("batch_norm", BATCH.format(training=True), IMAGES + RUNNING, "x, w, b"),
    *_and_back("batch_norm, channels last", BATCH.format(training=True),
               LAST + RUNNING, "x, w, b"),
    Case("batch_norm, eval", BATCH.format(training=False), F + IMAGES + RUNNING),
    *_and_back("group_norm", "F.group_norm(x, 8, w, b)", IMAGES, "x, w, b"),
    *_and_back("instance_norm", "F.instance_norm(x, None, None, w, b)", IMAGES,
               "x, w, b"),
    *_and_back("cross_entropy", "F.cross_entropy(x, y)", CLASSES, "x"),
    *_and_back("cross_entropy, smoothed", "F.cross_entropy(x, y, label_smoothing=0.1)",
               CLASSES, "x"),
    *_and_back("cross_entropy, pixels", "F.cross_entropy(x, y)", PIXELS, "x"),
    *_and_back("nll_loss", "F.nll_loss(x, y)", CLASSES, "x"),
    *_and_back("mse_loss", "F.mse_loss(x, z)", ROWS + "z = t.randn(4096, 512)", "x"),
    *_and_back("binary_cross_entropy_with_logits",
               "F.binary_cross_entropy_with_logits(x, z)",
               ROWS + "z = t.rand(4096, 512)", "x"),
    *_and_back("gelu", "F.gelu(x)", ROWS, "x"),
    *_and_back("dropout", "F.dropout(x, 0.1)", ROWS, "x"),
    *_and_back("embedding", "F.embedding(i, w)", TABLE, "w"),
    *_and_back("embedding_bag, sum", "F.embedding_bag(i, w, o, mode='sum')", BAGS, "w"),
    *_and_back("embedding_bag, max", "F.embedding_bag(i, w, o, mode='max')", BAGS, "w"),
    *_and_back("linear, 128 rows, 512 to 512", "F.linear(x, w, b)",
               "x, w, b = t.rand(128, 512), t.rand(512, 512), t.rand(512)", "x, w, b"),
    *_and_back("linear, 8 rows, 32 to 32", "F.linear(x, w, b)",
               "x, w, b = t.rand(8, 32), t.rand(32, 32), t.rand(32)", "x, w, b"),
    *_attention(256, True),
    *_attention(256, False),
    *_attention(1024, True),
    Case("cumsum, columns", "x.cumsum(0)", LINES),
    Case("sort", "x.sort(1)", LINES),
    Case("sort, one line", "x.reshape(-1).sort()", LINES),
    Case("topk", "x.topk(10, 1)", LINES),
    *_and_back("gather", "x.gather(1, i)", PICKS, "x"),
    Case("gather, columns", "x.gather(0, i)", PICKS),
    Case("scatter_add", "x.scatter_add(1, i, x)", PICKS),
    Case("scatter_add, columns", "x.scatter_add(0, i, x)", PICKS),
    *_and_back("index_select", "w.index_select(0, i.reshape(-1))", TABLE, "w"),
    Case("cat, columns", "t.cat([x, x, x], 1)", LINES),
    Case("permuted copy", "x.permute(0, 2, 3, 1).contiguous()", IMAGES),
    Case("permuted copy, heads", "x.permute(0, 2, 1, 3).contiguous()",
         "x = t.randn(8, 256, 6, 64)"),
]  # fmt: skip


# group -> (cases, budget of the geometric mean, budget of a single case)
GROUPS: dict[str, tuple[list[Case], float, float | None]] = {
    "overhead": (OVERHEAD, 0.25, None),
    "grad": (OVERHEAD_GRAD, 0.3, None),
    "backward": (BACKWARD, 0.15, None),
    "step": (STEP, 0.2, None),
    "train": (TRAIN, 0.6, 1.0),
    "models": (MODELS, 1.0, None),
    "kernels": (KERNELS, 0.8, 1.2),
    "gemm": (GEMM, 1.05, None),
    "half": (HALF, 0.75, None),
    "quantized": (QUANTIZED, 0.8, None),
    "layers": (LAYERS, 1.0, 1.3),
    "fft": (FFT, 1.0, 1.2),
    "linalg": (LINALG, 1.0, None),
    "conv": (CONV, 1.0, 1.3),
    "allocator": (ALLOCATOR, 1.0, None),
}
TITLES = {
    "overhead": "Cost of an op on 4 elements",
    "grad": "The same, recorded for the backward pass",
    "backward": "Forward and backward of a few ops",
    "step": "A training step of a tiny network",
    "train": "Training steps of small models",
    "models": "Training steps of large models",
    "kernels": "Memory-bound work on 1e6 and 1e7 elements",
    "gemm": "Matrix products",
    "half": "Matrix products of float16 and bfloat16",
    "quantized": "Products with weights of 8 and 4 bits",
    "decode": "Tokens one by one, in four precisions",
    "layers": "Layers, losses, indexing and sorting, forward and back",
    "fft": "Fourier transforms",
    "linalg": "Linear algebra",
    "conv": "Convolutions and pooling",
    "allocator": "Memory taken and given back",
    "data": "A pass over a dataset, two workers",
    "distributed": "Collectives and data parallel steps, beside gloo",
    "opencl": "OpenCL kernels and those written by hand",
    "compile": "Programs written by hand, compiled",
    "import": "Import, in fresh interpreters",
    "size": "Installed size, with dependencies",
    "memory": "Peak memory of a training step",
    "train_memory": "Peak memory of training small models",
    "models_memory": "Peak memory of training large models",
    "transformers": "Models of the library transformers",
    "transformers_memory": "Memory of models of the library transformers",
}
# Minutes, or other packages: only when they are named.
SLOW = {
    "compile",
    "decode",
    "distributed",
    "models",
    "models_memory",
    "transformers",
    "transformers_memory",
}
