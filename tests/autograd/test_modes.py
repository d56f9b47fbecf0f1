"""Gradient modes as context managers and decorators."""

import pytest

import ember
from ember.autograd import graph


def test_no_grad_restores():
    x = ember.ones(2, requires_grad=True)
    with ember.no_grad():
        assert not (x * 2).requires_grad
        with ember.enable_grad():
            assert (x * 2).requires_grad
        assert not ember.is_grad_enabled()
    assert ember.is_grad_enabled()


def test_no_grad_restores_after_an_error():
    with pytest.raises(KeyError), ember.no_grad():
        raise KeyError
    assert ember.is_grad_enabled()


@pytest.mark.parametrize("decorator", [ember.no_grad, ember.no_grad()])
def test_no_grad_decorates(decorator):
    @decorator
    def f(a, b=1):
        """doc"""
        return ember.is_grad_enabled(), a + b

    assert f(1, b=3) == (False, 4)
    assert f.__name__ == "f" and f.__doc__ == "doc"
    assert ember.is_grad_enabled()


def test_recursive_decorated_function():
    @ember.no_grad()
    def f(n):
        return f(n - 1) if n else ember.is_grad_enabled()

    assert f(3) is False
    assert ember.is_grad_enabled()


def test_decorated_generator_keeps_its_mode_to_itself():
    seen = []

    @ember.no_grad()
    def gen():
        try:
            got = yield ember.is_grad_enabled()
            seen.append((got, ember.is_grad_enabled()))
            yield 2
        except ValueError:
            yield "caught"
        finally:
            seen.append(ember.is_grad_enabled())
        return 7

    g = gen()
    assert next(g) is False
    assert ember.is_grad_enabled()
    assert g.send("x") == 2
    assert seen == [("x", False)]
    assert g.throw(ValueError) == "caught"
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == 7
    assert seen[-1] is False
    closed = gen()
    next(closed)
    closed.close()
    assert len(seen) == 3 and ember.is_grad_enabled()


def test_decorated_class():
    with pytest.warns(FutureWarning, match="Decorating classes"):

        @ember.no_grad()
        class A:
            def __init__(self):
                self.mode = ember.is_grad_enabled()

            def method(self):
                return ember.is_grad_enabled()

    assert A().mode is False
    assert A().method() is True


def test_set_grad_enabled_is_a_function_a_manager_and_a_decorator():
    ember.set_grad_enabled(False)
    assert not ember.is_grad_enabled()
    ember.set_grad_enabled(True)
    with ember.set_grad_enabled(False):
        assert not ember.is_grad_enabled()
    assert ember.is_grad_enabled()

    @ember.set_grad_enabled(False)
    def f():
        return ember.is_grad_enabled()

    assert ember.is_grad_enabled()
    assert f() is False
    assert ember.is_grad_enabled()


def test_inference_mode():
    with ember.inference_mode():
        assert ember.is_inference_mode_enabled()
        y = ember.ones(2)
        with ember.inference_mode(False):
            assert ember.is_grad_enabled()
    assert y.is_inference()
    assert not ember.is_inference_mode_enabled() and ember.is_grad_enabled()

    @ember.inference_mode
    def f():
        return ember.is_inference_mode_enabled()

    assert f() is True


def test_anomaly_mode():
    with pytest.warns(UserWarning, match="Anomaly"), ember.autograd.detect_anomaly():
        assert ember.is_anomaly_enabled()
    assert not ember.is_anomaly_enabled()
    with ember.autograd.set_detect_anomaly(True, check_nan=False):
        assert not ember.is_anomaly_check_nan_enabled()
    assert not ember.is_anomaly_enabled()


def test_saved_tensor_hooks():
    packed = []

    def pack(t):
        packed.append(t.clone())
        return len(packed) - 1

    x = ember.tensor([2.0, 3.0], requires_grad=True)
    with graph.saved_tensors_hooks(pack, lambda i: packed[i] * 10):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [40.0, 60.0]
    with graph.save_on_cpu():
        x.exp().sum().backward()
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
    ):
        graph.saved_tensors_hooks(pack, pack).__enter__()


def test_multi_grad_hook():
    a, b, c = (ember.ones(1, requires_grad=True) for _ in range(3))
    calls, first = [], []
    handle = graph.register_multi_grad_hook([a, b, c], calls.append)
    graph.register_multi_grad_hook([a, b], first.append, mode="any")
    (a * 2 + b * 3).backward()
    assert [None if g is None else g.item() for g in calls[0]] == [2, 3, None]
    handle.remove()
    (a * b * c).backward()
    assert len(calls) == 1 and len(first) == 2


def test_gradient_edge():
    x = ember.ones(2, requires_grad=True)
    edge = graph.get_gradient_edge(x)
    (g,) = ember.autograd.grad((x * 3).sum(), edge)
    assert g.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(ember.ones(2))


def test_saved_tensors_are_copied_when_they_change():
    """Once for each state of a tensor, and only while something has it saved."""
    with graph.allow_mutation_on_saved_tensors() as context:
        x = ember.tensor([2.0, 3.0], requires_grad=True).clone()
        a, b = x**2, x**2
        assert len(context.cloned) == 0
        x[:].sin_()
        assert len(context.cloned) == 1
        c = x**2
        ember.cos(ember.ones(2), out=x.detach())
        assert len(context.cloned) == 2
        del a, b
        assert len(context.cloned) == 1
        del c
        assert len(context.cloned) == 0
        x.mul_(2)
        assert len(context.cloned) == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.__setitem__(slice(None), 0),
        lambda t: ember._foreach_add_([t], 1),
        lambda t: t.view(-1).exp_(),
        lambda t: t.data.neg_(),
        lambda t: ember.nn.functional.relu_(t),
        lambda t: ember.nn.init.zeros_(t),
    ],
)
def test_every_kind_of_change_to_a_saved_tensor(change):
    with graph.allow_mutation_on_saved_tensors():
        x = ember.tensor([2.0, -3.0], requires_grad=True)
        y = x.clone()
        z = (y**2).sum()
        with ember.no_grad():
            change(y)
        assert ember.autograd.grad(z, x)[0].tolist() == [4, -6]


def test_an_unseen_change_to_a_saved_tensor_is_no_silent_one():
    with graph.allow_mutation_on_saved_tensors():
        x = ember.ones(2, requires_grad=True)
        y = x.clone()
        z = (y**2).sum()
        graph.increment_version(y)
        with pytest.raises(RuntimeError, match="was not seen"):
            z.backward()


def test_changed_saved_tensors_are_for_the_context_they_were_saved_in():
    with graph.allow_mutation_on_saved_tensors():
        out = (ember.ones(2, requires_grad=True) ** 2).sum()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation"):
        out.backward()
    with (
        graph.allow_mutation_on_saved_tensors(),
        pytest.raises(AssertionError, match="outside of the 'allow_mutation"),
    ):
        out.backward()


def test_saved_tensors_may_be_changed():
    allow = ember.autograd.graph.allow_mutation_on_saved_tensors
    with allow() as context:
        x = ember.tensor([2.0, 3.0], requires_grad=True)
        y = x.clone()
        z, w = (y**2).sum(), y.exp()
        saved = w.detach().clone()
        y.sin_()
        w.detach().zero_()
        with pytest.raises(RuntimeError, match="nested"), allow():
            pass
        (gz,) = ember.autograd.grad(z, x)
        (gw,) = ember.autograd.grad(w.sum(), x)
        context.clear()
    assert gz.tolist() == [4.0, 6.0]
    assert ember.allclose(gw, saved)
    with allow():  # and again
        pass
