"""Following programs: what becomes a node, and that the graph computes the same."""

import copy
import math
import operator
import pickle
import sys

import pytest

import ember
from ember import fx, nn
from ember.nn import functional as F


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(8, 16), nn.Linear(16, 8)
        self.norm = nn.LayerNorm(8)
        self.scale = nn.Parameter(ember.rand(8))
        self.register_buffer("shift", ember.rand(8))

    def forward(self, x, y=None):
        b = x.shape[0]
        h = F.gelu(self.l1(self.norm(x))) * 2 - 1
        z = ember.relu(self.l2(h)).view(b, -1) * (self.scale + 1) + self.shift
        z = z + ember.cat([x[:, :4], x[:, 4:]], dim=1)
        return (1 - F.softmax(z, dim=-1)).sum(-1)


class Deep(fx.Tracer):
    def is_leaf_module(self, m, module_qualified_name):
        return False


def graph_of(function, **options):
    return fx.symbolic_trace(function, **options).graph


def targets(graph, op="call_function"):
    return [n.target for n in graph.nodes if n.op == op]


@ember.fx.wrap
def opaque(x):
    return x * 3 if float(x.sum()) > 0 else x


def test_traced_modules_compute_the_same():
    net, x = Block(), ember.randn(3, 8)
    traced = fx.symbolic_trace(net)
    assert ember.equal(traced(x), net(x))
    deep = fx.GraphModule(net, Deep().trace(net))
    assert ember.equal(deep(x), net(x))
    assert F.linear in targets(deep.graph)
    for copied in (
        copy.deepcopy(traced),
        pickle.loads(pickle.dumps(traced)),
        fx.Transformer(traced).transform(),
    ):
        assert isinstance(copied, fx.GraphModule)
        assert ember.equal(copied(x), net(x))
        assert copied.code == traced.code
    assert ember.equal(fx.Interpreter(traced).run(x), net(x))


def test_gradients_reach_parameters_through_a_traced_module():
    net = Block()
    traced, x = fx.symbolic_trace(net), ember.randn(3, 8)
    traced(x).sum().backward()
    got = [p.grad.clone() for p in net.parameters()]  # the same parameters
    net.zero_grad()
    net(x).sum().backward()
    for a, p in zip(got, net.parameters(), strict=True):
        assert ember.equal(a, p.grad)


def test_targets_are_those_of_patterns():
    graph = graph_of(lambda x: (ember.add(x, 1) + x).add(2).relu())
    assert targets(graph) == [ember.add, operator.add]
    assert targets(graph, "call_method") == ["add", "relu"]
    graph = graph_of(lambda x: F.relu(x) + x.shape[0] + math.sqrt(x))
    assert targets(graph)[:4] == [F.relu, getattr, operator.getitem, operator.add]
    assert math.sqrt in targets(graph)
    assert targets(graph_of(lambda x: F.softmax(x, 1))) == [F.softmax]
    assert targets(graph_of(lambda x: ember.einsum("ij->ji", x))) == [ember.einsum]
    assert math.sqrt(4.0) == 2 and not hasattr(F.softmax, "_fx_original")


def test_tensors_beside_proxies():
    graph = graph_of(lambda x: ember.ones(2) + x)
    assert [n.op for n in graph.nodes] == [
        "placeholder", "get_attr", "call_method", "output",
    ]  # fmt: skip
    traced = fx.symbolic_trace(lambda x: (ember.arange(3) * 2) @ x)
    assert traced(ember.tensor([1, 1, 1])).item() == 6


def test_control_flow_needs_concrete_arguments():
    def f(x, flag):
        return x + 1 if flag else x - 1

    with pytest.raises(fx.proxy.TraceError, match="control flow"):
        fx.symbolic_trace(f)
    traced = fx.symbolic_trace(f, concrete_args={"flag": True})
    assert traced(ember.zeros(1), True).item() == 1
    with pytest.raises(AssertionError, match="specialized"):
        traced(ember.zeros(1), False)
    with pytest.raises(fx.proxy.TraceError, match="iterated"):
        fx.symbolic_trace(lambda x: list(x))
    with pytest.raises(RuntimeError, match="len"):
        fx.symbolic_trace(lambda x: len(x))


def test_unpacking_is_followed():
    def f(x):
        a, b = x.chunk(2)
        return a - b

    assert fx.symbolic_trace(f)(ember.tensor([5, 3])).item() == 2


def test_nested_arguments():
    def f(x, pair):
        return {"sum": x + pair["a"][0], "x": x}

    traced = fx.symbolic_trace(f, concrete_args={"pair": {"a": [fx.PH]}})
    out = traced(ember.ones(1), {"a": [ember.ones(1)]})
    assert out["sum"].item() == 2 and out["x"].item() == 1
    again = pickle.loads(pickle.dumps(traced))
    assert again(ember.ones(1), {"a": [ember.ones(1)]})["sum"].item() == 2


def test_wrapped_functions_are_one_node():
    traced = fx.symbolic_trace(lambda x: opaque(x) + 1)
    assert targets(traced.graph) == [opaque, operator.add]
    assert traced(ember.ones(1)).item() == 4
    assert pickle.loads(pickle.dumps(traced))(ember.ones(1)).item() == 4


def test_asserts_can_be_recorded():
    class Asserting(fx.Tracer):
        trace_asserts = True

    space = {}  # by exec, since pytest rewrites the assertions of this file
    exec("def f(x):\n assert x.sum() > 0, 'positive'\n return x * 2", space)
    f = space["f"]

    module = fx.GraphModule({}, Asserting().trace(f))
    assert module(ember.ones(1)).item() == 2
    with pytest.raises(AssertionError, match="positive"):
        module(-ember.ones(1))


def test_a_failing_trace_leaves_nothing_patched():
    call = nn.Module.__call__
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: 1 if x else 2)
    assert nn.Module.__call__ is call
    assert not hasattr(F.softmax, "_fx_original")
    assert not fx._symbolic_trace.is_fx_tracing()


def test_a_tracer_can_record_lines():
    class Lines(fx.Tracer):
        record_stack_traces = True

    graph = Lines().trace(lambda x: ember.relu(x))
    (relu,) = graph.find_nodes(op="call_function", target=ember.relu)
    assert "test_trace.py" in relu.stack_trace


def test_module_stack_is_noted():
    traced = fx.symbolic_trace(nn.Sequential(nn.Sequential(nn.ReLU())))
    (node,) = traced.graph.find_nodes(op="call_module")
    assert list(node.meta["nn_module_stack"]) == ["0", "0.0"]


def test_to_folder(tmp_path, monkeypatch):
    net, x = Block(), ember.randn(3, 8)
    fx.symbolic_trace(net).to_folder(tmp_path / "exported_block", "Net")
    monkeypatch.syspath_prepend(str(tmp_path))
    import exported_block

    assert ember.equal(exported_block.Net()(x), net(x))
    del sys.modules["exported_block"]


def test_unusual_signatures():
    def f(x, *args, **kwargs):
        return x + args[0] + kwargs["k"]

    traced = fx.symbolic_trace(f)
    assert traced(1, 2, k=3) == 6
    assert fx.symbolic_trace(lambda x, y=2: x + y)(1) == 3


def test_fixed_arguments_keep_the_form_of_the_function():
    class Module(ember.nn.Module):
        def forward(self, x, mask=None, k=2):
            return x * k if mask is None else x * mask

    traced = fx.symbolic_trace(Module(), concrete_args={"mask": None})
    assert traced(ember.ones(2)).tolist() == [2, 2]
    assert traced(ember.ones(2), k=3).tolist() == [3, 3]
