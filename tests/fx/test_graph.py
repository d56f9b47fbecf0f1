"""Graphs: making, changing and checking them; passes."""

import operator

import pytest

import ember
from ember import fx, nn
from ember.fx.experimental.optimization import fuse, remove_dropout
from ember.fx.passes.graph_drawer import FxGraphDrawer
from ember.fx.passes.shape_prop import ShapeProp
from ember.fx.passes.split_module import split_module


def traced():
    return fx.symbolic_trace(lambda x: ember.relu(x) + 1)


def test_text():
    assert str(traced().graph) == (
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %relu : [num_users=1] = call_function[target=ember.relu]"
        "(args = (%x,), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=operator.add]"
        "(args = (%relu, 1), kwargs = {})\n"
        "    return add"
    )
    assert "ember.relu(x)" in traced().print_readable(print_output=False)


def test_code_runs_for_awkward_arguments():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(
        ember.full_like, (x, float("inf")), {"dtype": ember.float64}
    )
    z = graph.call_method("clamp", (y,), {"max": float("inf")})
    w = graph.call_function(operator.getitem, (z, (slice(0, 1), ..., None)))
    graph.output((w, {"a": [w]}))
    graph.lint()
    first, second = fx.GraphModule({}, graph)(ember.ones(2))
    assert first.tolist() == [[float("inf")]] and second["a"][0] is first


def test_names_do_not_clash():
    graph = fx.Graph()
    x = graph.placeholder("sum")
    names = [graph.call_function(ember.add, (x, 1)).name for _ in range(3)]
    assert names == ["add", "add_1", "add_2"] and x.name == "sum_1"
    graph.output(x)
    assert fx.GraphModule({}, graph)(ember.ones(1)).item() == 1


def test_changes():
    module = traced()
    graph = module.graph
    relu = graph.find_nodes(op="call_function", target=ember.relu)[0]
    with pytest.raises(RuntimeError, match="users"):
        graph.erase_node(relu)
    with graph.inserting_after(relu):
        new = graph.call_function(ember.tanh, (relu.args[0],))
    relu.replace_all_uses_with(new)
    graph.erase_node(relu)
    graph.lint()
    module.recompile()
    assert ember.allclose(module(ember.ones(1)), ember.tanh(ember.ones(1)) + 1)
    assert [n.name for n in graph.nodes] == ["x", "tanh", "add", "output"]
    assert next(n.name for n in reversed(graph.nodes)) == "output"


def test_arguments_are_not_changed_in_place():
    graph = fx.symbolic_trace(lambda x: ember.cat([x, x])).graph
    cat = graph.find_nodes(op="call_function", target=ember.cat)[0]
    with pytest.raises(TypeError, match="mutation"):
        cat.args[0].append(1)
    x = cat.all_input_nodes[0]
    cat.args = ([x],)
    assert list(x.users) == [cat]
    cat.update_kwarg("dim", 0)
    assert cat.kwargs == {"dim": 0}


def test_lint_finds_disorder():
    graph = traced().graph
    nodes = list(graph.nodes)
    nodes[1].append(nodes[0])
    with pytest.raises(RuntimeError, match="before it has been defined"):
        graph.lint()


def test_dead_code():
    def f(x):
        ember.relu(x)
        x.add_(1)
        return x

    graph = fx.symbolic_trace(f).graph
    assert graph.eliminate_dead_code()
    assert [n.name for n in graph.nodes] == ["x", "add_", "output"]


def test_replace_pattern():
    module = fx.symbolic_trace(lambda x, y: ember.relu(ember.add(x, y)) - y)
    found = fx.replace_pattern(
        module,
        lambda a, b: ember.relu(ember.add(a, b)),
        lambda a, b: ember.clamp(a, min=0) * b,
    )
    assert len(found) == 1
    assert module(ember.tensor([3.0]), ember.tensor([2.0])).item() == 4
    module.graph.lint()


def test_replace_pattern_leaves_values_that_others_use():
    def f(x):
        y = ember.relu(x)
        return ember.neg(y) + y

    module = fx.symbolic_trace(f)
    assert not fx.replace_pattern(
        module, lambda x: ember.neg(ember.relu(x)), lambda x: ember.abs(x)
    )


def test_shape_prop():
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 4), nn.Flatten(0)))
    ShapeProp(module).propagate(ember.ones(2, 3))
    shapes = [tuple(n.meta["tensor_meta"].shape) for n in module.graph.nodes]
    assert shapes == [(2, 3), (2, 4), (8,), (8,)]


def test_split_module():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    module, x = fx.symbolic_trace(net), ember.randn(2, 3)
    split = split_module(module, net, lambda n: 0 if n.target == "0" else 1)
    assert [n for n, _ in split.named_children()] == ["submod_0", "submod_1"]
    assert ember.equal(split(x), net(x))


def test_drawing_names_every_node():
    text = FxGraphDrawer(traced(), "picture").dot_text()
    assert '"relu" -> "add"' in text and "ember.relu" in text


def test_fuse():
    net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()).eval()
    net[1].running_mean.uniform_()
    net[1].running_var.uniform_(0.5, 2)
    fused, x = fuse(net), ember.randn(1, 2, 5, 5)
    assert [type(m) for m in fused.children()] == [nn.Conv2d, nn.ReLU]
    assert ember.allclose(fused(x), net(x), atol=1e-5)
    assert not list(remove_dropout(nn.Sequential(nn.Dropout())).children())


def test_errors_name_the_line(capsys):
    module = fx.symbolic_trace(lambda x: x.no_such_method())
    with pytest.raises(AttributeError):
        module(ember.ones(1))
    assert "generated forward function" in capsys.readouterr().err
    with pytest.raises(RuntimeError, match="not provided"):
        graph = fx.Graph()
        graph.output(graph.get_attr("missing"))
        fx.GraphModule({}, graph)
