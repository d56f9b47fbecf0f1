"""make_fx: functions as graphs of the ops of one run, derivatives included."""

import pytest

import ember
from ember.func import functional_call, grad, hessian, jacfwd, jacrev, vjp, vmap
from ember.fx.experimental.proxy_tensor import get_proxy_mode, make_fx


def cube(x):
    return (x**3).sin().sum()


def pair(x, y):
    largest, where = ember.max(x, 1)
    z = x.clone()
    z.add_(y)
    return {"z": z, "rest": [largest, where]}


def looped(x):
    rows = [row * i for i, row in enumerate(x)]
    return ember.stack(rows)[:, 1:]


@pytest.mark.parametrize(
    "function",
    [
        cube,
        grad(cube),
        grad(lambda x: grad(cube)(x).sum()),
        vmap(cube),
        vmap(grad(cube)),
        jacrev(lambda x: x.exp().sum(0)),
        jacfwd(lambda x: x.exp().sum(0)),
        hessian(cube),
        lambda x: vjp(cube, x)[1](ember.tensor(2.0))[0],
        looped,
        lambda x: ember.cat([x, x.flip(0)]).softmax(1),
    ],
)
def test_the_graph_does_as_the_function(function):
    graph = make_fx(function)(ember.randn(3, 4))
    for _ in range(2):
        x = ember.randn(3, 4)
        assert ember.allclose(graph(x), function(x), atol=1e-5)
    # The ops, and no call of the function; the input is used.
    assert all(
        n.op in ("placeholder", "call_function", "get_attr", "output")
        for n in graph.graph.nodes
    )
    (entry,) = (n for n in graph.graph.nodes if n.op == "placeholder")
    assert entry.users


def test_results_of_several_outputs_and_changes_in_place():
    graph = make_fx(pair)(ember.randn(2, 3), ember.randn(2, 3))
    x, y = ember.randn(2, 3), ember.randn(2, 3)
    before = x.clone()
    found, wanted = graph(x, y), pair(x, y)
    assert ember.equal(found["z"], wanted["z"])
    assert all(map(ember.equal, found["rest"], wanted["rest"]))
    assert ember.equal(x, before)
    changes = make_fx(lambda x: x.mul_(2))(ember.ones(2))
    x = ember.ones(2)
    changes(x)
    assert x.tolist() == [2, 2]


def test_models_and_their_parameters():
    model = ember.nn.Sequential(
        ember.nn.Linear(3, 4), ember.nn.Tanh(), ember.nn.Linear(4, 1)
    )

    def loss(parameters, x):
        return functional_call(model, parameters, (x,)).pow(2).mean()

    parameters = {name: p.detach() for name, p in model.named_parameters()}
    graph = make_fx(grad(loss))(parameters, ember.randn(5, 3))
    others = {name: ember.randn_like(p) for name, p in parameters.items()}
    x = ember.randn(5, 3)
    found, wanted = graph(others, x), grad(loss)(others, x)
    assert found.keys() == wanted.keys()
    for name in wanted:
        assert ember.allclose(found[name], wanted[name], atol=1e-5)
    # What the function captures is an attribute of the graph.
    whole = make_fx(model)(x)
    assert ember.allclose(whole(x), model(x))


def test_ops_by_their_parts():
    def tanh(x):
        return 1 - 2 / (ember.exp(2 * x) + 1)

    graph = make_fx(lambda x: x.tanh(), {ember.ops.aten.tanh.default: tanh})
    graph = graph(ember.randn(3))
    names = {n.name for n in graph.graph.nodes}
    assert "exp" in names and "tanh" not in names
    x = ember.randn(3)
    assert ember.allclose(graph(x), x.tanh(), atol=1e-6)


def test_what_a_graph_cannot_follow_is_refused():
    for function in (
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x * x[0].item(),
        lambda x: x.tolist(),
    ):
        with pytest.raises(RuntimeError, match="values"):
            make_fx(function)(ember.ones(2))
    with pytest.raises(NotImplementedError, match="sizes"):
        make_fx(cube, tracing_mode="symbolic")(ember.ones(2))
    assert get_proxy_mode() is None
