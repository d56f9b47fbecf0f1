"""`explain`: graphs, breaks with their lines, groups; and `fullgraph`, which forbids
breaks."""

import pytest

import ember
from ember import _dynamo
from ember._dynamo import exc

from . import needs_jit

X = ember.linspace(0, 1, 10000)


def whole(x):
    y = (x * 2 + 1).sqrt()
    return y * y.sigmoid() - x


def broken(x):
    y = x * 2 + 1
    if y[0] > 0:  # a break
        y = y.sqrt()
    return y - 1


def line_of(function, text):
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


@needs_jit
def test_one_graph():
    told = ember.compiler.explain(whole)(X)
    assert (told.graph_count, told.graph_break_count) == (1, 0)
    assert told.op_count == 6 and told.kernel_count == 1 and told.eager_group_count == 0
    (group,) = told.groups
    assert group.ops == 6 and group.elements == X.numel() and group.state == "ready"
    assert group.inputs == 1 and group.outputs == 1
    # Each result in between would have been written, and read at least once.
    assert told.bytes_saved >= 5 * X.numel() * 4 * 2
    text = str(told)
    assert "Graph Count: 1\nGraph Break Count: 0\nOp Count: 6\n" in text
    assert "Group 1: 6 ops on 10,000 elements, 1 in, 1 out: ready" in text


def test_breaks_name_their_lines():
    told = _dynamo.explain(broken)(X)
    assert told.graph_count == 2 and told.graph_break_count == 1
    (reason,) = told.break_reasons
    (frame,) = reason.user_stack
    assert frame.filename == __file__ and frame.lineno == line_of(broken, "a break")
    assert "if y[0] > 0:  # a break" in reason.reason
    assert "Break Reason 1:" in str(told) and "a break" in str(told)


def test_compiled_functions_and_older_calls():
    assert ember.compiler.explain(ember.compile(whole))(X).graph_count == 1
    with pytest.warns(FutureWarning, match="explain"):
        assert _dynamo.explain(whole, X).graph_count == 1
    model = ember.nn.Sequential(ember.nn.Linear(100, 100), ember.nn.GELU())
    assert ember.compiler.explain(model)(X.reshape(100, 100)).graph_count >= 1


@needs_jit
def test_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    told = ember.compiler.explain(whole)(X)
    figure = told.draw(tmp_path / "groups.png")
    assert (tmp_path / "groups.png").stat().st_size > 1000
    assert "1 kernels" in figure.axes[0].get_title()


@pytest.mark.parametrize(
    "read",
    [
        lambda y: y[0] > 0 and y,
        lambda y: y * y[3].item(),
        lambda y: y.tolist(),
        lambda y: y.numpy().sum(),
    ],
)
def test_fullgraph_forbids_breaks(read):
    def f(x):
        return read(x * 2 + 1)

    strict = ember.compile(f, fullgraph=True)
    with pytest.raises(
        exc.Unsupported, match=r"value of a tensor is looked at in .*py:"
    ):
        strict(X)
    ember.compile(f)(X)
    assert ember.compile(whole, fullgraph=True)(X).shape == X.shape


def test_errors_of_programs_stay_theirs_with_fullgraph():
    def f(x):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine") as caught:
        ember.compile(f, fullgraph=True)(X)
    assert type(caught.value) is RuntimeError
