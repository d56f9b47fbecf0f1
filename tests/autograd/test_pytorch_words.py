"""What autograd says and how nodes are called, as programs for PyTorch expect it."""

import io
import warnings

import pytest

import ember
from ember.autograd import Function, forward_ad
from ember.autograd.graph import get_gradient_edge, increment_version


@pytest.mark.parametrize(
    "op, name",
    [
        (lambda x: x**2, "PowBackward0"),
        (lambda x: x.square(), "PowBackward0"),
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x.sum(0), "SumBackward1"),
        (lambda x: x.mean(), "MeanBackward0"),
        (lambda x: x.mean(0, keepdim=True), "MeanBackward1"),
    ],
)
def test_names_of_nodes(op, name):
    assert op(ember.ones(2, 2, requires_grad=True)).grad_fn.name() == name


def test_a_changed_tensor_is_told_by_the_op_that_made_it():
    b = ember.ones(3, 4, requires_grad=True).sum(dim=1)
    c = b * b
    with ember.no_grad():
        b += 1
    with pytest.raises(RuntimeError, match="output 0 of Sum1,"):
        c.backward(ember.ones(3))


def test_gradients_of_edges_need_no_start():
    x = ember.tensor([2.0, 3.0], requires_grad=True)
    edge = get_gradient_edge((x * x).sum())
    assert ember.autograd.grad(edge, x)[0].tolist() == [4.0, 6.0]
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        ember.autograd.grad(get_gradient_edge(x * x), x)


def test_words_about_gradients():
    x = ember.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"has a shape of torch.Size\(\[2\]\)"):
        ember.autograd.grad(x * 2, x, ember.ones(2))
    with pytest.raises(RuntimeError, match="cannot be empty"):
        ember.autograd.grad(x.sum(), [])
    with pytest.raises(RuntimeError, match="If `is_grads_batched=True`"):
        ember.autograd.grad(x * 2, x, ember.ones(3, 2), is_grads_batched=True)


def test_materialized_gradients_can_be_differentiated():
    x, a = ember.tensor(0.5, requires_grad=True), ember.tensor(1.0, requires_grad=True)
    first = ember.autograd.grad(x * a, x, create_graph=True)
    options = {"create_graph": True, "materialize_grads": True}
    second = ember.autograd.grad(first, x, **options)
    (third,) = ember.autograd.grad(second, x, materialize_grads=True)
    assert second[0].item() == third.item() == 0


def test_data_keeps_to_what_can_have_gradients():
    x = ember.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="must be floating point or complex"):
        x.data = ember.ones(2, dtype=ember.int64)
    with pytest.raises(RuntimeError, match="Deleting tensor data"):
        del x.data


def test_versions_of_inference_tensors_may_be_raised():
    with ember.inference_mode():
        x = ember.ones(2)
    increment_version(x)


class Power(Function):
    @staticmethod
    def forward(x, y=3):
        return x**y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.y = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.y * x ** (ctx.y - 1), None


def test_defaults_of_forward_reach_setup_context():
    x = ember.tensor(2.0, requires_grad=True)
    Power.apply(x).backward()
    assert x.grad.item() == 12.0
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Power.apply(x, z=1)
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        Power.apply(x, x=x)


@pytest.mark.parametrize("save", ["save_for_backward", "save_for_forward"])
def test_an_argument_that_is_returned_cannot_be_saved(save):
    class Returned(Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            getattr(ctx, save)(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="An input that has been returned as-is"):
        Returned.apply(ember.ones(1, requires_grad=True).clone())


def test_a_dirty_argument_stays_itself_with_a_direction():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, t):
            return t.mul_(2)

    with forward_ad.dual_level():
        x = forward_ad.make_dual(ember.tensor(1.0), ember.tensor(3.0))
        y = Twice.apply(x)
        assert y is x
        assert forward_ad.unpack_dual(y).tangent.item() == 6.0


def test_the_running_node_and_callbacks():
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(ember._C._current_autograd_node().name())
            ember.autograd.Variable._execution_engine.queue_callback(
                lambda: seen.append("done")
            )
            return g

    Look.apply(ember.ones(1, requires_grad=True)).sum().backward()
    assert seen == ["LookBackward", "done"]
    assert ember._C._current_autograd_node() is None


def test_what_a_node_expects():
    (row,) = ember.ones(2, 3, requires_grad=True).exp().grad_fn._input_metadata
    assert row.shape == (2, 3) and row.dtype == ember.float32


def test_a_pullback_minds_the_mode_it_is_called_in():
    x = ember.tensor(3.0, requires_grad=True)
    out, pull = ember.func.vjp(lambda x: x**2, x)
    with ember.no_grad():
        (y,) = pull(ember.tensor(1.0))
    assert out.requires_grad and not y.requires_grad
    with ember.no_grad():
        out, pull = ember.func.vjp(lambda x: x**2, x)
    (y,) = pull(ember.tensor(1.0))
    assert y.requires_grad and not out.requires_grad


def test_batched_tensors_are_printed_with_their_level():
    text = io.StringIO()

    def show(x):
        print(x, file=text)
        return x

    ember.vmap(show)(ember.ones(2))
    assert "BatchedTensor(lvl=1, bdim=0, value=" in text.getvalue()


def test_no_warnings_without_reason():
    x = ember.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ember.autograd.grad(x.sum(), x, create_graph=True)


def test_reentrant_checkpoints_cannot_serve_chosen_inputs():
    from ember.utils.checkpoint import checkpoint

    x, w = ember.ones(2, requires_grad=True), ember.ones(2, requires_grad=True)
    out = checkpoint(lambda x: x * w, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad\(\)"):
        ember.autograd.grad(out, x)
    out = checkpoint(lambda x: x * w, x, use_reentrant=True).sum()
    out.backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_directions_have_the_size_of_their_tensor():
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="that has a different size"):
            forward_ad.make_dual(ember.ones(2), ember.ones(3))
        dual = forward_ad.make_dual(ember.ones(2), ember.ones(2))
        with pytest.raises(RuntimeError, match="forward gradient at the same level"):
            forward_ad.make_dual(ember.ones(2), dual)


def test_strict_derivatives():
    F = ember.autograd.functional
    x = ember.ones(2, requires_grad=True)
    for function in (F.vjp, F.jvp):
        with pytest.raises(RuntimeError, match="is independent of input 0"):
            function(lambda x: x.clone(), x, ember.ones(2), True, True)
    for function in (F.jacobian, F.hessian):
        with pytest.raises(RuntimeError, match="not supported together"):
            function(lambda x: x.sum(), x, strict=True, vectorize=True)


def test_functions_of_the_core_that_programs_reach_for():
    functions, hooks = ember._C._functions, ember._C._autograd
    x = ember.ones(2, requires_grad=True)
    assert isinstance(get_gradient_edge(x).node, functions.AccumulateGrad)
    (g,) = ember.autograd.grad(
        functions.UndefinedGrad()(x * 2).sum(), x, allow_unused=True
    )
    assert g is None
    with pytest.raises(RuntimeError, match="not twice"):
        functions.DelayedError("not twice", 1)(x).sum().backward()
    assert hooks._saved_tensors_hooks_is_enabled()
    with ember.autograd.graph.disable_saved_tensors_hooks("no"):
        assert not hooks._saved_tensors_hooks_is_enabled()
    ref = ember._C._WeakTensorRef(x)
    assert not ref.expired()
    del x
    assert ref.expired()
