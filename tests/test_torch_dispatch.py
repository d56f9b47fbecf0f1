"""`__torch_dispatch__`: wrapper subclasses and modes see ops by their names in aten."""

import copy
import gc
import io
import pickle
import weakref

import pytest

import ember
from ember import nn
from ember.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    is_traceable_wrapper_subclass,
    transform_subclass,
)
from ember.utils._pytree import tree_map


class Logged(ember.Tensor):
    """Holds a tensor, and notes what happens to it."""

    names: list = []
    __torch_function__ = ember._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, elem):
        return ember.Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            dtype=elem.dtype,
            device=elem.device,
            requires_grad=elem.requires_grad,
        )

    def __init__(self, elem):
        self.elem = elem.detach()

    def __tensor_flatten__(self):
        return ["elem"], None

    @staticmethod
    def __tensor_unflatten__(parts, context, size, stride):
        return Logged(parts["elem"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        assert types == (Logged,)
        cls.names.append(func.__name__)

        def inside(x):
            return x.elem if isinstance(x, Logged) else x

        def outside(x):
            return Logged(x) if isinstance(x, ember.Tensor) else x

        made = func(*tree_map(inside, args), **tree_map(inside, kwargs or {}))
        return tree_map(outside, made)


@pytest.fixture(autouse=True)
def forget():
    Logged.names.clear()


def test_a_wrapper_has_a_shape_and_no_memory():
    x = Logged(ember.ones(2, 3, dtype=ember.float64).t())
    assert x.shape == (3, 2) and x.stride() == (1, 3)
    assert x.dtype == ember.float64 and x.device.type == "cpu" and x.is_cpu
    assert not x.requires_grad and x.is_leaf
    assert "Logged" in repr(x)
    assert Logged.names == []


def test_ops_methods_operators_and_indexing_are_seen():
    x = Logged(ember.arange(6.0).view(2, 3))
    made = [x.add(1), x + 1, 1 - x, ember.sin(x), x @ x.T, x[0], x[:, 1:], x[..., None]]
    assert all(type(m) is Logged for m in made)
    assert made[2].elem.tolist() == (1 - x.elem).tolist()
    assert made[6].elem.tolist() == x.elem[:, 1:].tolist()
    expected = "add add sub sin permute matmul select slice unsqueeze".split()
    assert Logged.names == expected
    x[0] = 5.0
    assert x.elem[0].tolist() == [5.0] * 3
    picked = x[ember.tensor([1, 1])]
    assert picked.elem.tolist() == x.elem[[1, 1]].tolist()


def test_reading_a_value_is_an_op():
    x = Logged(ember.tensor(2.5))
    assert x.item() == 2.5 and float(x) == 2.5 and bool(x)
    assert Logged.names == ["_local_scalar_dense"] * 3


FUNCTIONS = {
    "pointwise": lambda x: (x.exp() * 2 + x.sin() / (x**2 + 1)).sum(),
    "powers": lambda x: (x**3).sum() + x.abs().pow(1.5).mean(),
    "matrix": lambda x: (x @ x.T).tanh().mean(),
    "reductions": lambda x: x.mean(0).sum() + x.var() + x.amax(1).sum() + x.norm(),
    "shapes": lambda x: (x.view(3, 2).t().flatten() * x.reshape(-1)).sum(),
    "indexing": lambda x: (x[0] * x[:, 1].sum() + x[ember.tensor([1, 0])]).sum(),
    "softmax": lambda x: (x.softmax(1) * x.log_softmax(0)).sum(),
    "where": lambda x: ember.where(x > 0, x * 2, x * x).sum(),
    "sorting": lambda x: (x.sort(1).values * x.cumsum(1)).sum(),
    "cat": lambda x: (ember.cat([x, x * 2]).relu() * 3).sum(),
    "gather": lambda x: (x.gather(1, ember.tensor([[0, 2], [1, 1]])) ** 2).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_the_values(name):
    function = FUNCTIONS[name]
    ember.manual_seed(0)
    plain = ember.randn(2, 3, dtype=ember.float64, requires_grad=True)
    wrapped = Logged(plain.detach().requires_grad_())
    function(plain).backward()
    out = function(wrapped)
    assert type(out) is Logged and out.requires_grad
    assert type(out.grad_fn) is type(function(plain).grad_fn)
    Logged.names.clear()
    out.backward()
    assert Logged.names  # the backward pass was seen
    grad = wrapped.grad
    assert wrapped.grad is grad
    ember.testing.assert_close(getattr(grad, "elem", grad), plain.grad)


def test_second_gradients():
    x = Logged(ember.tensor([1.0, 2.0], requires_grad=True))
    (g,) = ember.autograd.grad((x**3).sum(), x, create_graph=True)
    assert g.requires_grad
    (h,) = ember.autograd.grad((g * g).sum(), x)
    assert h.elem.tolist() == [36.0, 288.0]


def test_gradients_of_plain_parameters():
    x = Logged(ember.randn(4, 3))
    layer = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    other = copy.deepcopy(layer)
    nn.functional.cross_entropy(layer(x), ember.tensor([0, 1, 1, 0])).backward()
    nn.functional.cross_entropy(other(x.elem), ember.tensor([0, 1, 1, 0])).backward()
    for p, q in zip(layer.parameters(), other.parameters()):
        ember.testing.assert_close(getattr(p.grad, "elem", p.grad), q.grad)


def test_gradients_accumulate_and_hooks_see_the_subclass():
    x = Logged(ember.tensor([1.0, 2.0], requires_grad=True))
    seen = []
    x.register_hook(lambda g: seen.append(type(g)))
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad.elem.tolist() == [4.0, 8.0]
    assert seen == [Logged, Logged]


def test_in_place_ops_keep_the_history():
    x = Logged(ember.tensor([1.0, 2.0], requires_grad=True))
    y = x * 3
    assert y.mul_(x) is y
    y.sum().backward()
    assert x.grad.elem.tolist() == [6.0, 12.0]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.mul_(2)


def test_a_graph_is_freed():
    def graph():
        x = Logged(ember.ones(2, requires_grad=True))
        y = x.exp().sigmoid().sum()
        return weakref.ref(y), weakref.ref(x), y

    *refs, y = graph()
    del y
    gc.collect()
    assert [r() for r in refs] == [None, None]


def test_handlers_that_do_not_answer():
    class Silent(Logged):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'aten\.add'"):
        Silent(ember.ones(2)) + 1


def test_a_wrapper_has_to_dispatch():
    class Plain(ember.Tensor):
        pass

    with pytest.raises(RuntimeError, match="must define __torch_dispatch__"):
        ember.Tensor._make_wrapper_subclass(Plain, (2,))
    with pytest.raises(TypeError, match="subclass of Tensor"):
        ember.Tensor._make_wrapper_subclass(int, (2,))


def test_torch_function_comes_first():
    seen = []

    class Both(Logged):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            with ember._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return NotImplemented if kwargs else args[0]

    ember.neg(Both(ember.ones(2)))
    assert seen == ["neg", "aten.neg"]


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_modes_see_ops_on_plain_tensors():
    x = ember.tensor([1.0, 2.0], requires_grad=True)
    with Names() as outer, Names() as inner:
        y = (x * 2).sum()
    y.backward()
    assert inner.names == outer.names == ["mul", "sum"]
    assert x.grad.tolist() == [2.0, 2.0]
    with outer, _disable_current_modes():
        x * 2
    assert outer.names == ["mul", "sum"]


def test_plain_tensors_are_read_in_a_mode():
    with Names() as mode:
        assert ember.arange(2).tolist() == [0, 1]
        with pytest.raises(RuntimeError, match="only the subclass knows"):
            Logged(ember.ones(2)).tolist()
    assert mode.names[0] == "arange"


def test_a_mode_is_asked_before_a_subclass():
    with Names() as mode:
        Logged(ember.ones(2)).neg()
    assert mode.names[-1] == "neg" and Logged.names == ["neg"]


def test_wrappers_are_taken_apart_and_put_together():
    x = Logged(ember.ones(2))
    assert is_traceable_wrapper_subclass(x)
    assert not is_traceable_wrapper_subclass(ember.ones(2))
    y = transform_subclass(x, lambda name, part: part * 2)
    assert y.elem.tolist() == [2.0, 2.0]


def test_operators_keep_their_identity():
    op = ember.ops.aten.add.Tensor
    assert op.overloadpacket is ember.ops.aten.add and op.name() == "aten::add"
    assert copy.deepcopy(op) is op and pickle.loads(pickle.dumps(op)) is op


def test_wrappers_are_saved_copied_and_pickled():
    x = Logged(ember.tensor([1.0, 2.0], requires_grad=True))
    file = io.BytesIO()
    ember.save(x, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[.*Logged\]"):
        ember.load(file)
    file.seek(0)
    with ember.serialization.safe_globals([Logged]):
        loaded = ember.load(file)
    for made in (loaded, copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is Logged and made.requires_grad and made.is_leaf
        assert made.elem.tolist() == [1.0, 2.0]
        assert made.elem is not x.elem


def test_subclasses_with_memory_are_saved_as_such():
    class Named(ember.Tensor):
        pass

    globals()["Named"], Named.__qualname__ = Named, "Named"
    x = ember.ones(2).as_subclass(Named)
    x.label = "a"
    file = io.BytesIO()
    ember.save(x, file)
    file.seek(0)
    loaded = ember.load(file, weights_only=False)
    assert type(loaded) is Named and loaded.label == "a"


@pytest.mark.parametrize("key", [slice(None), ..., (slice(None), ...), ()])
def test_a_view_of_all_is_an_alias(key):
    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    names: list = []
    x = ember.ones(2, 3)
    with Names():
        view = x[key]
    assert names == ["alias"] and view is not x and view.data_ptr() == x.data_ptr()
