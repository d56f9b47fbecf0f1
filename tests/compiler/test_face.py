"""`ember.compile` as programs see it: arguments and errors, functions, modules,
stances, `disable`. That results are right is in test_sound.py."""

import copy
import pickle
import subprocess
import sys

import pytest

import ember
from ember import _dynamo, nn
from ember._dynamo import exc


def double(x):
    """Twice."""
    return x * 2


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.register_buffer("seen", ember.zeros(()))
        self.calls = 0

    def forward(self, x, scale=1.0):
        self.calls += 1
        self.seen += 1
        return self.linear(x) * scale


# --- arguments ---


@pytest.mark.parametrize(
    "given,error,text",
    [
        ({"backend": "fast"}, exc.InvalidBackend, "Invalid backend: 'fast'"),
        ({"backend": 3}, exc.InvalidBackend, "Invalid backend: 3"),
        ({"mode": "fastest"}, RuntimeError, "Unrecognized mode=fastest, should be one"),
        ({"mode": "default", "options": {}}, RuntimeError, "Either mode or options"),
        (
            {"options": {"speed": 1}},
            RuntimeError,
            "Unexpected optimization option speed",
        ),
        (
            {"options": {"max_autotune": "yes"}},
            RuntimeError,
            "Unexpected type of attr max_autotune, got str should be bool",
        ),
        ({"dynamic": 3}, AssertionError, "dynamic is True, False or None, not 3"),
        (
            {"recompile_limit": 0},
            ValueError,
            "recompile_limit is an int above 0, not 0",
        ),
        ({"speed": 1}, TypeError, "unexpected keyword argument 'speed'"),
    ],
)
def test_bad_arguments(given, error, text):
    for decorate in (
        lambda: ember.compile(**given),
        lambda: ember.compile(double, **given),
    ):
        with pytest.raises(error, match=text):
            decorate()


@pytest.mark.parametrize("model", [3, "text", ember.ones(1)])
def test_only_what_can_be_called_is_compiled(model):
    with pytest.raises(AssertionError, match="callable function is expected"):
        ember.compile(model)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"fullgraph": True},
        {"dynamic": True},
        {"backend": "inductor", "mode": "default"},
        {"mode": "reduce-overhead"},
        {"mode": "max-autotune"},
        {"mode": "max-autotune-no-cudagraphs"},
        {"options": {"max_autotune": True, "epilogue_fusion": False}},
        {"backend": "eager", "mode": "ignored"},
        {"backend": "aot_eager"},
        {"name": "region", "isolate_recompiles": True},
    ],
)
def test_ways_to_compile(given):
    x = ember.arange(5.0)
    for f in (ember.compile(double, **given), ember.compile(**given)(double)):
        assert f is not double and f.__name__ == "double" and f.__doc__ == "Twice."
        assert (f(x) == 2 * x).all()
        assert f._torchdynamo_orig_callable is double


def test_disabled_at_once():
    assert ember.compile(double, disable=True) is double
    assert ember.compile(disable=True)(double) is double
    model = nn.Linear(1, 1)
    assert ember.compile(model, disable=True) is model


def test_compiling_twice_is_compiling_once():
    once = ember.compile(double)
    twice = ember.compile(once)
    assert twice._torchdynamo_orig_callable is double
    model = nn.Linear(1, 1)
    assert ember.compile(ember.compile(model))._orig_mod is model


def test_methods_and_callable_objects():
    class Scale:
        def __init__(self, by):
            self.by = by

        @ember.compile
        def method(self, x):
            return x * self.by

        def __call__(self, x):
            return x * self.by

    three = Scale(3)
    assert three.method(ember.ones(1)) == 3
    assert ember.compile(three)(ember.ones(1)) == 3
    three.by = 4
    assert three.method(ember.ones(1)) == 4

    compiled = ember.compile(Scale)
    assert compiled is Scale and compiled(5)(ember.ones(1)) == 5


def test_the_default_backend():
    assert ember.compiler.get_default_backend() == "inductor"
    handed = []

    def backend(module, inputs):
        handed.append(module)
        return module.forward

    ember.compiler.set_default_backend(backend)
    try:
        assert ember.compiler.get_default_backend() is backend
        ember.compile(double)(ember.ones(1))
    finally:
        ember.compiler.set_default_backend(None)
    assert len(handed) == 1 and ember.compiler.get_default_backend() == "inductor"
    with pytest.raises(exc.InvalidBackend):
        ember.compiler.set_default_backend("fast")


# --- modules ---


def test_a_compiled_module_is_the_module():
    model = Counts()
    compiled = ember.compile(model)
    assert isinstance(compiled, _dynamo.OptimizedModule)
    assert compiled._orig_mod is model and compiled.linear is model.linear
    x = ember.randn(4, 3)
    assert (compiled(x, scale=2.0) == model.linear(x) * 2).all()
    assert model.calls == 1 and compiled.calls == 1 and model.seen == 1
    assert next(compiled.parameters()) is model.linear.weight
    assert [n for n, _ in compiled.named_buffers()] == ["_orig_mod.seen"]
    compiled.extra = 3
    assert model.extra == 3
    del compiled.extra
    assert not hasattr(model, "extra")
    with pytest.raises(
        AttributeError, match="'Counts' object has no attribute 'other'"
    ):
        _ = compiled.other
    with pytest.raises(TypeError, match="Counts does not support len"):
        len(compiled)
    assert len(ember.compile(nn.Sequential(model))) == 1
    assert "linear" in dir(compiled) and "forward" in dir(compiled)


def test_modes_pass_through():
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 2))
    compiled = ember.compile(model)
    compiled.eval()
    assert not model.training and not model[0].training and not compiled.training
    model.train()
    assert compiled.training
    compiled.requires_grad_(False)
    assert not any(p.requires_grad for p in model.parameters())


def test_states_have_the_prefix():
    model = Counts()
    compiled = ember.compile(model)
    state = compiled.state_dict()
    assert list(state) == [f"_orig_mod.{name}" for name in model.state_dict()]
    other = ember.compile(Counts())
    other.load_state_dict(state)
    assert (other.linear.weight == model.linear.weight).all()
    with pytest.raises(RuntimeError, match=r"_orig_mod\.linear\.weight"):
        other.load_state_dict(model.state_dict())


def test_copies_and_pickles():
    compiled = ember.compile(Counts(), mode="max-autotune")
    x = ember.randn(4, 3)
    want = compiled(x)
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert (
            type(other) is type(compiled) and other._orig_mod is not compiled._orig_mod
        )
        assert (other(x) == want).all()
        assert other.get_compiler_config() == compiled.get_compiler_config()
        assert other.calls == 2 and compiled.calls == 1


def test_a_module_compiled_in_place():
    model = Counts()
    order = []
    model.register_forward_pre_hook(lambda *_: order.append("before"))
    model.register_forward_hook(lambda *_: order.append("after"))
    assert model.compile(mode="default") is None
    x = ember.randn(4, 3)
    want = model.linear(x)
    assert (model(x) == want).all() and order == ["before", "after"]
    assert list(model.state_dict()) == ["seen", "linear.weight", "linear.bias"]
    twin = copy.deepcopy(model)
    twin.linear.weight.data.zero_()
    assert (model(x) == want).all() and (twin(x) == twin.linear.bias).all()
    assert twin.calls == 2 and model.calls == 2  # each its own
    assert pickle.loads(pickle.dumps(nn.Linear(1, 1)))(ember.ones(1)).shape == (1,)
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        model.compile(mode="fastest")


def test_states_for_pickling_are_copies():
    class Forgets(nn.Linear):
        def __getstate__(self):
            state = super().__getstate__()
            del state["in_features"]
            return state

    model = Forgets(2, 2)
    model.compile()
    assert "_compiled_call_impl" not in model.__getstate__()
    assert model.in_features == 2 and model(ember.ones(2)).shape == (2,)


def test_hooks_of_a_compiled_module():
    model = nn.Linear(2, 2)
    compiled = ember.compile(model)
    order = []
    model.register_forward_hook(lambda *_: order.append("inner"))
    compiled.register_forward_hook(lambda *_: order.append("inner too"))
    compiled(ember.ones(2))
    assert order == ["inner", "inner too"]


# --- not compiled ---


def test_disable():
    f = ember.compiler.disable(double, reason="because")
    assert f(ember.ones(1)) == 2 and f.__name__ == "double"
    assert ember.compile(f) is f
    assert ember.compiler.disable(reason="also")(double)(ember.ones(1)) == 2
    model = ember.compiler.disable(nn.Linear(1, 1))
    assert model(ember.ones(1)).shape == (1,)
    with pytest.raises(AssertionError, match="callable function is expected"):
        ember.compiler.disable(3)


def test_disable_reaches_what_is_called():
    handed = []

    @ember.compile(backend=lambda module, inputs: handed.append(1) or module.forward)
    def inner(x):
        return x + 1

    ember.compiler.disable(lambda x: inner(x))(ember.ones(1))
    assert not handed

    def outer(x):
        return inner(x)

    assert ember.compiler.disable(outer, recursive=False) is outer
    assert ember.compile(outer) is outer
    outer(ember.ones(1))
    assert handed


def test_stances():
    handed = []

    @ember.compile(backend=lambda module, inputs: handed.append(1) or module.forward)
    def f(x):
        return x + 1

    with ember.compiler.set_stance("force_eager"):
        f(ember.ones(1))
        assert not handed
    f(ember.ones(1))
    assert len(handed) == 1
    with ember.compiler.set_stance("eager_on_recompile"):
        f(ember.ones(2))
    assert len(handed) == 1
    with (
        ember.compiler.set_stance("fail_on_recompile"),
        pytest.raises(RuntimeError, match="Detected recompile"),
    ):
        f(ember.ones(2))

    @ember.compiler.set_stance("force_eager")
    def eager(x):
        return f(x)

    eager(ember.ones(2))
    assert len(handed) == 1
    with ember.compiler.set_stance(force_backend="eager"):
        f(ember.ones(2))
    assert len(handed) == 1
    f(ember.ones(2))
    assert len(handed) == 2
    with pytest.raises(RuntimeError, match=r"invalid torch\.compile stance 'fast'"):
        ember.compiler.set_stance("fast")
    with pytest.raises(RuntimeError, match="cannot have force_backend"):
        ember.compiler.set_stance("force_eager", force_backend="eager")


def test_options_of_dynamo():
    handed = []

    @ember.compile(backend=lambda module, inputs: handed.append(1) or module.forward)
    def f(x):
        return x + 1

    with _dynamo.config.patch(disable=True):
        f(ember.ones(1))
    assert not handed and not _dynamo.config.disable
    with _dynamo.config.patch("recompile_limit", 2):
        for n in range(1, 5):
            assert f(ember.ones(n)).sum() == 2 * n
    assert len(handed) == 2
    with pytest.raises(AttributeError, match="no_such_option does not exist"):
        _dynamo.config.patch(no_such_option=1)


def test_lists():
    assert ember.compiler.list_backends() == ["inductor"]
    assert {"inductor", "eager", "aot_eager"} <= set(_dynamo.list_backends(None))
    assert set(ember.compiler.__all__) <= set(dir(ember.compiler))
    from ember import _inductor

    assert _inductor.list_mode_options("max-autotune")["max_autotune"]
    assert "epilogue_fusion" in _inductor.list_options()


def test_import_of_ember_loads_none_of_it():
    code = "import ember, sys; print([m for m in sys.modules if '_face' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_a_function_that_was_idle_is_looked_at_again():
    regions = []

    def f(x):
        regions.append(ember._C._lazy_is_open())
        return (x * 2 + 1).sqrt()

    g = ember.compile(f)
    for _ in range(100):
        g(ember.ones(4))
    assert all(regions[:32]) and 0 < sum(regions[32:]) < 10
    regions.clear()
    x = ember.linspace(0, 1, 20_000)
    for _ in range(40):
        assert ember.equal(g(x), (x * 2 + 1).sqrt())
    assert all(regions[16:])
