"""Memory, tensors and generators that threads share."""

import gc
import queue
import threading
import weakref

import pytest

import ember
from ember.nn import functional as F
from tests.threads import LARGE, SECONDS, at_once, ends, until

# --- memory --------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1, 5, 16, 300, 4000), (20_000, 70_000, 300_000)])
def test_tensors_are_freed_by_another_thread(sizes):
    made = queue.Queue(50)
    stopped = threading.Event()

    def produce():
        for i in range(300):
            made.put(ember.full((sizes[i % len(sizes)],), float(i)))
        made.put(None)

    def consume():
        while (x := made.get(timeout=SECONDS)) is not None:
            assert x[0] == x[-1]
            del x

    def look():
        assert ember._C._memory_stats()
        ember._C._empty_cache()

    at_once(
        ends(stopped, lambda: at_once(produce, produce, consume, consume)),
        until(stopped, look),
    )


def test_blocks_outlive_the_thread_that_made_them():
    kept = []

    def make():
        local = threading.local()
        local.lost = [ember.ones(n) for n in range(1, 200)]  # freed as the thread ends
        kept.extend(ember.full((n,), float(n)) for n in range(1, 200))

    for _ in range(3):
        at_once(*[make] * 3)
    assert all((x == len(x)).all() for x in kept)
    at_once(kept.clear, *[lambda: [ember.ones(n) for n in range(200)]] * 2)


def test_views_of_one_base_are_changed_in_place():
    base = ember.zeros(4, LARGE)
    version = base._version

    def work(row):
        view = base[row]
        for _ in range(20):
            view += 1
            view.mul_(1)

    at_once(*[lambda i=i: work(i) for i in range(4)])
    assert (base == 20).all()
    assert base._version == version + 4 * 20 * 2


def test_small_changes_in_place_are_not_lost():
    x = ember.zeros(10)

    def work():
        for _ in range(500):
            x.add_(1)

    at_once(*[work] * 4)
    assert (x == 2000).all() and x._version == 2000


def test_a_list_changes_while_it_is_concatenated():
    parts, stopped = [ember.ones(LARGE) for _ in range(4)], threading.Event()

    def work():
        for _ in range(40):
            assert (ember.cat(list(parts) or [ember.ones(1)]) == 1).all()
            assert (ember.stack([ember.ones(2), *parts[:0]]) == 1).all()
            try:
                ember.cat(parts)
            except (RuntimeError, ValueError):
                assert True  # it was empty

    def change():
        parts.clear()
        parts.extend(ember.ones(LARGE) for _ in range(4))

    at_once(ends(stopped, work), until(stopped, change))


def test_a_tensor_is_one_object_for_all_threads():
    x = ember.ones(3, requires_grad=True)
    x.sum().backward()
    y = x * 2
    seen = [set() for _ in range(4)]

    def work(ids):
        for _ in range(300):
            g = x.grad
            assert g is x.grad and x[0]._base is x and y.grad_fn is y.grad_fn
            g.note = "kept"
            ids.add(id(g))

    at_once(*[lambda s=s: work(s) for s in seen])
    assert set.union(*seen) == {id(x.grad)} and x.grad.note == "kept"


def test_collected_while_others_run():
    stopped = threading.Event()

    def work():
        for _ in range(100):
            x = ember.ones(50, requires_grad=True)
            y = x * 2
            y.register_hook(lambda g, y=y: None)  # a cycle
            y.sum().backward()
            ref = weakref.ref(x)
            del x, y
            ref()

    at_once(ends(stopped, work), work, until(stopped, gc.collect))


# --- random numbers ------------------------------------------------------------------


@pytest.mark.parametrize("size", [7, LARGE])
@pytest.mark.parametrize("draw", [ember.rand, ember.randn])
def test_threads_that_share_a_generator_share_its_numbers(size, draw):
    if draw is ember.randn and size < 16:
        size = 16  # below, a number is left over for the next call
    count, rounds = 4, 10
    generator = ember.Generator().manual_seed(5)
    expected = [draw(size, generator=generator) for _ in range(count * rounds)]
    generator.manual_seed(5)
    drawn = []

    def work():
        for _ in range(rounds):
            drawn.append(draw(size, generator=generator))

    at_once(*[work] * count)
    key = lambda x: x[:3].tolist()  # noqa: E731
    for a, b in zip(sorted(drawn, key=key), sorted(expected, key=key)):
        assert ember.equal(a, b)


def test_the_default_generator_is_shared():
    stopped = threading.Event()

    def work():
        for _ in range(20):
            assert ember.rand(LARGE).min() >= 0
            F.dropout(ember.ones(LARGE), 0.5)
            ember.randperm(1000)
            ember.ones(LARGE).bernoulli_(0.5)
            ember.ones(40, 40).multinomial(3)

    def save():
        ember.set_rng_state(ember.get_rng_state())
        ember.manual_seed(3)

    at_once(ends(stopped, work), work, until(stopped, save))
