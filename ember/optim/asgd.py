"""Averaged stochastic gradient descent."""

import ember
from ember.optim._common import (
    advance,
    check,
    check_lr,
    gradients,
    number,
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
        for p, grad, state in gradients(self, group, group["weight_decay"]):
            if not state:
                state["step"], state["eta"] = scalar(0.0), scalar(lr)
                state["mu"] = scalar(1.0)
                state["ax"] = ember.zeros_like(p, requires_grad=False)
            step = advance(state)
            average, eta, mu = real(state["ax"]), number(state["eta"]), state["mu"]
            p.mul_(1 - lambd * eta)
            p.add_(grad, alpha=-eta)
            if number(mu) == 1:
                average.copy_(p)
            else:
                average.add_(p.sub(average).mul_(number(mu)))
            state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
            mu.fill_(1 / max(1, step - group["t0"]))
