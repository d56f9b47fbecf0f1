"""Long chains of objects that own each other are freed one by one, not by recursion."""

from __future__ import annotations

import gc
import threading

import pytest

import ember

STACK = 256 << 10  # of the thread that frees: a few thousand nested calls
LENGTH = 30_000


def of_gradients():
    first = t = ember.ones(1)
    for _ in range(10 * LENGTH):
        g = ember.ones(1)
        t.grad = g
        t = g
    return first


def of_bases():
    """Each is the gradient of the base of the view before."""
    first = t = ember.ones(1)
    for _ in range(LENGTH):
        base = ember.ones(1)
        t.grad = base.view(1)
        t = base
    return first


def of_parameters():
    first = t = ember.nn.Parameter(ember.ones(1))
    for _ in range(LENGTH):
        g = ember.nn.Parameter(ember.ones(1))
        t.grad = g
        t = g
    return first


def of_attributes():
    first = t = ember.ones(1)
    for _ in range(LENGTH):
        g = ember.ones(1)
        t.next = g
        t = g
    return first


def of_hooks():
    t = ember.ones(1, requires_grad=True)
    for _ in range(LENGTH):
        g = ember.ones(1, requires_grad=True)
        g.register_hook(lambda grad, kept=t: None)
        t = g
    return t


def of_ops():
    x = ember.ones(1, requires_grad=True)
    for _ in range(LENGTH):
        x = x + 1
    return x


def of_saved():
    x = ember.ones(1, requires_grad=True)
    for _ in range(LENGTH):
        x = x * x
    return x


def of_gradients_of_graphs():
    """Graph, gradient, graph ...: nodes and tensors in turn."""
    t = ember.ones(1, requires_grad=True)
    for _ in range(LENGTH):
        leaf = ember.ones(1, requires_grad=True)
        leaf.grad = t.detach() if t.grad_fn is None and t.grad is None else t
        t = leaf * 1
    return t


def of_functions():
    class Keep(ember.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = x
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = ember.ones(1, requires_grad=True)
    for _ in range(LENGTH):
        x = Keep.apply(x)
    return x


def of_in_place_changes():
    x = ember.ones(2, requires_grad=True) * 1
    for _ in range(LENGTH):
        x[:1].mul_(1.0)
    return x


def of_moved_memory():
    t = ember.ones(1)
    arrays = [t.numpy()]
    t.share_memory_()
    for _ in range(LENGTH):
        arrays[0] = t.data
        t.data = ember.ones(1)
        arrays[0] = t.numpy()
        t.share_memory_()
    return t


CHAINS = [value for name, value in list(globals().items()) if name.startswith("of_")]


@pytest.mark.parametrize("build", CHAINS)
@pytest.mark.parametrize("collect", [False, True])
def test_a_long_chain_is_freed_on_a_small_stack(build, collect):
    held, errors = [build()], []

    def drop():
        try:
            if collect:
                gc.collect()
            held.clear()
            gc.collect()
        except BaseException as error:
            errors.append(error)

    threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=drop)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(0)
    assert not held and not errors
