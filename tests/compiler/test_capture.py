"""Backends that are handed graphs: what the graphs are, when there is another one, and
what has none."""

import pytest

import ember
from ember import _dynamo, fx, nn
from ember._dynamo import exc
from ember._dynamo.testing import CompileCounter, CompileCounterWithBackend


class Keeps:
    """Keeps graphs and example inputs, and runs the graphs."""

    def __init__(self):
        self.graphs, self.inputs = [], []

    def __call__(self, module, inputs):
        assert isinstance(module, fx.GraphModule)
        self.graphs.append(module)
        self.inputs.append(inputs)
        return module.forward


def targets(module):
    return [n.target for n in module.graph.nodes if n.op.startswith("call")]


def test_a_function_of_trees():
    backend = Keeps()

    @ember.compile(backend=backend)
    def f(pair, *, scale=2, name="x"):
        a, b = pair
        if a.shape[0] > 3 and a.dtype == ember.float32:
            a = a * scale
        for i in range(b.size(0) - 3):
            a = a + i
        low, high = a.chunk(2, 1)
        return {"low": ember.relu(low), name: [high, b], "scale": scale}

    a, b = ember.randn(4, 6), ember.randn(5)
    got = f((a, b))
    low, high = (a * 2 + 0 + 1).chunk(2, 1)
    assert (got["low"] == low.relu()).all() and (got["x"][0] == high).all()
    assert got["x"][1] is b and got["scale"] == 2 and list(got) == ["low", "x", "scale"]
    (module,) = backend.graphs
    assert ember.relu in targets(module) and "chunk" in targets(module)
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    assert len(placeholders) == 2 and backend.inputs[0][0] is a
    assert tuple(placeholders[0].meta["val"].shape) == (4, 6)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: (x.double(), 2),
        lambda x: (x[:3], 2),
        lambda x: (x.clone().requires_grad_(), 2),
        lambda x: (x, 3),
        lambda x: (x, None),
    ],
)
def test_another_form_is_another_graph(change):
    counter = CompileCounter()

    @ember.compile(backend=counter)
    def f(x, k):
        return x * (k or 1)

    x = ember.randn(4)
    f(x, 2)
    f(ember.randn(4), 2)
    assert (counter.frame_count, counter.op_count) == (1, 1)
    other, k = change(x)
    assert (f(other, k) == other * (k or 1)).all()
    assert counter.frame_count == 2
    f(x, 2)
    assert counter.frame_count == 2


def test_sizes_that_vary():
    counter = CompileCounter()
    f = ember.compile(
        lambda x: x.view(x.shape[0] * 2, -1).sin(), backend=counter, dynamic=True
    )
    for n in (3, 5, 8):
        assert f(ember.ones(n, 4)).shape == (2 * n, 2)
    assert counter.frame_count == 1


def test_training_through_a_graph():
    ember.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)
    )
    backend = Keeps()
    compiled = ember.compile(model, backend=backend)
    optimizer = ember.optim.SGD(model.parameters(), lr=0.1)
    x, y = ember.randn(16, 4), ember.randn(16, 1)
    losses = []
    for _ in range(5):
        loss = nn.functional.mse_loss(compiled(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and len(backend.graphs) == 1
    assert model[1].num_batches_tracked == 5  # changed by the graph, each time
    compiled.eval()
    compiled(x)
    assert len(backend.graphs) == 2 and model[1].num_batches_tracked == 5


def test_other_parameters_are_another_graph():
    counter = CompileCounter()
    model = nn.Linear(2, 2)
    compiled = ember.compile(model, backend=counter)
    x = ember.ones(2)
    compiled(x)
    model.weight = nn.Parameter(ember.zeros(2, 2))
    assert (compiled(x) == model.bias).all() and counter.frame_count == 2


def test_changes_in_place():
    counter = CompileCounter()
    buffer = ember.zeros(3)

    @ember.compile(backend=counter)
    def f(x):
        x.mul_(2)
        buffer.add_(x)
        buffer[0] = 7
        return x + 1

    x = ember.ones(3)
    assert (f(x) == 3).all() and (x == 2).all() and buffer.tolist() == [7, 2, 2]
    assert (f(x) == 5).all() and buffer.tolist() == [7, 6, 6]
    assert counter.frame_count == 1


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x + 1 if x.sum() > 0 else x - 1,
        lambda x: x * x.max().item(),
        lambda x: x * float(x[0]),
        lambda x: x + ember.from_numpy(x.numpy()),
        lambda x: x[x > 0],
        lambda x: ember.autograd.grad((x.requires_grad_() ** 2).sum(), x)[0],
    ],
)
def test_what_has_no_graph_runs_op_by_op(read):
    counter = CompileCounter()
    f = ember.compile(read, backend=counter)
    want = read(ember.ones(3))
    for _ in range(2):
        assert (f(ember.ones(3)) == want).all()
    whole = ember.compile(read, backend=counter, fullgraph=True)
    if counter.frame_count == 0:
        with pytest.raises(exc.Unsupported, match="has no graph"):
            whole(ember.ones(3))


def test_errors_of_programs_are_theirs():
    f = ember.compile(lambda x: x @ x, backend=Keeps())
    with pytest.raises(RuntimeError) as plain:
        ember.ones(2, 3) @ ember.ones(2, 3)
    with pytest.raises(RuntimeError) as compiled:
        f(ember.ones(2, 3))
    assert str(compiled.value) == str(plain.value)


def test_errors_of_backends():
    def fails(module, inputs):
        raise ValueError("no")

    with pytest.raises(
        exc.BackendCompilerFailed, match="'fails' raised:\nValueError: no"
    ):
        ember.compile(lambda x: x + 1, backend=fails)(ember.ones(1))
    with _dynamo.config.patch(suppress_errors=True):
        assert ember.compile(lambda x: x + 1, backend=fails)(ember.ones(1)) == 2
    with pytest.raises(exc.BackendCompilerFailed, match="gives what to call, not int"):
        ember.compile(lambda x: x + 1, backend=lambda module, inputs: 3)(ember.ones(1))


def test_limits():
    counter = CompileCounter()
    f = ember.compile(lambda x: x + 1, backend=counter, recompile_limit=2)
    for n in range(1, 5):
        assert f(ember.ones(n)).sum() == 2 * n
    assert counter.frame_count == 2
    f = ember.compile(
        lambda x: x + 1, backend=counter, recompile_limit=1, fullgraph=True
    )
    f(ember.ones(1))
    with pytest.raises(exc.FailOnRecompileLimitHit, match="has 1 graphs"):
        f(ember.ones(2))


def test_reset_forgets():
    counter = CompileCounter()
    f = ember.compile(lambda x: x + 1, backend=counter)
    f(ember.ones(1))
    ember.compiler.reset()
    f(ember.ones(1))
    assert counter.frame_count == 2


def test_backends_by_name():
    backend = CompileCounterWithBackend("eager")
    _dynamo.register_backend(backend, name="test_counter", tags=("debug",))
    assert "test_counter" in _dynamo.list_backends(None)
    assert "test_counter" not in _dynamo.list_backends()
    assert _dynamo.lookup_backend("test_counter") is backend
    ember.compile(lambda x: x + 1, backend="test_counter")(ember.ones(1))
    assert backend.frame_count == 1 and len(backend.graphs) == 1
    with pytest.raises(AssertionError, match="duplicate name: test_counter"):
        _dynamo.register_backend(backend, name="test_counter")
    _dynamo.optimize("test_counter")(lambda x: x + 2)(ember.ones(1))
    assert backend.frame_count == 2


def test_programs_can_ask():
    asked = []

    def f(x):
        asked.append(ember.compiler.is_compiling())
        return x + 1

    ember.compile(f, backend=Keeps())(ember.ones(1))
    f(ember.ones(1))
    assert asked == [True, False]


def test_tensors_that_are_made_anew_in_each_call():
    def f(x):
        out = ember.zeros(3, 6)
        out[:, 1:5].copy_(x * 2)
        out[0] += ember.tensor([1.0, 2, 3, 4, 5, 6])
        return out + ember.arange(6) + ember.randn(6)

    g = ember.compile(f, backend=lambda module, inputs: module.forward)
    for _ in range(3):
        x = ember.randn(3, 4)
        ember.manual_seed(0)
        found = g(x)
        ember.manual_seed(0)
        assert ember.equal(found, f(x))
