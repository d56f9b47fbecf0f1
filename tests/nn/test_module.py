"""Module: attributes, traversal, hooks, state, moving and text."""

import copy
import io
import pickle

import pytest

import ember
from ember import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.scale = nn.Parameter(ember.ones(1))
        self.register_buffer("count", ember.zeros(1))
        self.register_buffer("scratch", ember.zeros(1), persistent=False)
        self.block = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x, gain=1.0):
        return self.block(self.fc(x)) * self.scale * gain


def test_names():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == [
        "scale",
        "fc.weight",
        "fc.bias",
        "block.0.weight",
        "block.0.bias",
    ]
    assert [n for n, _ in net.named_buffers()] == ["count", "scratch"]
    assert [n for n, _ in net.named_modules()] == [
        "",
        "fc",
        "block",
        "block.0",
        "block.1",
    ]
    assert [n for n, _ in net.named_children()] == ["fc", "block"]
    assert net.get_submodule("block.0") is net.block[0]
    assert net.get_parameter("fc.bias") is net.fc.bias
    with pytest.raises(AttributeError, match="has no attribute `x`"):
        net.get_submodule("x.y")


def test_shared_parameters_are_listed_once():
    net = Net()
    net.block[0].weight = net.block[0].weight
    net.again = net.fc
    assert len(list(net.parameters())) == 5
    assert len(list(net.named_parameters(remove_duplicate=False))) == 7


def test_attribute_rules():
    net = Net()
    with pytest.raises(TypeError, match="cannot assign 'int' as parameter 'scale'"):
        net.scale = 3
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nope'"):
        net.nope
    with pytest.raises(KeyError, match="t contain"):
        net.register_buffer("a.b", None)
    with pytest.raises(KeyError, match="already exists"):
        net.register_parameter("forward", None)
    net.scale = None
    assert net.scale is None and "scale" in net._parameters
    del net.fc
    assert "fc" not in net._modules
    net.plain = 5
    net.plain = nn.ReLU()
    assert "plain" in net._modules and "plain" not in net.__dict__

    class Early(nn.Module):
        def __init__(self):
            self.p = nn.Parameter(ember.ones(1))

    with pytest.raises(AttributeError, match=r"before Module\.__init__"):
        Early()


def test_state_dict_round_trip():
    a, b = Net(), Net()
    state = a.state_dict()
    assert list(state) == [
        "scale",
        "count",
        "fc.weight",
        "fc.bias",
        "block.0.weight",
        "block.0.bias",
    ]
    assert not state["scale"].requires_grad
    assert state._metadata["fc"] == {"version": 1}
    assert str(b.load_state_dict(state)) == "<All keys matched successfully>"
    assert b.fc.weight.tolist() == a.fc.weight.tolist()


def test_load_errors():
    net = Net()
    state = net.state_dict()
    state["extra"] = state.pop("scale")
    state["fc.bias"] = ember.zeros(7)
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    text = str(error.value)
    assert "Error(s) in loading state_dict for Net:" in text
    assert 'Missing key(s) in state_dict: "scale". ' in text
    assert 'Unexpected key(s) in state_dict: "extra". ' in text
    assert "size mismatch for fc.bias: copying a param with shape" in text
    del state["fc.bias"]
    result = net.load_state_dict(state, strict=False)
    assert result.missing_keys == ["scale", "fc.bias"]
    assert result.unexpected_keys == ["extra"]


def test_load_with_assign():
    net = nn.Linear(2, 2, device="meta")
    state = nn.Linear(2, 2).state_dict()
    net.load_state_dict(state, assign=True)
    assert isinstance(net.weight, nn.Parameter) and net.weight.device.type == "cpu"


def test_extra_state():
    class Counted(nn.Module):
        value = 1

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]

    a, b = Counted(), Counted()
    a.value = 7
    assert a.state_dict() == {"_extra_state": {"value": 7}}
    b.load_state_dict(a.state_dict())
    assert b.value == 7


def test_state_hooks():
    net, seen = nn.Linear(1, 1), []
    net.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append("pre"))
    net.register_state_dict_post_hook(lambda m, s, p, meta: s.update(more=1))
    net.register_load_state_dict_pre_hook(lambda m, s, *rest: s.pop("more"))
    net.register_load_state_dict_post_hook(lambda m, keys: seen.append(keys))
    state = net.state_dict()
    assert state["more"] == 1
    net.load_state_dict(state)
    assert seen[0] == "pre" and seen[1].missing_keys == []


def test_forward_hooks():
    net, seen = Net(), []
    x = ember.ones(1, 2)
    want = net(x).tolist()
    pre = net.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    assert net(x).tolist() == net.forward(x * 0).tolist()
    pre.remove()
    net.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"gain": 2.0}), with_kwargs=True
    )
    post = net.register_forward_hook(lambda m, args, out: out + 1)
    got = net(x, gain=5.0)
    assert got.tolist()[0] == pytest.approx([2 * v + 1 for v in want[0]], abs=1e-5)
    post.remove()
    net.register_forward_hook(
        lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True
    )
    net(x)
    assert seen == [{"gain": 2.0}]


def test_hook_order_and_always_call():
    order = []
    net = nn.Identity()
    net.register_forward_hook(lambda *a: order.append(1))
    net.register_forward_hook(lambda *a: order.append(0), prepend=True)
    net(ember.ones(1))
    assert order == [0, 1]

    class Fails(nn.Module):
        def forward(self):
            raise KeyError

    bad = Fails()
    bad.register_forward_hook(lambda *a: order.append("never"))
    bad.register_forward_hook(lambda *a: order.append("always"), always_call=True)
    with pytest.raises(KeyError):
        bad()
    assert order == [0, 1, "always"]


def test_backward_hooks():
    net, seen = nn.Linear(2, 1, bias=False), []
    with ember.no_grad():
        net.weight.fill_(3.0)
    net.register_full_backward_pre_hook(lambda m, grad_out: (grad_out[0] * 10,))
    net.register_full_backward_hook(
        lambda m, gi, go: seen.append((gi[0].tolist(), go[0].tolist()))
    )
    x = ember.ones(1, 2, requires_grad=True)
    net(x).sum().backward()
    assert seen == [([[30.0, 30.0]], [[10.0]])]
    assert x.grad.tolist() == [[30.0, 30.0]]
    assert net.weight.grad.tolist() == [[10.0, 10.0]]


def test_backward_hook_changes_the_gradient_or_sees_no_input():
    net, seen = nn.Linear(2, 1), []
    handle = net.register_full_backward_hook(lambda m, gi, go: (gi[0] * 0,))
    x = ember.ones(1, 2, requires_grad=True)
    net(x).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]]
    handle.remove()
    net.register_full_backward_hook(lambda m, gi, go: seen.append(gi))
    net(ember.ones(1, 2)).sum().backward()
    assert seen == [(None,)]


def test_global_hooks():
    seen = []
    hooks = nn.modules.module
    with hooks.register_module_forward_hook(lambda m, a, out: seen.append(type(m))):
        nn.Identity()(ember.ones(1))
    nn.Identity()(ember.ones(1))
    assert seen == [nn.Identity]


def test_train_and_eval_reach_children():
    net = Net().eval()
    assert not net.block[1].training
    assert net.train().block[1].training
    with pytest.raises(ValueError, match="boolean"):
        net.train(1)


def test_conversion():
    net = Net()
    weight = net.fc.weight
    net(ember.ones(1, 2)).sum().backward()
    net.to(ember.float64)
    assert net.fc.weight is weight and weight.dtype == ember.float64
    assert net.count.dtype == ember.float64 and weight.grad.dtype == ember.float64
    assert net.half().fc.bias.dtype == ember.float16
    assert net.float().fc.bias.dtype == ember.float32
    with pytest.raises(TypeError, match="only accepts floating point"):
        net.to(ember.int32)
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_zero_grad_and_apply():
    net = Net()
    net(ember.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.fc.weight.grad.abs().sum().item() == 0
    net.zero_grad()
    assert net.fc.weight.grad is None
    order = []
    net.apply(lambda m: order.append(type(m).__name__))
    assert order == ["Linear", "Linear", "ReLU", "Sequential", "Net"]


def test_copy_and_pickle():
    net = Net()
    twin = copy.deepcopy(net)
    assert twin.fc.weight is not net.fc.weight
    assert twin.fc.weight.tolist() == net.fc.weight.tolist()
    buffer = io.BytesIO()
    ember.save(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), buffer)
    buffer.seek(0)
    loaded = ember.load(buffer, weights_only=False)
    assert repr(loaded[0]) == "Linear(in_features=2, out_features=2, bias=True)"
    with pytest.raises(pickle.UnpicklingError):
        ember.load(io.BytesIO(buffer.getvalue()))


def test_repr():
    assert repr(Net()) == (
        "Net(\n"
        "  (fc): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (block): Sequential(\n"
        "    (0): Linear(in_features=3, out_features=3, bias=True)\n"
        "    (1): ReLU()\n"
        "  )\n"
        ")"
    )
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    )


def test_unknown_arguments_and_missing_forward():
    with pytest.raises(TypeError, match=r"Module\.__init__"):
        nn.Module(1)
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_a_converted_module_forgets_graphs_made_before():
    layer = nn.Linear(2, 2)
    before = layer(ember.ones(1, 2))
    layer.double()
    layer(ember.ones(1, 2).double()).sum().backward()
    assert layer.weight.grad.dtype == ember.float64
    del before
    layer(ember.ones(1, 2).double()).sum().backward()
    assert layer.weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


# --- attributes and calls, which are found and made in C++ ----------------------------


class Wrapped(nn.Module):
    """Asks its inner module for what it has not, as wrappers do."""

    kind = "wrapper"

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.register_buffer("scale", ember.ones(1))

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def forward(self, x, times=1):
        return x * times


def test_members_are_found_where_they_are():
    layer = nn.Linear(2, 3)
    assert layer.weight is layer._parameters["weight"]
    layer.weight_copy = 5
    assert layer.weight_copy == 5
    del layer._parameters["weight"]
    with pytest.raises(
        AttributeError, match="'Linear' object has no attribute 'weight'"
    ):
        _ = layer.weight
    assert getattr(layer, "weight", None) is None
    assert not hasattr(layer, "weight")


def test_a_class_may_have_a_getattr_of_its_own():
    m = Wrapped()
    assert m.inner.weight is m.weight
    assert m.scale is m._buffers["scale"]
    assert m.kind == "wrapper"
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'none'"):
        _ = m.none


def test_a_getattr_may_come_later_and_go():
    class Late(nn.Module):
        pass

    m = Late()
    Late.__getattr__ = lambda self, name: name + "!"
    assert m.anything == "anything!"
    del Late.__getattr__
    with pytest.raises(AttributeError):
        _ = m.anything


def test_properties_and_class_attributes_come_first():
    class Own(nn.Module):
        size = 1

        @property
        def twice(self):
            return 2 * self.size

    m = Own()
    assert (m.size, m.twice) == (1, 2)
    m.size = 4
    assert m.twice == 8
    assert Own.size == 1


def test_a_property_that_fails_is_reported():
    class Broken(nn.Module):
        @property
        def broken(self):
            return self.missing

    with pytest.raises(AttributeError):
        _ = Broken().broken


def test_before_init_there_are_no_members():
    m = nn.Linear.__new__(nn.Linear)
    with pytest.raises(AttributeError, match="no attribute 'weight'"):
        _ = m.weight


def test_calls_reach_the_right_forward():
    m = Wrapped()
    x = ember.ones(2)
    assert m(x).tolist() == [1.0, 1.0]
    assert m(x, 2).tolist() == m(x, times=2).tolist() == m(x=x, times=2).tolist()
    m.forward = lambda x: x + 10  # of this object alone
    assert m(x).tolist() == [11.0, 11.0]
    del m.forward
    assert nn.Module.__call__(m, x).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="forward"):
        m()
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_many_arguments_and_static_forwards():
    class Many(nn.Module):
        def forward(self, *args, **kwargs):
            return args, kwargs

    class Static(nn.Module):
        @staticmethod
        def forward(x):
            return x + 1

    assert Many()(*range(20), a=1) == (tuple(range(20)), {"a": 1})
    assert Static()(1) == 2


def test_a_call_of_super():
    class Loud(Wrapped):
        def __call__(self, *args):
            return super().__call__(*args) * 3

    assert Loud()(ember.ones(1)).tolist() == [3.0]


def test_a_global_hook_sees_calls():
    seen = []
    hook = nn.modules.module.register_module_forward_hook(
        lambda module, args, output: seen.append(type(module).__name__)
    )
    try:
        nn.ReLU()(ember.ones(1))
    finally:
        hook.remove()
    nn.ReLU()(ember.ones(1))
    assert seen == ["ReLU"]
