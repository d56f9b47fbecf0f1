"""Averaged stochastic gradient descent."""

import ember
from ember.optim._common import (
    advance,
    check,
    check_lr,
    collect,
    number,
    one_by_one,
    real,
    scalar,
)
from ember.optim.optimizer import Optimizer


class ASGD(Optimizer):
    """Gradient descent that also keeps the average of its parameters, in `ax`."""

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check(weight_decay >= 0.0, "weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        lr, lambd = number(group["lr"]), group["lambd"]
        found = collect(self, group, _start)
        for p, grad, state in one_by_one(found, group, group["weight_decay"]):
            step = advance(state)
            average, eta, mu = real(state["ax"]), number(state["eta"]), state["mu"]
            p.mul_(1 - lambd * eta)
            p.add_(grad, alpha=-eta)
            if number(mu) == 1:
                average.copy_(p)
            else:
                average.add_(p.sub(average).mul_(number(mu)))
            # PyTorch's lists of tensors compute the rate in the dtype of the count.
            count = state["step"] if group["foreach"] else step
            state["eta"].fill_(lr / (1 + lambd * lr * count) ** group["alpha"])
            mu.fill_(1 / max(1, step - group["t0"]))


def _start(p, state: dict, group: dict) -> None:
    state["step"], state["mu"] = scalar(0.0), scalar(1.0)
    state["eta"] = scalar(number(group["lr"]))
    state["ax"] = ember.zeros_like(p, requires_grad=False)
