"""Torch7's optim: functions that improve a vector of parameters.

`opfunc(x)` returns the loss and its gradient at `x`; `config` holds options by Torch7's
names, `state` what is kept between calls (`config` itself, if there is none). Each
function changes `x` in place and returns it with a list of losses.

>>> import ember
>>> from ember.legacy import optim
>>> x, config = ember.tensor([3.0]), {"learningRate": 0.1}
>>> def opfunc(x):
...     return (x * x).sum().item(), 2 * x
>>> for _ in range(50):
...     x, losses = optim.sgd(opfunc, x, config)
>>> x.abs().item() < 1e-3
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember
from ember import Tensor, optim as modern
from ember.legacy.optim.cg import cg as cg

Function = Callable[[Tensor], tuple[float, Tensor]]
Config = dict[str, Any]

# Torch7's names of options -> ours
_NAMES = {
    "learningRate": "lr",
    "weightDecay": "weight_decay",
    "epsilon": "eps",
    "lambd": "lambd",
    "alpha": "alpha",
    "rho": "rho",
    "momentum": "momentum",
    "dampening": "dampening",
    "nesterov": "nesterov",
}


def _options(config: Config, defaults: Config) -> Config:
    values = {**defaults, **{k: v for k, v in config.items() if not k.startswith("_")}}
    options = {_NAMES[name]: value for name, value in values.items() if name in _NAMES}
    if "beta1" in values:
        options["betas"] = (values["beta1"], values["beta2"])
    return options


def _step(
    optimizer: type[modern.Optimizer],
    defaults: Config,
    opfunc: Function,
    x: Tensor,
    config: Config | None,
    state: Config | None,
) -> tuple[Tensor, list[float]]:
    config = {} if config is None else config
    state = config if state is None else state
    kept = state.get("_optimizer")
    options = _options(config, defaults)
    if kept is None or kept.param_groups[0]["params"][0] is not x:
        kept = state["_optimizer"] = optimizer([x], **options)
    count = state["evalCounter"] = state.get("evalCounter", 0) + 1
    rate = options.get("lr", kept.defaults.get("lr"))
    decay = config.get("learningRateDecay", defaults.get("learningRateDecay", 0))
    kept.param_groups[0]["lr"] = rate / (1 + (count - 1) * decay)
    loss, gradient = opfunc(x)
    x.grad = gradient.detach().clone()
    kept.step()
    x.grad = None
    return x, [loss]


def _define(name: str, optimizer: type, **defaults: Any) -> Callable:
    def function(
        opfunc: Function,
        x: Tensor,
        config: Config | None = None,
        state: Config | None = None,
    ) -> tuple[Tensor, list[float]]:
        return _step(optimizer, defaults, opfunc, x, config, state)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"A step of {optimizer.__name__}; defaults: "
        + (", ".join(f"{k}={v}" for k, v in defaults.items()) or "those of ember.optim")
        + "."
    )
    return function


adadelta = _define("adadelta", modern.Adadelta, learningRate=1.0, rho=0.9, epsilon=1e-6)
adagrad = _define("adagrad", modern.Adagrad, learningRate=1e-3)
adam = _define(
    "adam", modern.Adam, learningRate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8
)
adamax = _define(
    "adamax", modern.Adamax, learningRate=2e-3, beta1=0.9, beta2=0.999, epsilon=1e-38
)
asgd = _define("asgd", modern.ASGD, learningRate=1e-2)
rmsprop = _define(
    "rmsprop", modern.RMSprop, learningRate=1e-2, alpha=0.99, epsilon=1e-8
)
rprop = _define("rprop", modern.Rprop, learningRate=0.1)


def sgd(
    opfunc: Function,
    x: Tensor,
    config: Config | None = None,
    state: Config | None = None,
) -> tuple[Tensor, list[float]]:
    """A step of gradient descent: learningRate=1e-3, learningRateDecay, weightDecay,
    momentum, dampening (momentum, unless given) and nesterov."""
    config = {} if config is None else config
    momentum = config.get("momentum", 0)
    nesterov = config.get("nesterov", False)
    defaults = {"learningRate": 1e-3, "dampening": 0 if nesterov else momentum}
    return _step(modern.SGD, defaults, opfunc, x, config, state)


def nag(
    opfunc: Function,
    x: Tensor,
    config: Config | None = None,
    state: Config | None = None,
) -> tuple[Tensor, list[float]]:
    """A step of Nesterov's accelerated gradient: momentum=0.9."""
    config = {} if config is None else config
    state = config if state is None else state
    defaults = {"learningRate": 1e-3, "momentum": 0.9, "nesterov": True, "dampening": 0}
    return _step(modern.SGD, defaults, opfunc, x, config, state)


def lbfgs(
    opfunc: Function,
    x: Tensor,
    config: Config | None = None,
    state: Config | None = None,
) -> tuple[Tensor, list[float]]:
    """Up to maxIter steps of limited-memory BFGS; returns all losses on the way."""
    config = {} if config is None else config
    state = config if state is None else state
    kept = state.get("_optimizer")
    if kept is None or kept.param_groups[0]["params"][0] is not x:
        kept = state["_optimizer"] = modern.LBFGS(
            [x],
            lr=config.get("learningRate", 1),
            max_iter=config.get("maxIter", 20),
            max_eval=config.get("maxEval"),
            tolerance_grad=config.get("tolFun", 1e-5),
            tolerance_change=config.get("tolX", 1e-9),
            history_size=config.get("nCorrection", 100),
            line_search_fn="strong_wolfe" if config.get("lineSearch") else None,
        )
    losses: list[float] = []

    def closure() -> Tensor:
        loss, gradient = opfunc(x)
        x.grad = gradient.detach().clone()
        losses.append(float(loss))
        return ember.tensor(float(loss), dtype=ember.float64)

    kept.step(closure)
    x.grad = None
    return x, losses
