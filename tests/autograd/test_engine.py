"""The engine itself: deep graphs, passes inside passes, threads, errors half-way."""

import gc
import threading
import weakref

import pytest

import ember
from ember import _C


def leaf(*values):
    return ember.tensor(list(values or (1.0, 2.0)), requires_grad=True)


class Square(ember.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


def test_a_graph_of_200000_ops_runs_and_is_freed_without_recursion():
    x = leaf()
    y = x
    for _ in range(200_000):
        y = y * 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    z = x
    for _ in range(50_000):
        z = Square.apply(z)
    del z
    del y


def test_a_wide_graph_sums_every_path():
    x = leaf()
    parts = [x * float(i) for i in range(500)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    total.sum().backward()
    assert x.grad.tolist() == [sum(range(500))] * 2


def test_shared_subgraphs_run_once():
    seen = []

    class Count(ember.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(g.tolist())
            return g

    x = leaf(1.0)
    y = Count.apply(x)
    for _ in range(3):
        y = y + y
    y.sum().backward()
    assert x.grad.tolist() == [8]
    assert seen == [[8]]


def test_backward_of_the_same_graph_from_a_hook():
    x = leaf(3.0)
    y = x * x
    inner = []

    def hook(g):
        if not inner:
            inner.append(None)
            inner.append(ember.autograd.grad(y, x, retain_graph=True)[0].item())

    y.register_hook(hook)
    z = y * 2
    z.backward(retain_graph=True)
    assert inner[1] == 6
    assert x.grad.item() == 12
    z.backward()
    assert x.grad.item() == 24


def test_backward_inside_backward_to_the_same_leaf():
    x = leaf(2.0)

    class Nested(ember.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with ember.enable_grad():
                (x * x).backward()  # adds to x.grad, now
            return g

    (Nested.apply(x) * 3).backward()
    assert x.grad.item() == 4 + 3


def test_an_error_half_way_leaves_the_graph_usable():
    x = leaf()
    fail = [True]

    def hook(g):
        if fail[0]:
            raise ValueError("stop")

    y = x * 2
    y.register_hook(hook)
    z = (y * 3).sum()
    with pytest.raises(ValueError, match="stop"):
        z.backward(retain_graph=True)
    assert x.grad is None
    assert _C._current_graph_task_id() == -1
    assert ember.is_grad_enabled()
    fail[0] = False
    z.backward()
    assert x.grad.tolist() == [6, 6]


def test_exceptions_keep_their_traceback():
    class Bad(ember.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError("from backward")

    with pytest.raises(KeyError) as caught:
        Bad.apply(leaf()).sum().backward()
    assert caught.traceback[-1].name == "backward"


def test_queued_callbacks_run_at_the_end_of_the_pass():
    x = leaf(1.0)
    order = []

    def hook(g):
        order.append("hook")
        _C._queue_callback(lambda: order.append(("callback", x.grad.item())))

    y = x * 2
    y.register_hook(hook)
    (y * 3).backward()
    assert order == ["hook", ("callback", 6)]
    with pytest.raises(RuntimeError, match="during backward"):
        _C._queue_callback(print)


def test_recording_is_off_in_backward_unless_asked_for():
    modes = []
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: modes.append(ember.is_grad_enabled()))
    y.backward(retain_graph=True)
    y.backward(create_graph=True)
    assert modes == [False, True]
    assert ember.is_grad_enabled()


def test_the_gradient_of_a_leaf_is_not_the_callers_tensor():
    x = leaf()
    given = ember.ones(2)
    x.backward(given)
    x.grad.add_(1)
    assert given.tolist() == [1, 1]
    a, b = leaf(), leaf()
    (a + b).sum().backward()
    a.grad.add_(1)
    assert b.grad.tolist() == [1, 1]


def test_gradients_take_the_dtype_and_shape_of_what_they_are_for():
    x = ember.ones(3, 1, requires_grad=True)
    w = ember.ones(4, dtype=ember.float64, requires_grad=True)
    (x * w).sum().backward()
    assert x.grad.dtype == ember.float32 and x.grad.shape == (3, 1)
    assert w.grad.dtype == ember.float64 and w.grad.shape == (4,)


@pytest.mark.parametrize("size", [4, 200_000])
def test_threads_that_share_leaves_lose_no_gradient(size):
    x = ember.ones(size, requires_grad=True)
    rounds, count = 20, 4
    errors = []

    def work():
        try:
            for _ in range(rounds):
                (x * 2).sum().backward()
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert x.grad[0].item() == x.grad[-1].item() == 2 * rounds * count


def test_threads_that_share_a_graph():
    x = ember.ones(100_000, requires_grad=True)
    shared = x * 2
    errors = []

    def work():
        try:
            for _ in range(10):
                (shared * 3).sum().backward(retain_graph=True)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert x.grad[0].item() == 6 * 40


def test_each_thread_has_its_own_modes():
    found = []
    with ember.no_grad():
        t = threading.Thread(target=lambda: found.append(ember.is_grad_enabled()))
        t.start()
        t.join()
    assert found == [True]


def test_the_graph_dies_with_its_last_tensor():
    class Mark:
        pass

    gc.collect()
    gc.disable()
    try:
        y = Square.apply(leaf())
        mark = y.grad_fn.mark = Mark()
        seen = weakref.ref(mark)
        z = y * 2
        del mark, y
        assert seen() is not None
        z.sum().backward()
        del z
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("kind", ["leaf", "result", "node", "post", "context"])
def test_the_collector_finds_cycles_through_hooks_and_contexts(kind):
    class Mark:
        pass

    def build():
        x = leaf()
        t = x if kind in ("leaf", "post") else Square.apply(x)
        t.mark = Mark()
        if kind == "node":
            t.grad_fn.register_hook(lambda a, b: t)
        elif kind == "post":
            t.register_post_accumulate_grad_hook(lambda g: t)
        elif kind == "context":
            t.grad_fn.own = t
        else:
            t.register_hook(lambda g: t)
        return weakref.ref(t.mark)

    seen = build()
    gc.collect()
    assert seen() is None


def test_what_is_still_used_is_not_collected():
    x = leaf()
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(y))
    z = y * 3
    handle = z.register_hook(lambda g: seen.append(handle))
    gc.collect()
    z.sum().backward()
    assert len(seen) == 2
    assert x.grad.tolist() == [6, 6]


def test_a_node_can_be_called_with_gradients_of_its_outputs():
    x = ember.tensor([3.0], requires_grad=True)
    y = x**2
    assert y.grad_fn(ember.ones(1)).tolist() == [6.0]
    assert y.grad_fn(ember.ones(1)).tolist() == [6.0]  # keeps what it saved
    a, b = ember.ones(2, requires_grad=True), ember.full((2,), 2.0)
    da, db = (a * b).grad_fn(ember.ones(2))
    assert da.tolist() == [2, 2] and db is None
    z = x * 2  # x is a leaf: its node adds to .grad
    z.grad_fn.next_functions[0][0](ember.ones(1))
    assert x.grad.tolist() == [1]
    _, row = ember.ones(2, 2, requires_grad=True).unbind(0)
    assert row.grad_fn(None, ember.ones(2)).tolist() == [[0, 0], [1, 1]]
    for arguments in ((), (ember.ones(1), ember.ones(1))):
        with pytest.raises(TypeError, match="expected 1 arguments, got"):
            y.grad_fn(*arguments)
    with pytest.raises(TypeError, match="expected Variable or None"):
        y.grad_fn(1)
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.grad_fn(ember.ones(1))


def test_gradients_keep_the_strides_of_leaves_unless_told_otherwise():
    class Ones(ember.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, grad):
            return ember.ones(2, 3, 4, 5)

    a = ember.rand(2, 3, 4, 5).to(memory_format=ember.channels_last).requires_grad_()
    policy = ember.autograd.grad_mode.enforce_grad_layout_policy

    def strides():
        a.grad = None
        Ones.apply(a).backward()
        return a.grad.stride()

    assert strides() == a.stride()
    with policy(False):
        assert strides() == (60, 20, 5, 1)
    assert strides() == a.stride()
    decorated = policy(False)(strides)
    assert strides() == a.stride()
    assert decorated() == (60, 20, 5, 1)
    assert strides() == a.stride()
