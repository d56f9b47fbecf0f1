"""Objects and subclasses that take over ops: `__torch_function__` and modes."""

import threading

import pytest

import ember
from ember import _C, overrides


class Logged(ember.Tensor):
    """Notes every call before it runs as usual."""

    calls: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(overrides.resolve_name(func))
        return super().__torch_function__(func, types, args, kwargs)


class Plain(ember.Tensor):
    """A subclass that changes nothing."""


class Stand:
    """Not a tensor, but takes the place of one."""

    answer: object = "mine"

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.answer if self.answer is NotImplemented else (self.answer, func)


@pytest.fixture
def x():
    Logged.calls.clear()
    return ember.ones(2, 2).as_subclass(Logged)


@pytest.mark.parametrize(
    "run, name",
    [
        (lambda x: x + 1, "Tensor.add"),
        (lambda x: 1 + x, "Tensor.add"),
        (lambda x: 1 - x, "Tensor.__rsub__"),
        (lambda x: 2**x, "Tensor.__rpow__"),
        (lambda x: x @ x, "Tensor.matmul"),
        (lambda x: -x, "Tensor.neg"),
        (lambda x: x < 1, "Tensor.lt"),
        (lambda x: x[0], "Tensor.__getitem__"),
        (lambda x: x.sin(), "Tensor.sin"),
        (lambda x: ember.sin(x), "sin"),
        (lambda x: ember.cat([ember.ones(1, 2), x]), "cat"),
        (lambda x: ember.add(input=x, other=1), "add"),
        (lambda x: x.T, "Tensor.T.__get__"),
        (lambda x: x.data, "Tensor.data.__get__"),
        (lambda x: x.float(), "Tensor.float"),
        (lambda x: x.new_zeros(3), "Tensor.new_zeros"),
        (lambda x: ember.zeros_like(x), "zeros_like"),
        (lambda x: ember.nn.functional.linear(x, x), "nn.functional.linear"),
        (lambda x: x.add_(1), "Tensor.add_"),
    ],
)
def test_calls_are_seen_and_results_have_the_type(x, run, name):
    made = run(x)
    assert Logged.calls[0] == "torch." + name
    assert type(made) is Logged


def test_attributes_and_conversions_are_seen(x):
    assert tuple(x.shape) == (2, 2) and x.dim() == 2 and len(x) == 2
    assert float(x.sum()) == 4.0 and bool(x.any()) and x.tolist() == [[1, 1], [1, 1]]
    names = ["Tensor.shape.__get__", "Tensor.dim", "Tensor.__len__", "Tensor.tolist"]
    assert {"torch." + n for n in names} <= set(Logged.calls)


def test_assignment_is_seen(x):
    x[0] = 3
    x += 1
    assert Logged.calls == ["torch.Tensor.__setitem__", "torch.Tensor.add_"]
    assert x.as_subclass(ember.Tensor).tolist() == [[4, 4], [2, 2]]


def test_subclass_without_a_handler_keeps_its_type():
    x = ember.arange(4.0).reshape(2, 2).as_subclass(Plain)
    assert type(x * 2) is Plain and type(x.max(0).values) is Plain
    assert [type(part) for part in x.split(1)] == [Plain, Plain]
    assert type(x.grad) is type(None) and type(x.shape) is ember.Size


def test_grad_of_a_subclass_keeps_its_own_type():
    x = ember.ones(2).as_subclass(Plain).requires_grad_()
    (x * 3).sum().backward()
    assert type(x.grad) is ember.Tensor and x.grad.tolist() == [3, 3]


def test_parameters_are_left_alone():
    class Weight(ember.nn.Parameter):
        pass

    for cls in (ember.nn.Parameter, Weight):
        assert type(cls(ember.ones(2)) + 1) is ember.Tensor
    assert not overrides.has_torch_function((ember.nn.Parameter(ember.ones(1)),))


def test_subclass_comes_before_its_base_and_strangers_decline():
    class More(Logged):
        calls: list = []

    a, b = ember.ones(2).as_subclass(Logged), ember.ones(2).as_subclass(More)
    assert type(a + b) is More
    with pytest.raises(TypeError, match="unsupported operand"):
        ember.ones(2).as_subclass(Plain) + a
    with pytest.raises(TypeError, match=r"failed for 'torch\.add'"):
        ember.add(ember.ones(2).as_subclass(Plain), a)


def test_any_object_can_take_over():
    stand = Stand()
    for call, func in [
        (lambda: ember.sin(stand), ember.sin),
        (lambda: ember.ones(1) + stand, ember.Tensor.add),
        (lambda: stand * ember.ones(1), ember.Tensor.mul),
        (lambda: ember.cat([ember.ones(1), stand]), ember.cat),
        (lambda: ember.ones(3)[stand], ember.Tensor.__getitem__),
        (lambda: ember.clamp(ember.ones(1), min=stand), ember.clamp),
    ]:
        assert call() == ("mine", func)


def test_objects_that_decline():
    stand = Stand()
    stand.answer = NotImplemented
    with pytest.raises(TypeError, match="all __torch_function__ handlers"):
        ember.sin(stand)
    with pytest.raises(TypeError, match="unsupported operand"):
        ember.ones(1) + stand


def test_handlers_may_raise():
    class Never(ember.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise KeyError("no")

    with pytest.raises(KeyError):
        ember.ones(1).as_subclass(Never) + 1
    assert _C._is_torch_function_enabled()


def test_switching_off(x):
    with _C.DisableTorchFunctionSubclass():
        assert type(x + 1) is ember.Tensor and not Logged.calls
        assert not overrides.has_torch_function_unary(x)
    assert overrides.has_torch_function_unary(x)


def test_functions_of_python_take_part(x):
    def double(a, scale=2):
        if overrides.has_torch_function_variadic(a):
            return overrides.handle_torch_function(double, (a,), a, scale=scale)
        return a * scale

    stand = Stand()
    assert double(stand) == ("mine", double)
    assert type(double(x)) is Logged
    wrapped = overrides.wrap_torch_function(lambda a: (a,))(lambda a: a * 2)
    assert wrapped(stand) == ("mine", wrapped)
    assert wrapped(ember.ones(1)).tolist() == [2]


class Count(overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(overrides.resolve_name(func))
        return func(*args, **(kwargs or {}))


def test_modes_see_every_call_of_their_thread():
    outer, inner = Count(), Count()
    x = ember.ones(2)
    with outer:
        with inner:
            (x + 1).sum()
            assert overrides._get_current_function_mode() is inner
        ember.zeros(1)
        other = threading.Thread(target=lambda: x * 2)
        other.start()
        other.join()
    x.exp()
    assert inner.seen == ["torch.Tensor.add", "torch.Tensor.sum"]
    assert outer.seen == [*inner.seen, "torch.zeros"]
    assert overrides._get_current_function_mode() is None


def test_modes_change_results_and_survive_errors():
    class Seven(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is ember.sin:
                return 7
            raise ValueError("seen")

    with Seven():
        assert ember.sin(ember.ones) == 7
        with pytest.raises(ValueError, match="seen"):
            ember.cos(1)
        with _C.DisableTorchFunction():
            assert ember.zeros(1).item() == 0
        assert ember.sin(1) == 7
    assert ember.zeros(1).item() == 0


def test_names_and_lists():
    functions = overrides.get_overridable_functions()
    assert ember.add in functions[ember] and ember.Tensor.add in functions[ember.Tensor]
    assert ember.zeros not in functions[ember]
    assert overrides.resolve_name(ember.nn.functional.relu).endswith("functional.relu")
    assert overrides.is_tensor_method_or_property(ember.Tensor.shape.__get__)
    assert overrides.is_tensor_like(Stand()) and not overrides.is_tensor_like(3)
    assert overrides.get_testing_overrides()[ember.add](1, b=2) == -1


def test_a_function_is_called_from_its_override():
    names = []

    class Loud(ember.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return ember.overrides.redispatch_function(func, types, args, kwargs)

    x = ember.ones(2).as_subclass(Loud)
    assert type(x + 1) is ember.Tensor and names == ["add"]
    names.clear()
    ember.einsum("i,i->", x, x)
    assert names[0] == "einsum" and len(names) > 1 and "einsum" not in names[1:]
