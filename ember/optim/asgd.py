"""Averaged stochastic gradient descent."""

import ember
from ember._types import Parameters, Rate
from ember.optim._common import (
    check,
    check_lr,
    collect,
    make_step,
    number,
    options,
    scalar,
)
from ember.optim.optimizer import Optimizer


class ASGD(Optimizer):
    """Gradient descent that also keeps the average of its parameters, in `ax`.

    Args:
        params: tensors, or dicts of groups with `params` and options of their own
        lr: the rate
        lambd: decay of the parameters
        alpha: exponent with which the rate falls
        t0: the step at which averaging begins
        weight_decay: this times the parameter is added to the gradient
        maximize: climb instead of descend

    >>> p = nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.ASGD([p], lr=0.1)
    >>> (p * 3).backward()
    >>> optimizer.step()
    >>> p.data, optimizer.state[p]["ax"]
    (tensor([0.7000]), tensor([0.7000]))
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = options(locals())
        check_lr(lr)
        check(weight_decay >= 0.0, "weight_decay value", weight_decay)
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        found = collect(self, group, _start)
        make_step("asgd", found, group)
        if group["foreach"]:  # there PyTorch computes the rate in the count's dtype
            lr = number(group["lr"])
            for state in found[2]:
                grown = 1 + group["lambd"] * lr * state["step"]
                state["eta"].fill_(lr / grown ** group["alpha"])


def _start(p, state: dict, group: dict) -> None:
    state["step"], state["mu"] = scalar(0.0), scalar(1.0)
    state["eta"] = scalar(number(group["lr"]))
    state["ax"] = ember.zeros_like(p, requires_grad=False)
