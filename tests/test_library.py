"""Operators of one's own: kernels, gradients, rules, schemas."""

from collections.abc import Sequence
from itertools import count

import pytest

import ember
from ember import Tensor, library

_numbers = count()


@pytest.fixture
def name():
    """An operator that does not exist yet."""
    return f"tests::op{next(_numbers)}"


@pytest.fixture
def scale(name):
    @library.custom_op(name, mutates_args=())
    def scale(x: Tensor, by: float = 2.0, *, n: int = 1) -> Tensor:
        """Multiply."""
        return x * by * n

    return scale


def test_calls(scale, name):
    x = ember.ones(2)
    op = getattr(ember.ops.tests, name.partition("::")[2])
    assert op is scale and op.default is scale and scale.__doc__ == "Multiply."
    assert scale(x).tolist() == [2, 2]
    assert scale(x, 3.0, n=2).tolist() == op.default(x=x, by=6.0).tolist() == [6, 6]
    assert repr(scale) == f"<CustomOpDef({name})>"


@pytest.mark.parametrize(
    "args, kwargs, message",
    [
        ((), {}, "missing value for argument 'x'"),
        ((2,), {}, "expected a Tensor for argument 'x'"),
        ((ember.ones(1), 1.0, 2), {}, "takes 2 arguments"),
        ((ember.ones(1),), {"x": 1}, "two values"),
        ((ember.ones(1),), {"z": 1}, "no argument 'z'"),
    ],
)
def test_calls_are_checked(scale, args, kwargs, message):
    with pytest.raises(RuntimeError, match=message):
        scale(*args, **kwargs)


def test_gradients_must_be_registered(scale):
    x = ember.ones(2, requires_grad=True)
    made = scale(x)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        made.sum().backward()
    seen = []

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.by = inputs[1] * keyword_only_inputs["n"]
        ctx.save_for_backward(inputs[0])
        seen.append(output)

    def backward(ctx, grad):
        return grad * ctx.by, None

    scale.register_autograd(backward, setup_context=setup_context)
    assert ember.autograd.gradcheck(
        lambda x: scale(x, n=3), ember.rand(3, dtype=ember.float64, requires_grad=True)
    )
    scale(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5, 5] and seen
    scale.register_autograd(lambda ctx, grad: grad)
    with pytest.raises(RuntimeError, match="expected 2 gradients"):
        scale(x).sum().backward()


def test_lists_of_tensors(name):
    @library.custom_op(name, mutates_args=())
    def total(xs: Sequence[Tensor], weights: Sequence[float]) -> list[Tensor]:
        return [sum(x * w for x, w in zip(xs, weights)), xs[0] + 1]

    def setup_context(ctx, inputs, output):
        ctx.weights = inputs[1]

    def backward(ctx, first, second):
        grads = [first * w for w in ctx.weights]
        grads[0] = grads[0] + second
        return grads, None

    library.register_autograd(name, backward, setup_context=setup_context)
    a, b = ember.ones(1, requires_grad=True), ember.ones(1, requires_grad=True)
    first, second = total([a, b], [2.0, 3.0])
    (first + 10 * second).backward()
    assert a.grad.item() == 12 and b.grad.item() == 3


def test_kernels_by_device(name):
    @library.custom_op(name, mutates_args=(), device_types="cuda")
    def shift(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(NotImplementedError, match="kernels for cuda"):
        shift(ember.ones(1))
    shift.register_kernel("cpu")(lambda x: x + 5)
    assert shift(ember.ones(1)).item() == 6
    with pytest.raises(RuntimeError, match="no fake impl"):
        shift(ember.ones(1, device="meta"))
    library.register_fake(name, ember.empty_like)
    assert shift(ember.ones(3, device="meta")).shape == (3,)


def test_a_kernel_for_all_devices(name):
    library.define(name, "(Tensor x) -> Tensor")
    library.register_kernel(name, "default")(lambda x: x + 1)
    op = getattr(ember.ops.tests, name.partition("::")[2])
    assert op(ember.ones(1)).item() == 2
    library.register_kernel(name, ("cpu",), lambda x: x + 5)
    assert op(ember.ones(1)).item() == 6


@pytest.mark.parametrize("key", ["AutogradCPU", "Autograd"])
def test_a_kernel_that_the_tape_sees(name, key):
    library.define(name, "(Tensor x) -> Tensor")
    mine = library.Library("tests", "IMPL")
    mine.impl(name.partition("::")[2], lambda x: x + 1, "CPU")
    mine.impl(name.partition("::")[2], lambda x: x * 3, key)
    op = getattr(ember.ops.tests, name.partition("::")[2])
    x = ember.ones(2, requires_grad=True)
    op(x).sum().backward()
    assert x.grad.tolist() == [3, 3] and op(ember.ones(1)).item() == 3
    with ember.inference_mode():
        assert op(ember.ones(1)).item() == 2


def test_outputs_are_new(name):
    @library.custom_op(name, mutates_args=())
    def view(x: Tensor) -> Tensor:
        return x[1:]

    with pytest.raises(RuntimeError, match="share memory"):
        view(ember.ones(2))


def test_changes_in_place(name):
    @library.custom_op(name, mutates_args={"x"})
    def fill(x: Tensor, value: float) -> None:
        memoryview(x)[:] = memoryview(ember.full_like(x, value))

    x = ember.zeros(2)
    before = x._version
    assert fill(x, 3.0) is None
    assert x.tolist() == [3, 3] and x._version > before
    with pytest.raises(RuntimeError, match="non-functional"):
        fill.register_autograd(lambda ctx, g: g)


def test_batches(scale):
    x = ember.ones(3, 2)
    with pytest.raises(RuntimeError, match="no vmap rule"):
        ember.vmap(scale)(x)
    scale.register_vmap(
        lambda info, in_dims, x, by, *, n: (x * by * n * info.batch_size, in_dims[0])
    )
    assert ember.vmap(scale)(x).tolist() == [[6, 6]] * 3


def test_autocast(name):
    @library.custom_op(name, mutates_args=())
    def copy(x: Tensor) -> Tensor:
        return x.clone()

    library.register_autocast(name, "cpu", ember.bfloat16)
    assert copy(ember.ones(1)).dtype == ember.float32
    with ember.autocast("cpu"):
        assert copy(ember.ones(1)).dtype == ember.bfloat16
        assert copy(ember.ones(1, dtype=ember.int64)).dtype == ember.int64


def test_decorators_of_a_library(name):
    space, _, op = name.partition("::")
    parts = library.Library(space, "FRAGMENT")

    @library.define(parts, f"{op}(Tensor x) -> Tensor")
    def double(x):
        return x * 2

    parts.define(f"{op}_less(Tensor x) -> Tensor")

    @library.impl(parts, f"{op}_less", "CPU")
    def less(x):
        return x - 1

    made = getattr(ember.ops, space)
    assert getattr(made, op)(ember.ones(1)).item() == 2
    assert getattr(made, f"{op}_less")(ember.ones(1)).item() == 0
    assert double.__name__ == "double" and less.__name__ == "less"


def test_kernels_may_come_before_the_definition(name):
    library.impl(name, ["cpu", "meta"], lambda x: x + 1)
    space, _, op = name.partition("::")
    with pytest.raises(AttributeError):
        getattr(getattr(ember.ops, space), op)
    library.define(name, "(Tensor x) -> Tensor")
    found = getattr(getattr(ember.ops, space), op)
    assert found(ember.ones(2)).tolist() == [2, 2]
    assert found(ember.ones(2, device="meta")).shape == (2,)
    with pytest.raises(RuntimeError, match="no operator aten::no_such"):
        library.impl("aten::no_such", "cpu", abs)


def test_define_and_impl(name):
    library.define(name, "(Tensor x, int y=3, *, str mode='a, b') -> Tensor")
    with pytest.raises(RuntimeError, match="multiple times"):
        library.define(name, "(Tensor x) -> Tensor")
    library.impl(name, ["cpu", "meta"], lambda x, y, mode: x + y + len(mode))
    op = getattr(ember.ops.tests, name.partition("::")[2])
    assert op(ember.ones(1)).item() == 8
    with pytest.raises(ValueError, match="namespace::name"):
        library.define("bad", "(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="expected a schema"):
        library.define("tests::bad", "Tensor x")
    with pytest.raises(RuntimeError, match="no operator aten::add"):
        library.impl("aten::add", "cpu", lambda x: x)


def test_libraries():
    space = f"space{next(_numbers)}"
    made = library.Library(space, "DEF")
    assert made.define("twice(Tensor x) -> Tensor") == "twice"
    made.impl("twice", lambda x: x * 2)  # of ops that have gradients already
    x = ember.ones(1, requires_grad=True)
    getattr(ember.ops, space).twice(x).backward()
    assert x.grad.item() == 2
    with pytest.raises(RuntimeError, match="single TORCH_LIBRARY"):
        library.Library(space, "DEF")
    more = library.Library(space, "FRAGMENT")
    more.define("thrice(Tensor x) -> Tensor")
    library.Library(space, "IMPL", "CPU").impl("thrice", lambda x: x * 3)
    assert getattr(ember.ops, space).thrice(ember.ones(1)).item() == 3
    with pytest.raises(ValueError, match="Unsupported kind"):
        library.Library(space, "ALL")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(ember.ops, space).nothing


def typed(
    a: Tensor,
    b: Tensor | None,
    c: list[int],
    d: Sequence[Tensor],
    e: int | float | bool = 1,
    f: str = "x",
    *,
    g: float | None = None,
) -> tuple[Tensor, int]: ...


def test_schemas():
    made = library.infer_schema(typed, mutates_args={"a"}, op_name="n::m")
    assert made == (
        "n::m(Tensor(a0!) a, Tensor? b, SymInt[] c, Tensor[] d, Scalar e=1, "
        'str f="x", *, float? g=None) -> (Tensor, SymInt)'
    )
    unknown = library.infer_schema(typed, mutates_args="unknown")
    assert "Tensor(a3!)[] d" in unknown


@pytest.mark.parametrize(
    "hints, mutates, message",
    [
        ({"return": Tensor}, (), "must have a type annotation"),
        ({"x": dict, "return": Tensor}, (), "unsupported type"),
        ({"x": Tensor}, (), "No return type"),
        ({"x": Tensor, "return": dict}, (), "Return has unsupported"),
        ({"x": Tensor, "return": None}, ("y",), "not found in the custom op"),
        ({"x": int, "return": None}, ("x",), "only Tensors"),
    ],
)
def test_schemas_that_cannot_be(hints, mutates, message):
    def function(x): ...

    function.__annotations__ = hints
    with pytest.raises(ValueError, match=message):
        library.infer_schema(function, mutates_args=mutates)


def test_an_old_name(scale):
    with pytest.warns(FutureWarning, match="register_fake"):
        library.impl_abstract(scale._qualname, lambda x, by, n: ember.empty_like(x))
    assert scale(ember.ones(1, device="meta")).shape == (1,)


def test_opcheck(scale, name):
    x = ember.rand(2, requires_grad=True)
    scale.register_fake(lambda x, by, n: ember.empty_like(x))
    scale.register_autograd(lambda ctx, grad: (grad * 2, None))
    names = ["test_schema", "test_autograd_registration", "test_faketensor"]
    assert library.opcheck(scale, (x,)) == dict.fromkeys(names, "SUCCESS")
    assert library.opcheck(name, (x,), {"n": 2}, test_utils=names[:1])
    with pytest.raises(ValueError, match="expected test_utils"):
        library.opcheck(scale, (x,), test_utils="test_all")
    scale.register_fake(lambda x, by, n: x.new_empty(3))
    found = library.opcheck(
        scale, (ember.rand(5, requires_grad=True),), raise_exception=False
    )
    assert found["test_schema"] == "SUCCESS"
    assert isinstance(found["test_faketensor"], RuntimeError)


def test_opcheck_sees_changes_that_were_not_declared(name):
    @library.custom_op(name, mutates_args=())
    def lies(x: Tensor) -> Tensor:
        x.add_(1)
        return x * 2

    x = ember.zeros(2)
    with pytest.raises(Exception, match="x is not defined as mutable"):
        library.opcheck(lies, (x,))
    assert not x.any()
    found = library.opcheck(lies, (x,), raise_exception=False)
    assert "no fake impl" in str(found["test_faketensor"])


@pytest.mark.parametrize("op", [3, None, 2.5, ember.ones(2), ("docs", "name")])
def test_an_operator_is_a_name_or_a_definition(op):
    library = ember.library
    for call in (
        lambda: library.register_kernel(op, None),
        lambda: library.register_fake(op),
        lambda: library.register_autograd(op, abs),
        lambda: library.register_vmap(op, abs),
        lambda: library.register_autocast(op, "cpu", ember.float16),
        lambda: library.opcheck(op, ()),
        lambda: library.define(op, "(Tensor x) -> Tensor"),
        lambda: library.impl(op, "CPU", abs),
    ):
        with pytest.raises(ValueError, match="unexpected type for op"):
            call()
    with pytest.raises(TypeError, match="ns must be str"):
        library.Library(op, "DEF")
