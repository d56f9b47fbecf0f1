"""What functorch, the older name of this package, has beside: models as functions of
lists of tensors, and many models as one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ember
from ember import Tensor
from ember.func._modules import functional_call
from ember.nn import Module


class FunctionalModuleWithBuffers(Module):
    """A model to call with its parameters and buffers as first arguments."""

    def __init__(
        self, stateless_model: Module, param_names: Sequence, buffer_names: Sequence
    ):
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)
        self.buffer_names = tuple(buffer_names)

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        """What the model gives for `args`."""
        state = dict(zip(self.param_names, params))
        state |= zip(self.buffer_names, buffers)
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A model to call with its parameters as the first argument."""

    def __init__(self, stateless_model: Module, param_names: Sequence):
        super().__init__(stateless_model, param_names, ())

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        """What the model gives for `args`."""
        return super().forward(params, (), *args, **kwargs)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple:
    """(f, parameters, buffers) with `f(parameters, buffers, *args)`.

    >>> import ember
    >>> f, params, buffers = make_functional_with_buffers(ember.nn.BatchNorm1d(2))
    >>> len(params), len(buffers)
    (2, 3)
    """
    # Looked up once: tied tensors have one name each.
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    function = FunctionalModuleWithBuffers(copy.deepcopy(model), [*params], [*buffers])
    return function, _state(params, disable_autograd_tracking), tuple(buffers.values())


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple:
    """(f, parameters) with `f(parameters, *args)`.

    >>> import ember
    >>> f, params = make_functional(ember.nn.Linear(2, 1))
    >>> f(params, ember.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    if next(iter(model.buffers()), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    params = dict(model.named_parameters())
    function = FunctionalModule(copy.deepcopy(model), [*params])
    return function, _state(params, disable_autograd_tracking)


def _state(params: Mapping[str, Tensor], detached: bool) -> tuple:
    return tuple(p.detach() if detached else p for p in params.values())


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple:
    """(f, parameters, buffers) of like models; `vmap(f)` calls them all at once."""
    name = "combine_state_for_ensemble"
    if not models:
        raise RuntimeError(f"{name}: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(
            f"{name}: Expected all models to have the same training/eval mode."
        )
    if len({type(m) for m in models}) > 1:
        raise RuntimeError(f"{name}: Expected all models to be of the same class.")
    functions, *states = zip(*(make_functional_with_buffers(m) for m in models))
    params, buffers = (tuple(ember.stack(t) for t in zip(*state)) for state in states)
    return functions[0], params, buffers


def functional_init_with_buffers(
    model_class: type[Module], ensemble_shape: Sequence = (), device: Any = "cpu"
) -> Callable[..., tuple]:
    """A function that makes as many models of a class as `ensemble_shape` says:
    (parameters, buffers, f, names of the parameters, names of the buffers), with
    `f(parameters, buffers, (x, ...))`."""
    if len(ensemble_shape) >= 2:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    if ensemble_shape and ensemble_shape[0] <= 0:
        raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")

    def made(*args: Any, **kwargs: Any) -> tuple:
        count = ensemble_shape[0] if ensemble_shape else 1
        models = [model_class(*args, **kwargs).to(device) for _ in range(count)]
        if ensemble_shape:
            function, params, buffers = combine_state_for_ensemble(models)
        else:
            function, params, buffers = make_functional_with_buffers(models[0])

        def called(params: Any, buffers: Any, data: tuple) -> Any:
            return function(params, buffers, *data)

        return params, buffers, called, function.param_names, function.buffer_names

    return made


def functional_init(
    model_class: type[Module], ensemble_shape: Sequence = (), device: Any = "cpu"
) -> Callable[..., tuple]:
    """As `functional_init_with_buffers`, of models without: (parameters, f, names),
    with `f(parameters, (x, ...))`."""
    make = functional_init_with_buffers(model_class, ensemble_shape, device)

    def made(*args: Any, **kwargs: Any) -> tuple:
        params, buffers, function, names, _ = make(*args, **kwargs)
        if buffers:
            raise RuntimeError("Cannot use functional_init on a model with buffers.")

        def called(params: Any, data: tuple) -> Any:
            return function(params, (), data)

        return params, called, names

    return made
