"""Backward passes of several threads over shared leaves and graphs."""

import threading

import pytest

import ember
from ember.nn import functional as F
from tests.threads import LARGE, SECONDS, at_once, ends, until


def test_gradients_are_set_while_they_are_added():
    x, stopped = ember.ones(LARGE, requires_grad=True), threading.Event()

    def work():
        for _ in range(50):
            (x * 2).sum().backward()

    def clear():
        x.grad = None
        x.grad = ember.zeros(LARGE)
        x.grad = None

    at_once(ends(stopped, work), work, until(stopped, clear))
    assert x.grad is None or (x.grad % 2 == 0).all()


def graph(x):
    y = x.sin() * x.exp()
    for _ in range(4):
        y = (y * x).tanh() + F.softmax(y.reshape(100, -1), 1).reshape(-1)
    return y.std() + F.layer_norm(y, (len(y),)).sum() + ember.cat([y, x]).logsumexp(0)


def test_a_graph_is_freed_by_one_of_its_passes():
    for _ in range(4):
        x = ember.ones(LARGE, requires_grad=True)
        loss, passed = graph(x), []

        def work(loss=loss, passed=passed):
            try:
                loss.backward()
                passed.append(True)
            except RuntimeError as e:
                assert "a second time" in str(e)

        at_once(*[work] * 4)
        assert len(passed) <= 1


def test_passes_with_and_without_the_graph_retained():
    x = ember.linspace(0, 1, LARGE).requires_grad_()
    expected = ember.autograd.grad(graph(x), x)[0]
    for _ in range(3):
        loss = graph(x)

        def work(retain, loss=loss):
            for _ in range(3):
                try:
                    (g,) = ember.autograd.grad(loss, x, retain_graph=retain)
                except RuntimeError as e:
                    assert "a second time" in str(e)
                else:
                    assert ember.allclose(g, expected)

        at_once(lambda: work(True), lambda: work(True), lambda: work(False))


def test_hooks_come_and_go_while_passes_run():
    x = ember.ones(LARGE, requires_grad=True)
    y = x * 2
    z = y.sum()
    stopped, called = threading.Event(), []

    def work():
        for _ in range(30):
            z.backward(retain_graph=True)

    def change():
        added = [
            x.register_hook(lambda g: called.append(1)),
            y.register_hook(lambda g: g),
            y.grad_fn.register_hook(lambda ins, outs: None),
            y.grad_fn.register_prehook(lambda outs: None),
            x.register_post_accumulate_grad_hook(lambda t: None),
        ]
        y.retain_grad()
        views = [y[:3] for _ in range(3)]
        for view in views:
            view.retain_grad()
        for handle in added:
            handle.remove()
        y.grad = None

    at_once(ends(stopped, work), work, until(stopped, change))
    assert x.grad[0] == 2 * 60


def test_outputs_that_retain_gradients_come_and_go():
    x = ember.ones(LARGE, requires_grad=True)
    parts = (x * 2).split(LARGE // 7)
    stopped = threading.Event()

    def work():
        for _ in range(20):
            parts[0].sum().backward(retain_graph=True)

    def change():
        for part in parts:
            part.retain_grad()
            part.grad = None

    at_once(ends(stopped, work), work, until(stopped, change))


class Twice(ember.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * 2)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        assert ember.equal(y, x * 2)
        return g * 2


def test_functions_written_in_python():
    x = ember.ones(LARGE, requires_grad=True)
    shared = Twice.apply(x)

    def work():
        for _ in range(10):
            Twice.apply(shared).sum().backward(retain_graph=True)

    at_once(*[work] * 4)
    assert (x.grad == 160).all()


def test_saved_tensors_are_dropped_by_another_pass():
    x = ember.ones(5, requires_grad=True)
    entered, dropped = threading.Event(), threading.Event()

    def unpack(value):
        if threading.current_thread() is first:
            entered.set()
            dropped.wait(SECONDS)
        return value

    with ember.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), unpack):
        y = Twice.apply(x)
    errors = []

    def slow():
        try:
            y.sum().backward()
        except RuntimeError as e:
            errors.append(str(e))

    first = threading.Thread(target=slow)
    first.start()
    entered.wait(SECONDS)
    y.sum().backward()
    dropped.set()
    first.join(SECONDS)
    assert len(errors) == 1 and "a second time" in errors[0]


def test_a_pass_inside_a_rule_of_its_own_graph():
    x = ember.ones(3, requires_grad=True)
    inner = []

    def unpack(value):
        if not inner:
            inner.append(None)
            inner[0] = ember.autograd.grad(y, x, ember.ones(3))[0]
        return value

    with ember.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), unpack):
        y = x * x
    y.sum().backward()
    assert ember.allclose(x.grad, inner[0])
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_modes_belong_to_their_thread():
    def work(mode, enabled):
        for _ in range(200):
            with mode():
                assert ember.is_grad_enabled() is enabled
                x = ember.ones(2, requires_grad=True) * 2
                assert x.requires_grad is enabled
        assert ember.is_grad_enabled()

    at_once(
        lambda: work(ember.no_grad, False),
        lambda: work(ember.enable_grad, True),
        lambda: work(ember.inference_mode, False),
    )


def test_autocast_belongs_to_its_thread():
    x = ember.ones(8, 8)

    def work(enabled):
        for _ in range(100):
            with ember.autocast("cpu", dtype=ember.bfloat16, enabled=enabled):
                dtype = (x @ x).dtype
            assert dtype == (ember.bfloat16 if enabled else ember.float32)

    at_once(lambda: work(True), lambda: work(False), lambda: work(True))
