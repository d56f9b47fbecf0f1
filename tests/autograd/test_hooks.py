"""Hooks on tensors, leaves and nodes."""

import pytest

import ember


def leaf(*values):
    return ember.tensor(list(values or (1.0, 2.0)), requires_grad=True)


def test_a_hook_may_replace_the_gradient():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    y.sum().backward()
    assert x.grad.tolist() == [21, 21]


def test_hooks_run_in_order_around_the_node():
    x = leaf()
    y = x * 2
    order = []
    y.grad_fn.register_hook(lambda ins, outs: order.append("post"))
    y.grad_fn.register_prehook(lambda outs: order.append("pre"))
    y.register_hook(lambda g: order.append("first"))
    y.register_hook(lambda g: order.append("second"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("accumulated"))
    x.register_hook(lambda g: order.append("leaf"))
    y.sum().backward()
    assert order == ["first", "second", "pre", "post", "leaf", "accumulated"]


def test_handles_remove_their_hook():
    x = leaf()
    calls = []
    handle = x.register_hook(lambda g: calls.append(1))
    with x.register_hook(lambda g: calls.append(2)):
        x.sum().backward()
    x.sum().backward()
    handle.remove()
    handle.remove()
    x.sum().backward()
    assert calls == [1, 2, 1]


def test_retained_gradients():
    x = leaf()
    y = x * 2
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [4, 8]
    with pytest.warns(UserWarning, match="not a leaf"):
        assert (x * 2).grad is None


def test_a_hook_stays_with_the_value_it_was_set_on():
    x = leaf()
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("old", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("new", g.tolist())))
    y.sum().backward()
    assert seen == [("new", [1, 1]), ("old", [3, 3])]


def test_hooks_survive_the_graph_of_a_leaf():
    x = leaf()
    calls = []
    x.register_hook(lambda g: calls.append(g.tolist()))
    for k in (1.0, 2.0):
        (x * k).sum().backward()
    assert calls == [[1, 1], [2, 2]]


@pytest.mark.parametrize(
    "hook, error, message",
    [
        (lambda g: ember.ones(3), RuntimeError, "has changed the size of value"),
        (lambda g: 3, TypeError, "hook returned 'int'"),
        (lambda g: 1 // 0, ZeroDivisionError, "division"),
    ],
)
def test_bad_hooks(hook, error, message):
    y = leaf() * 1
    y.register_hook(hook)
    with pytest.raises(error, match=message):
        y.sum().backward()


def test_hooks_need_a_gradient():
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        ember.ones(2).register_hook(print)
    with pytest.raises(RuntimeError, match="non-leaf"):
        (leaf() * 1).register_post_accumulate_grad_hook(print)


def test_nodes():
    x = leaf()
    y = x * 2
    z = y + x
    node = z.grad_fn
    assert node is z.grad_fn and node.name() == "AddBackward0"
    assert [n.name() for n, _ in node.next_functions] == [
        "MulBackward0",
        "AccumulateGrad",
    ]
    assert node.next_functions[1][0].variable is x
    node.metadata["note"] = 1
    del node
    assert z.grad_fn.metadata == {"note": 1}
    assert x.grad_fn is None and z.output_nr == 0


def test_the_hooks_of_a_tensor_can_be_set():
    """Programs put them back after a copy, or take them off."""
    x = ember.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 100)
    x._backward_hooks = {0: lambda g: g * 2}
    assert len(x._backward_hooks) == 1
    (x * 3).sum().backward()
    assert x.grad.tolist() == [6, 6]
    x._backward_hooks = None
    assert not x._backward_hooks
    plain = ember.ones(2)
    plain._backward_hooks = {}
    plain._backward_hooks["test"] = None  # nothing calls it
    with pytest.raises(TypeError, match="expected a dict, got int"):
        x._backward_hooks = 1
