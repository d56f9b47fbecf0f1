"""Models as functions: functorch's ways, and tensors put in place of a module's."""

import pytest

import ember
from ember import func, nn
from ember._compat.stateless_optim import swap_in_optimizer_params_and_state
from ember.func import _functorch


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.weight = self.linear.weight
        self.register_buffer("seen", ember.ones(2))

    def forward(self, x):
        return self.linear(x) @ self.weight + self.seen


def test_a_model_as_a_function_of_its_tensors():
    model = Tied()
    f, params, buffers = func.make_functional_with_buffers(model)
    x = ember.rand(3, 2)
    assert len(params) == 2 and len(buffers) == 1
    assert ember.equal(f(params, buffers, x), model(x))
    doubled = [2 * p for p in params]
    assert not ember.equal(f(doubled, buffers, x), model(x))
    assert f.stateless_model is not model
    with pytest.raises(RuntimeError, match="has buffers"):
        func.make_functional(model)


def test_tracking_can_be_left_out():
    f, params = func.make_functional(nn.Linear(2, 1), disable_autograd_tracking=True)
    assert not any(p.requires_grad for p in params)
    assert isinstance(f, func.FunctionalModule)


def test_many_models_as_one():
    models = [Tied() for _ in range(3)]
    f, params, buffers = func.combine_state_for_ensemble(models)
    xs = ember.rand(3, 4, 2)
    made = func.vmap(f)(params, buffers, xs)
    expected = ember.stack([m(x) for m, x in zip(models, xs)])
    assert ember.allclose(made, expected, atol=1e-6)
    for wrong, words in (
        ([], "at least one"),
        ([models[0], Tied().eval()], "training/eval"),
        ([models[0], nn.Linear(1, 1)], "same class"),
    ):
        with pytest.raises(RuntimeError, match=words):
            func.combine_state_for_ensemble(wrong)


def test_models_made_as_functions():
    params, f, names = _functorch.functional_init(nn.Linear, (4,))(3, 2)
    assert params[0].shape == (4, 2, 3) and names == ("weight", "bias")
    x = ember.rand(4, 5, 3)
    wanted = x @ params[0].mT + params[1].unsqueeze(1)
    assert ember.allclose(func.vmap(f)(params, (x,)), wanted, atol=1e-6)
    make = _functorch.functional_init_with_buffers(nn.BatchNorm1d)
    params, buffers, f, names, buffer_names = make(3)
    assert names == ("weight", "bias") and "running_mean" in buffer_names
    assert f(params, buffers, (ember.rand(5, 3),)).shape == (5, 3)
    with pytest.raises(RuntimeError, match="buffers"):
        _functorch.functional_init(nn.BatchNorm1d)(3)


# --- functional_call ------------------------------------------------------------------


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = ember.ones(1)
        self.step = 0.0
        self.inner = nn.Linear(1, 1, bias=False)

    def forward(self, x):
        extra = getattr(self, "extra", 0)
        return self.inner(x) * self.factor + extra


def test_plain_and_new_attributes_are_replaced_for_the_call():
    model, x = Scale(), ember.ones(1, 1)
    state = {"factor": ember.full((1,), 3.0), "inner.weight": ember.ones(1, 1)}
    assert func.functional_call(model, state, x).item() == 3
    assert func.functional_call(model, {**state, "extra": ember.ones(1)}, x) == 4
    assert model.factor.item() == 1 and not hasattr(model, "extra")


@pytest.mark.parametrize(
    "state, kind, words",
    [
        ({"step": ember.ones(1)}, TypeError, "attribute `step`: 0.0"),
        ({"inner.weight": 3}, TypeError, "3 is not an instance"),
        ({"outer.weight": ember.ones(1)}, AttributeError, "no attribute `outer`"),
    ],
)
def test_what_cannot_be_replaced_is_refused(state, kind, words):
    model = Scale()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    with pytest.raises(kind, match=words):
        func.functional_call(model, state, ember.ones(1, 1))
    after = model.state_dict()
    assert all(ember.equal(before[k], after[k]) for k in before)


def test_modules_in_a_circle():
    model = nn.Linear(1, 1)
    model.inner = model
    state = {"inner.weight": ember.ones(1, 1), "bias": ember.zeros(1)}
    called = func.functional_call(model, state, ember.ones(1, 1), tie_weights=False)
    assert called.item() == 1


def test_strict_names_are_sorted():
    with pytest.raises(RuntimeError, match=r"'linear.bias', 'linear.weight'"):
        func.functional_call(Tied(), {}, ember.ones(1, 2), strict=True)


def test_repeated_names_are_listed():
    state = {"weight": ember.ones(1, 1)}
    with pytest.raises(ValueError, match=r"\['weight'\] appeared"):
        func.functional_call(nn.Linear(1, 1), (state, state), ember.ones(1, 1))


# --- an optimizer on other parameters -------------------------------------------------


def used_optimizer():
    w = ember.ones(2, requires_grad=True)
    optimizer = ember.optim.Adam([w], lr=0.5)
    w.sum().backward()
    optimizer.step()
    return w, optimizer


def test_an_optimizer_steps_elsewhere_and_comes_back():
    w, optimizer = used_optimizer()
    before, state = w.detach().clone(), optimizer.state
    other = ember.zeros(2, requires_grad=True)
    other.grad = ember.ones(2)
    given = optimizer.state_dict()
    with swap_in_optimizer_params_and_state(optimizer, {"w": other}, given):
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 9.0
    assert ember.equal(w.detach(), before) and (other != 0).all()
    assert optimizer.state is state and optimizer.param_groups[0]["lr"] == 0.5
    assert optimizer.param_groups[0]["params"] == [w]


def test_states_of_another_kind_are_refused():
    _, optimizer = used_optimizer()
    params, good = {"w": ember.zeros(2)}, optimizer.state_dict()
    for bad, words in (
        ({**good, "state": []}, "to be a dict"),
        ({**good, "param_groups": []}, "different number"),
        ({**good, "state": {5: {}}}, r"extra keys \[5\]"),
    ):
        swapped = swap_in_optimizer_params_and_state(optimizer, params, bad)
        with pytest.raises(RuntimeError, match=words), swapped:
            pass
    fresh = ember.optim.Adam([ember.ones(1, requires_grad=True)])
    swapped = swap_in_optimizer_params_and_state(fresh, params, fresh.state_dict())
    with pytest.raises(RuntimeError, match="initialized"), swapped:
        pass
