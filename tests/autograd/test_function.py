"""Operations written in Python: what forward and backward may do."""

import gc
import weakref

import pytest

import ember
from ember.autograd import Function, grad


def leaf(*values):
    return ember.tensor(list(values or (1.0, 2.0)), requires_grad=True)


class Exp(Function):
    @staticmethod
    def forward(ctx, x, scale=1):
        y = x.exp() * scale
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y, None


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3


class DoubleInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_a_saved_output_can_be_differentiated_again():
    x = leaf(0.0)
    for order in range(4):
        y = Exp.apply(x, 5)
        for _ in range(order):
            (y,) = grad(y, x, create_graph=True)
        assert y.item() == 5


def test_the_context_is_the_node():
    x = leaf()
    y = Exp.apply(x, 2)
    assert y.grad_fn.name() == "ExpBackward"
    assert y.grad_fn.saved_tensors[0].tolist() == y.tolist()
    assert y.grad_fn.next_functions[0][0].variable is x
    assert len(y.grad_fn.next_functions) == 1  # numbers have no edge


def test_the_context_outlives_its_tensor():
    y = Exp.apply(leaf())
    node = y.grad_fn
    node.note = "kept"
    z = y * 2
    del y
    assert node.next_functions[0][0] is not None
    assert z.grad_fn.next_functions[0][0].note == "kept"


def test_an_input_returned_as_it_is_becomes_a_view():
    x = leaf()
    y = Same.apply(x)
    assert y is not x and y._base is x
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="Output 0 of Same is a view"):
        Same.apply(x * 1).add_(1)


def test_an_input_changed_in_place_gets_a_new_history():
    x = leaf()
    y = x * 1
    z = DoubleInPlace.apply(y)
    assert z is y and y.tolist() == [2, 4]
    z.sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        DoubleInPlace.apply(x)


def test_a_view_changed_in_place_changes_the_history_of_its_base():
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    DoubleInPlace.apply(base[1:])
    (base * base).sum().backward()
    assert x.grad.tolist() == [2, 16, 24]


def test_nothing_is_saved_without_recording():
    with ember.no_grad():
        y = Exp.apply(leaf())
    assert y.grad_fn is None and not y.requires_grad
    assert not Exp.apply(ember.ones(2)).requires_grad


def test_saved_tensors_are_guarded():
    x = leaf()
    y = Exp.apply(x)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = Exp.apply(x)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.grad_fn.saved_tensors
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


@pytest.mark.parametrize(
    "result, message",
    [
        (lambda g: (g, g), r"incorrect number of gradients \(expected 1, got 2\)"),
        (lambda g: 3, r"expected Variable or None \(got int\)"),
        (lambda g: ember.ones(3), "invalid gradient at index 0"),
    ],
)
def test_wrong_gradients_are_refused(result, message):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return result(g)

    with pytest.raises(RuntimeError, match=message):
        Wrong.apply(leaf()).sum().backward()


def test_undefined_gradients_arrive_as_zeros_or_none():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            seen.append(None if g is None else g.tolist())
            return h, None

    for materialize in (True, False):
        Two.apply(leaf(), materialize)[1].sum().backward()
    assert seen == [[0, 0], None]


def test_functions_leave_no_cycles():
    class Mark:
        pass

    gc.collect()
    gc.disable()
    try:
        x = leaf()
        for run in (False, True):
            y = Exp.apply(Same.apply(x))
            y.grad_fn.mark = mark = Mark()
            seen = weakref.ref(mark)
            if run:
                y.sum().backward()
            del mark, y
            assert seen() is None
    finally:
        gc.enable()


def test_keyword_arguments_go_with_setup_context():
    class Power(Function):
        @staticmethod
        def forward(x, n=2):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = leaf(2.0)
    Power.apply(x, n=3).backward()
    assert x.grad.item() == 12


class Once(Function):
    """The product of two, which looks at what it saved one time only."""

    clear_saved_tensors_on_access = True

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        with pytest.raises(RuntimeError, match="only be accessed once"):
            ctx.saved_tensors
        return g * b, g * a


def test_saved_tensors_can_be_given_out_once():
    a, b = leaf(2.0), leaf(3.0)
    made = Once.apply(a, b)
    made.sum().backward(retain_graph=True)
    assert a.grad.item() == 3 and b.grad.item() == 2
    with pytest.raises(RuntimeError, match="only be accessed once"):
        made.sum().backward()


def test_saved_tensors_are_dropped_unless_the_graph_is_kept():
    dropped = []

    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            ctx.maybe_clear_saved_tensors()
            try:
                dropped.append(not ctx.saved_tensors)
            except RuntimeError:
                dropped.append(True)
            return 2 * g * x

    x = leaf(3.0)
    y = Square.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12 and dropped == [False, True]


@pytest.mark.parametrize("method", ["backward", "vjp"])
def test_gradients_in_a_list(method):
    def run(ctx, grads):
        assert type(grads) is list and len(grads) == 2
        first, second = grads
        grads.clear()
        return first + 10 * second

    body = {
        "boxed_grads_call": True,
        "forward": staticmethod(lambda ctx, x: (x * 1, x * 10)),
        method: staticmethod(run),
    }
    Both = type("Both", (Function,), body)
    x = leaf(1.0)
    a, b = Both.apply(x)
    (2 * a + 3 * b).backward()
    assert x.grad.item() == 32
    assert a.grad_fn.apply(ember.ones(1), ember.ones(1)).item() == 11


def test_a_function_has_what_its_contexts_have():
    names = "saved_tensors to_save needs_input_grad next_functions metadata name"
    for name in [*names.split(), "register_hook", "dirty_tensors", "saved_for_forward"]:
        assert hasattr(Function, name)
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Exp()
    assert made.saved_tensors == () and made.next_functions == ()
    assert made.name() == "Exp" and made.saved_for_forward is None
    made.mark = 1
    assert made.mark == 1
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None


def test_old_names_of_contexts():
    y = Exp.apply(leaf())
    with pytest.warns(DeprecationWarning, match="saved_tensors"):
        (saved,) = y.grad_fn.saved_variables
    assert ember.equal(saved, y)
    with pytest.warns(FutureWarning, match="mark_shared_storage"):
        y.grad_fn.mark_shared_storage((y, y))


def test_what_a_context_is_told_is_checked():
    class Told(Function):
        @staticmethod
        def forward(ctx, x, told):
            told(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    with pytest.raises(RuntimeError, match="only accepts variable arguments"):
        Told.apply(leaf(), lambda ctx: ctx.mark_non_differentiable("x"))
    with pytest.raises(TypeError, match="expected a bool"):
        Told.apply(leaf(), lambda ctx: ctx.set_materialize_grads(3))
    with pytest.raises(NotImplementedError, match="implement the forward"):
        Function.apply(leaf())


@pytest.mark.parametrize("create_graph", [False, True])
def test_saved_outputs_have_their_node_as_history(create_graph):
    class Root(Function):
        """y with y**2 = x: its gradient is taken through what y came from."""

        @staticmethod
        def forward(ctx, x):
            y = x.sqrt()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            assert y.requires_grad and y.grad_fn is ctx and not y.is_leaf
            assert x.requires_grad and x.grad_fn is None
            return g / (2 * y)

    x = leaf(4.0)
    (g,) = ember.autograd.grad(Root.apply(x), x, create_graph=create_graph)
    assert g.item() == 0.25 and g.requires_grad == create_graph
    gone = weakref.ref(y := Root.apply(x))
    del y
    assert gone() is None  # what it saved does not keep it


def test_a_function_returns_subclasses_as_they_came():
    class Tagged(ember.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    class Same(ember.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    seen: list = []
    x = ember.ones(2).as_subclass(Tagged)
    y = Same.apply(x)
    assert type(y) is Tagged and "view_as" in seen
    x = ember.ones(2).requires_grad_().as_subclass(Tagged)
    y = Same.apply(x)
    assert type(y) is Tagged
    (grad,) = ember.autograd.grad(y.sum(), x)
    assert grad.tolist() == [2, 2]
    p = ember.nn.Parameter(ember.ones(2))
    assert type(Same.apply(p)) is ember.Tensor


def test_gradients_of_constant_outputs_may_be_left_out():
    def run(value):
        class Two(ember.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                first, second = x.clone(), x.clone()
                ctx.mark_non_differentiable(second)
                if value is not None:
                    ctx._materialize_non_diff_grads = value
                return first, second

            @staticmethod
            def backward(ctx, a, b):
                found.append(b)
                return a

        found: list = []
        Two.apply(ember.ones(2, requires_grad=True))[0].sum().backward()
        return found[0]

    assert run(False) is None
    assert run(None).tolist() == run(True).tolist() == [0, 0]


def test_keyword_only_tensors_have_no_batch_rule():
    class Plus(ember.autograd.Function):
        @staticmethod
        def forward(x, *, y, scale=1):
            return (x + y) * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, *, y, scale=1):
            return (x + y) * scale, 0

    x = ember.ones(3)
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        ember.vmap(lambda x: Plus.apply(x, y=x))(x)
