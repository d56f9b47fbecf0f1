"""The order of hooks around accumulators, and of those that come late."""

import ember
from ember import nn
from ember.autograd.graph import saved_tensors_hooks


def add_half(leaf):
    leaf.grad.add_(0.5)


def test_hooks_after_an_accumulator_see_what_it_made():
    x = ember.ones(3, requires_grad=True)
    node = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: g - 2)
    node.register_prehook(lambda gs: (gs[0] / 5,))
    x.register_post_accumulate_grad_hook(add_half)
    seen = []
    node.register_hook(lambda made, given: seen.append(given[0].clone()))
    x.sum().backward()
    assert ember.allclose(x.grad, ember.full((3,), 0.3))
    assert ember.allclose(seen[0], ember.full((3,), 0.3))


def test_backward_asks_the_nodes_of_its_inputs():
    x = ember.tensor(1.0, requires_grad=True)
    y, log = x.clone(), []
    y.grad_fn.register_prehook(lambda gs: log.append("node"))
    y.register_hook(lambda g: log.append("tensor"))
    y.sum().backward(inputs=(y,), retain_graph=True)
    assert log == ["tensor", "node"] and y.grad == 1
    log.clear()
    ember.autograd.grad(y.sum(), y)
    assert log == ["tensor"]


def test_hooks_that_come_while_the_node_runs():
    def late(t):
        node = ember._C._current_autograd_node()
        node.register_hook(lambda made, given: tuple(g / 2 for g in made))
        return t

    x = ember.ones(2, requires_grad=True)
    with saved_tensors_hooks(lambda t: t, late):
        y = x.exp()
    y.sum().backward()
    assert ember.allclose(x.grad, ember.ones(2).exp() / 2)


def test_second_derivatives_do_not_call_module_hooks():
    calls = []
    loss = nn.MSELoss()
    loss.register_full_backward_hook(lambda *given: calls.append(1))
    x = ember.rand(1, requires_grad=True)
    (dx,) = ember.autograd.grad(loss(x, ember.rand(1)), x, create_graph=True)
    (again,) = ember.autograd.grad(dx, x)
    assert calls == [1] and again == 2
