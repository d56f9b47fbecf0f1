"""Hooks and modes of recording behave as in torch, errors included.

Each program runs on ember and on torch; it returns plain values, or raises.
"""

import gc
import warnings
import weakref

import pytest

import ember
from tests.oracle.tape import function, keeping, leaf, run_both, same_error, values

torch = pytest.importorskip("torch")

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


# --- hooks ---------------------------------------------------------------------------


@program
def hooks_in_order(m):
    x = leaf(m)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("first", g.tolist())))
    y.retain_grad()
    y.register_hook(lambda g: (seen.append(("second", g.tolist())), g * 2)[1])
    node = y.grad_fn
    node.register_prehook(
        lambda gs: (seen.append(("pre", gs[0].tolist())), (gs[0] * 3,))[1]
    )
    node.register_hook(
        lambda ins, outs: seen.append(
            ("post", [None if g is None else g.tolist() for g in ins], outs[0].tolist())
        )
    )
    x.register_hook(lambda g: (seen.append(("leaf", g.tolist())), g + 1)[1])
    x.register_post_accumulate_grad_hook(
        lambda t: seen.append(("done", t.grad.tolist()))
    )
    y.sum().backward()
    return [seen, *values(y.grad, x.grad)]


@program
def removed_hooks_are_not_called(m):
    x = leaf(m)
    y = x * 2
    seen = []
    handles = [
        y.register_hook(lambda g: seen.append("tensor")),
        y.grad_fn.register_hook(lambda a, b: seen.append("node")),
        y.grad_fn.register_prehook(lambda a: seen.append("pre")),
        x.register_hook(lambda g: seen.append("leaf")),
        x.register_post_accumulate_grad_hook(lambda t: seen.append("accumulated")),
    ]
    y.sum().backward(retain_graph=True)
    for h in handles[::2]:
        h.remove()
    y.sum().backward(retain_graph=True)
    for h in handles:
        h.remove()
        h.remove()
    y.sum().backward()
    return seen


@program
def hook_that_removes_itself(m):
    x = leaf(m)
    seen = []

    def hook(g):
        seen.append("once")
        handle.remove()

    handle = x.register_hook(hook)
    x.register_hook(lambda g: seen.append("always"))
    for _ in range(2):
        (x * 2).sum().backward()
    return seen


@program
def hooks_see_undefined_gradients(m):
    seen = []
    two = function(m, lambda ctx, x: (x * 1, x * 2), lambda ctx, g, h: h)
    x = leaf(m)
    a, b = two.apply(x)
    a.register_hook(lambda g: seen.append(g if g is None else g.tolist()))
    b.sum().backward()
    return [seen, *values(x.grad)]


@program
def hooks_with_grad(m):
    """autograd.grad runs tensor hooks on its inputs, accumulates nothing."""
    x = leaf(m)
    y = x * 3
    seen = []
    x.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g * 100)
    x.register_post_accumulate_grad_hook(lambda t: seen.append("no"))
    y.grad_fn.register_hook(lambda a, b: seen.append("post"))
    y.grad_fn.register_prehook(lambda a: seen.append("pre"))
    first = m.autograd.grad((y * 1).sum(), [x, y], retain_graph=True)
    second = m.autograd.grad((y * 1).sum(), y)
    return [*values(*first, *second), x.grad is None, seen]


@program
def hook_on_leaf_used_twice_runs_once(m):
    x = leaf(m)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 2 + x * 3).sum().backward()
    return seen


@program
def backward_with_inputs(m):
    x, w = leaf(m), leaf(m, 3.0, 4.0)
    y = x * w
    z = (y * y).sum()
    z.backward(inputs=[x, y], retain_graph=True)
    found = [*values(x.grad, y.grad), w.grad is None]
    z.backward(inputs=w)
    return [*found, *values(w.grad)]


@program
def backward_from_several_roots(m):
    x = leaf(m)
    y = x * 2
    z = y * 3
    m.autograd.backward([y.sum(), z.sum(), y], [None, None, m.ones(2)])
    return values(x.grad)


@program
def gradient_that_is_not_one(m):
    x = leaf(m)
    (x * 2).backward(gradient=m.tensor([1.0, 10.0]))
    return values(x.grad)


@program
def create_graph_makes_grad_differentiable(m):
    x = leaf(m)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.sum().backward()
    return [g.requires_grad, *values(g, x.grad)]


@program
def grad_of_unused(m):
    x, w = leaf(m), leaf(m)
    y = (x * 2).sum()
    return [
        m.autograd.grad(y, [x, w], allow_unused=True, retain_graph=True)[1] is None,
        *values(*m.autograd.grad(y, [x, w], materialize_grads=True)),
    ]


CALL_ERRORS = {
    "hook without grad": lambda m, x: m.ones(2).register_hook(print),
    "post hook on non-leaf": lambda m, x: (x * 1).register_post_accumulate_grad_hook(
        print
    ),
    "post hook without grad": lambda m, x: m.ones(2).register_post_accumulate_grad_hook(
        print
    ),
    "retain without grad": lambda m, x: m.ones(2).retain_grad(),
    "backward without grad": lambda m, x: m.ones(2).backward(),
    "backward of a vector": lambda m, x: (x * 1).backward(),
    "gradient of wrong shape": lambda m, x: (x * 1).backward(m.ones(3)),
    "no inputs": lambda m, x: (x * 1).sum().backward(inputs=[]),
    "requires_grad of a result": lambda m, x: (x * 1).requires_grad_(False),
    "requires_grad of integers": lambda m, x: m.ones(2, dtype=m.int64).requires_grad_(),
    "detach_ of a view": lambda m, x: (x * 1)[:1].detach_(),
    "leaf in place": lambda m, x: x.add_(1),
    "view of leaf in place": lambda m, x: x[:1].add_(1),
    "hook changes shape": lambda m, x: hooked(m, x, lambda g: m.ones(3)),
    "hook returns a number": lambda m, x: hooked(m, x, lambda g: 3),
    "hook raises": lambda m, x: hooked(m, x, lambda g: 1 // 0),
    "unused input": lambda m, x: m.autograd.grad((x * 1).sum(), leaf(m)),
    "input without grad": lambda m, x: m.autograd.grad((x * 1).sum(), m.ones(2)),
    "second backward": lambda m, x: twice((x * x).sum()),
    "saved was changed": lambda m, x: changed_after_saving(m, x),
    "no_grad view changed": lambda m, x: no_grad_view(m, x * 1).add_(1),
    "no_grad view of constant changed": lambda m, x: no_grad_view(m, m.ones(2)).mul_(
        x[0]
    ),
    "no_grad view, base changed": lambda m, x: base_of_no_grad_view(m, x),
    "inference tensor changed": lambda m, x: inference(m).add_(1),
    "inference tensor saved": lambda m, x: x * inference(m),
    "inference tensor requires grad": lambda m, x: inference(m).requires_grad_(),
    "inference version": lambda m, x: inference(m)._version,
    "inference view changed": lambda m, x: inference_view(m, x * 1).add_(1),
    "backward in inference mode": lambda m, x: backward_in_inference(m),
    "unpacked to a number": lambda m, x: with_hooks(m, x, lambda t: t, lambda t: 3),
    "pack changes its tensor": lambda m, x: with_hooks(
        m, x, lambda t: t.add_(1), lambda t: t
    ),
    "pack raises": lambda m, x: with_hooks(m, x, lambda t: [][0], lambda t: t),
    "hooks disabled": lambda m, x: disabled(m, x, False),
    "disabled inside hooks": lambda m, x: disabled(m, x, True),
    "nan in backward": lambda m, x: nan_in_backward(m, x),
}


def hooked(m, x, hook):
    y = x * 1
    y.register_hook(hook)
    y.sum().backward()


def twice(y):
    y.backward()
    y.backward()


def changed_after_saving(m, x):
    y = x * 2
    z = y.sin()
    y.add_(1)
    z.sum().backward()


def no_grad_view(m, base):
    with m.no_grad():
        return base[:1]


def base_of_no_grad_view(m, x):
    base = x * 1
    v = no_grad_view(m, base)
    base.mul_(2)
    return v.grad_fn


def inference(m):
    with m.inference_mode():
        return m.ones(2)


def inference_view(m, base):
    with m.inference_mode():
        return base[:1]


def backward_in_inference(m):
    with m.inference_mode():
        m.ones(2, requires_grad=True).sum().backward()


def with_hooks(m, x, pack, unpack):
    with m.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * 1).sin()
    y.sum().backward()


def disabled(m, x, inside):
    graph = m.autograd.graph
    hooks = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    off = graph.disable_saved_tensors_hooks("not here")
    first, second = (hooks, off) if inside else (off, hooks)
    with first, second:
        x * x


def nan_in_backward(m, x):
    with m.autograd.set_detect_anomaly(True):
        y = (x * 0).sqrt()
        y.sum().backward(m.tensor(0.0))


@pytest.mark.parametrize("name", CALL_ERRORS)
@pytest.mark.filterwarnings("ignore")
def test_error(name):
    def call(m):
        CALL_ERRORS[name](m, leaf(m))

    same_error(torch, ember, call, r"[\[\n.:(]")


# --- modes ---------------------------------------------------------------------------


@program
def inference_mode_flags(m):
    x, plain = leaf(m), m.ones(2)
    with m.inference_mode():
        made, result, view = m.ones(2), x * 2, x[:1]
        inside = plain[:1]
        plain.add_(1)
        own = m.ones(2, requires_grad=True).requires_grad
        with m.enable_grad():
            enabled = (x * 2).requires_grad
        with m.inference_mode(False):
            off = (x * 2).requires_grad, m.is_grad_enabled(), m.ones(1).is_inference()
    inside.add_(1)
    return [
        [
            t.is_inference()
            for t in (made, result, view, made[:1], made.detach(), made + 1)
        ],
        [t.requires_grad for t in (made, result, view)],
        [made[:1]._is_view(), view._is_view(), inside._is_view()],
        [made.clone().is_inference(), own, enabled, *off, plain._version],
        (x + made).requires_grad,
    ]


@program
def no_grad_views(m):
    x = leaf(m)
    v = no_grad_view(m, x)
    found = [v.requires_grad, v.is_leaf, v._is_view(), (v * 2).requires_grad]
    with m.no_grad():
        v.add_(1)
    return [*found, *values(x)]


@program
def saved_hooks_pack_what_is_needed(m):
    seen = []

    def pack(t):
        seen.append(t.tolist())
        return len(seen) - 1

    x, w = leaf(m), m.tensor([3.0, 4.0])
    with m.autograd.graph.saved_tensors_hooks(pack, lambda i: m.tensor(seen[i])):
        y = x * w  # keeps w
        z = (w * y).exp() * 2  # keeps w and the result
        z = z + x
    z.sum().backward()
    return [seen, *values(x.grad)]


@program
def saved_hooks_nest(m):
    x = leaf(m)
    hooks = m.autograd.graph.saved_tensors_hooks
    seen = []

    def pair(name):
        return hooks(
            lambda t: (seen.append("pack " + name), t)[1],
            lambda t: (seen.append("unpack " + name), t)[1],
        )

    with pair("outer"):
        a = x.sin()
        with pair("inner"):
            b = a.cos()
        c = b.exp()
    c.sin().sum().backward()
    return [seen, *values(x.grad)]


@program
def saved_hooks_on_functions(m):
    seen = []
    f = keeping(m, "output")
    x = leaf(m)
    hooks = m.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: (seen.append(t.tolist()), t * 2)[1], lambda t: t * 0.5):
        y = f.apply(x)
    (g,) = m.autograd.grad(y.sum(), x, retain_graph=True, create_graph=True)
    (h,) = m.autograd.grad(g.sum(), x)
    return [seen, *values(g, h)]


@program
def anomaly_mode_shows_the_forward_call(m):
    x = leaf(m, 0.0, 1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with m.autograd.detect_anomaly():
                y = x.sqrt()  # the guilty line
                y.sum().backward(m.tensor(0.0))
        except RuntimeError as e:
            text = str(e)
    shown = "".join(str(w.message) for w in caught)
    return [
        text,
        "the guilty line" in shown,
        "Error detected in SqrtBackward0" in shown,
    ]


@program
def anomaly_mode_leaves_own_errors_alone(m):
    f = function(m, lambda ctx, x: x * 1, lambda ctx, g: [][0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with m.autograd.set_detect_anomaly(True):
            y = f.apply(leaf(m))
            try:
                y.sum().backward()
            except IndexError as e:
                kind = str(e)
    return [
        kind,
        any("Error detected in MineBackward" in str(w.message) for w in caught),
    ]


@program
def multi_grad_hooks(m):
    a, b, c = leaf(m), leaf(m), leaf(m)
    seen = []
    register = m.autograd.graph.register_multi_grad_hook
    handle = register(
        (a, b, c), lambda g: seen.append([x if x is None else x.tolist() for x in g])
    )
    (a * b).sum().backward()
    ((a * b) * c).sum().backward()
    handle.remove()
    (a * b).sum().backward()
    return seen


@program
def objects_die_without_the_collector(m):
    class Mark:
        pass

    f = keeping(m, "output")
    gc.collect()
    gc.disable()
    try:
        marks = []
        for run in (True, False):
            x = leaf(m)
            y = f.apply(x)
            mark = y.grad_fn.mark = Mark()
            marks.append(weakref.ref(mark))
            del mark
            z = f.apply(y) * 2
            if run:
                z.sum().backward()
            del x, y, z
        return [r() is None for r in marks]
    finally:
        gc.enable()


@program
def identity_of_tensors(m):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    seen = []
    x = leaf(m)
    f = function(
        m, forward, lambda ctx, g: (seen.append(ctx.saved_tensors[0] is x), g)[1]
    )
    y = f.apply(x)
    fn = y.grad_fn
    found = [fn is y.grad_fn, fn is (y * 1).grad_fn.next_functions[0][0]]
    y.sum().backward()
    g = x.grad
    return [*found, seen, g is x.grad, fn.next_functions[0][0].variable is x]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_program(name):
    run_both(torch, ember, PROGRAMS[name])
