"""Custom functions behave as in torch, errors included.

Each program runs on ember and on torch; it returns plain values, or raises.
"""

import pytest

import ember
from tests.oracle.tape import function, keeping, leaf, run_both, same_error, values

torch = pytest.importorskip("torch")

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


# --- custom functions: results -------------------------------------------------------


@program
def function_with_saved_input_and_output(m):
    def forward(ctx, x, k):
        y = x.exp() * k
        ctx.save_for_backward(x, y, None)
        ctx.k = k
        return y

    def backward(ctx, g):
        x, y, nothing = ctx.saved_tensors
        return g * y + 0 * x * ctx.k, None if nothing is None else 1

    x = leaf(m)
    y = function(m, forward, backward).apply(x, 3)
    (first,) = m.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = m.autograd.grad(first.sum(), x)
    fn = y.grad_fn
    return [
        *values(y, first, second),
        fn.name(),
        type(fn).__name__,
        len(fn.next_functions),
    ]


@program
def function_with_setup_context(m):
    def setup_context(ctx, inputs, output):
        a, b, scale = inputs
        ctx.save_for_backward(a, b)
        ctx.scale = scale
        assert output.tolist() == (a * b * scale).tolist()

    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b * ctx.scale, g * a * ctx.scale, None

    f = function(
        m, lambda a, b, scale: a * b * scale, backward, setup_context=setup_context
    )
    a, b = leaf(m), leaf(m, 3.0, 4.0)
    f.apply(a, b, 2).sum().backward()
    return values(a.grad, b.grad)


@program
def function_that_returns_its_input(m):
    f = function(m, lambda ctx, x: x, lambda ctx, g: g * 3)
    x = leaf(m)
    y = f.apply(x)
    y.sum().backward()
    return [y is x, y._is_view(), y._base is x, y.requires_grad, *values(x.grad)]


@program
def function_that_returns_its_input_without_grad(m):
    f = function(m, lambda ctx, x: x, lambda ctx, g: g * 3)
    x, plain = leaf(m), m.ones(2)
    with m.no_grad():
        y = f.apply(x)
    z = f.apply(plain)
    return [y is x, y.requires_grad, y._is_view(), z is plain, z.requires_grad]


@program
def function_that_returns_its_input_twice(m):
    f = function(m, lambda ctx, x: (x, x), lambda ctx, g, h: g * 2 + h * 3)
    x = leaf(m)
    a, b = f.apply(x)
    (a.sum() + b.sum()).backward()
    return [a is b, a.output_nr, b.output_nr, *values(x.grad)]


@program
def function_that_returns_one_tensor_twice(m):
    def forward(ctx, x):
        y = x * 1
        return y, y

    seen = []

    def backward(ctx, g, h):
        seen.extend(values(g, h))
        return g + h

    a, b = function(m, forward, backward).apply(leaf(m))
    a.sum().backward()
    return [a is b, a.output_nr, *seen]


@program
def function_that_changes_its_input(m):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    f = function(m, forward, lambda ctx, g: g * 2)
    x = leaf(m)
    y = x * 1
    z = f.apply(y)
    z.sum().backward()
    return [z is y, y._version, y.grad_fn.name(), *values(y, x.grad)]


@program
def function_that_changes_a_view(m):
    def forward(ctx, k, x):
        x.mul_(k)
        ctx.mark_dirty(x)
        return x

    f = function(m, forward, lambda ctx, g: (None, g * 2))
    x = leaf(m, 1.0, 2.0, 3.0)
    base = x * 1
    view = base[1:]
    out = f.apply(2.0, view)
    (base * base).sum().backward()
    return [out is view, *values(base, x.grad)]


@program
def function_with_constant_output(m):
    def forward(ctx, x):
        a, b = x * 2, x > 1
        ctx.mark_non_differentiable(b)
        return a, b

    seen = []

    def backward(ctx, g, h):
        seen.append((g.tolist(), h.tolist()))
        return g * 2

    x = leaf(m)
    a, b = function(m, forward, backward).apply(x)
    a.sum().backward()
    return [a.requires_grad, b.requires_grad, *values(x.grad), seen]


@program
def function_with_float_marked_constant(m):
    def forward(ctx, x):
        a = x * 2
        ctx.mark_non_differentiable(a)
        return a

    a = function(m, forward, lambda ctx, g: g).apply(leaf(m))
    return [a.requires_grad, a.grad_fn is None]


@program
def function_with_integer_output(m):
    y = function(m, lambda ctx, x: (x > 1).to(m.int64), lambda ctx, g: g).apply(leaf(m))
    return [y.requires_grad, y.grad_fn is None]


@program
def function_with_other_outputs(m):
    seen = []

    def backward(ctx, *grads):
        seen.append([None if g is None else g.tolist() for g in grads])
        return grads[0]

    f = function(m, lambda ctx, x: (x * 1, 3, None, "s"), backward)
    x = leaf(m)
    y, *rest = f.apply(x)
    y.sum().backward()
    return [rest, seen, *values(x.grad)]


@program
def function_without_materialized_grads(m):
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def backward(ctx, g, h):
        seen.append((g is None, h is None))
        return g

    x = leaf(m)
    function(m, forward, backward).apply(x)[0].sum().backward()
    return [seen, *values(x.grad)]


@program
def function_reached_by_no_gradient(m):
    seen = []
    inner = function(
        m, lambda ctx, x: x * 1, lambda ctx, g: (seen.append(g.tolist()), g)[1]
    )
    outer = function(m, lambda ctx, x: x * 1, lambda ctx, g: None)
    x = leaf(m)
    outer.apply(inner.apply(x)).sum().backward()
    return [seen, None if x.grad is None else x.grad.tolist()]


@program
def function_needs_input_grad(m):
    seen = []

    def forward(ctx, *args):
        seen.append(ctx.needs_input_grad)
        return args[0] * 1

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, None

    f = function(m, forward, backward)
    x = leaf(m)
    f.apply(x, 3, m.ones(1)).sum().backward()
    with m.no_grad():
        f.apply(x, 3, m.ones(1))
    return [list(map(list, seen))]


@program
def function_with_extra_none_gradients(m):
    x = leaf(m)
    function(m, lambda ctx, x: x * 1, lambda ctx, g: (g, None, None)).apply(
        x
    ).sum().backward()
    return values(x.grad)


@program
def function_gradient_is_reduced_to_the_input(m):
    f = function(m, lambda ctx, x: x * 1, lambda ctx, g: m.ones(3, 2))
    x = leaf(m)
    f.apply(x).sum().backward()
    return values(x.grad)


@program
def once_differentiable_backward(m):
    from importlib import import_module

    once = import_module(f"{m.__name__}.autograd.function").once_differentiable
    f = function(m, lambda ctx, x: x * x, once(lambda ctx, g: g * 2))
    x = leaf(m)
    (g,) = m.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    g.sum().backward()


@program
def function_calls_another(m):
    double = function(m, lambda ctx, x: x * 2, lambda ctx, g: g * 2)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return double.apply(x) * x

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return double.apply(g * x) * 2

    x = leaf(m)
    y = function(m, forward, backward).apply(x)
    (first,) = m.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = m.autograd.grad(first.sum(), x)
    return values(y, first, second)


@program
def backward_inside_backward(m):
    def forward(ctx, x):
        with m.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = (ctx.x**3).sum()
        return ctx.y.detach()

    def backward(ctx, g):
        ctx.y.backward()
        return ctx.x.grad * g

    f = function(m, forward, backward)
    x = leaf(m)
    (f.apply(x * 2) * 3 + f.apply(x)).backward()
    return values(x.grad)


@program
def nested_checkpoints(m):
    """Recomputes in backward, to a depth of ten."""

    class Checkpoint(m.autograd.Function):
        @staticmethod
        def forward(ctx, run, x):
            ctx.run = run
            ctx.save_for_backward(x)
            return run(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with m.enable_grad():
                x = x.detach().requires_grad_()
                y = ctx.run(x)
            m.autograd.backward(y, g)
            return None, x.grad

    def level(k):
        if k == 0:
            return lambda x: x * x * 0.5
        return lambda x: Checkpoint.apply(level(k - 1), x.sin()) + x

    x = leaf(m, 0.3, 0.7)
    level(10)(x).sum().backward()
    return [[round(v, 4) for v in x.grad.tolist()]]


# --- custom functions: errors --------------------------------------------------------

ERRORS = {
    "too many gradients": lambda m, x: function(
        m, lambda ctx, x: x * 1, lambda ctx, g: (g, g)
    ).apply(x),
    "too few gradients": lambda m, x: function(
        m, lambda ctx, x, y: x * y, lambda ctx, g: (g,)
    ).apply(x, x),
    "not a gradient": lambda m, x: function(
        m, lambda ctx, x: x * 1, lambda ctx, g: 3
    ).apply(x),
    "wrong shape": lambda m, x: function(
        m, lambda ctx, x: x * 1, lambda ctx, g: m.ones(3)
    ).apply(x),
    "gradient for a number": lambda m, x: function(
        m, lambda ctx, x, k: x * k, lambda ctx, g: (g, g)
    ).apply(x, 2),
    "no backward": lambda m, x: type(
        "Mine", (m.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 1)}
    ).apply(x),
    "no forward": lambda m, x: type("Mine", (m.autograd.Function,), {}).apply(x),
    "own exception": lambda m, x: function(
        m, lambda ctx, x: x * 1, lambda ctx, g: [][1]
    ).apply(x),
    "exception in forward": lambda m, x: function(
        m, lambda ctx, x: {}["missing"], lambda ctx, g: g
    ).apply(x),
    "saved list": lambda m, x: function(
        m, lambda ctx, x: (ctx.save_for_backward([x]), x * 1)[1], lambda ctx, g: g
    ).apply(x),
    "dirty leaf": lambda m, x: function(
        m, lambda ctx, x: (ctx.mark_dirty(x), x)[1], lambda ctx, g: g
    ).apply(x),
    "dirty not returned": lambda m, x: function(
        m, lambda ctx, x: (ctx.mark_dirty(x), x * 1)[1], lambda ctx, g: g
    ).apply(x * 1),
    "result of identity changed": lambda m, x: (
        function(m, lambda ctx, x: x, lambda ctx, g: g).apply(x * 1).add_(1)
    ),
    "view from forward changed": lambda m, x: (
        function(m, lambda ctx, x: x[:1], lambda ctx, g: g).apply(x * 1).add_(1)
    ),
    "one of two views changed": lambda m, x: (
        function(m, lambda ctx, x: (x[:1], x[1:]), lambda ctx, g, h: g)
        .apply(x * 1)[0]
        .add_(1)
    ),
    "identity, then base changed": lambda m, x: change_base(m, x),
    "saved input changed": lambda m, x: saved_then_changed(m, x, "input"),
    "saved output changed": lambda m, x: saved_then_changed(m, x, "output"),
    "second backward": lambda m, x: backward_twice(m, x),
    "saved tensors after backward": lambda m, x: saved_after_backward(m, x),
}


def change_base(m, x):
    base = x * 1
    y = function(m, lambda ctx, x: x, lambda ctx, g: g).apply(base)
    base.add_(1)
    return y


def saved_then_changed(m, x, what):
    x = x * 1
    y = keeping(m, what).apply(x)
    (x if what == "input" else y).add_(1)
    return y


def backward_twice(m, x):
    y = keeping(m, "input").apply(x)
    y.sum().backward()
    return y


def saved_after_backward(m, x):
    y = keeping(m, "output").apply(x)
    y.sum().backward()
    return y.grad_fn.saved_tensors[0]


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    def call(m):
        ERRORS[name](m, leaf(m)).sum().backward()

    same_error(torch, ember, call, r"[\[\n.:]")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_program(name):
    run_both(torch, ember, PROGRAMS[name])
