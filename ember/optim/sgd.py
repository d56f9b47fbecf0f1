"""Stochastic gradient descent."""

import ember
from ember.optim._common import check, check_lr, number
from ember.optim.optimizer import Optimizer


class SGD(Optimizer):
    """Gradient descent with momentum, Nesterov's form and L2 decay.

    >>> import ember
    >>> p = ember.nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.SGD([p], lr=0.1, momentum=0.9)
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay=0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(momentum >= 0.0, "momentum value", momentum)
        check(weight_decay >= 0.0, "weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        if foreach and fused:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        lr, momentum = number(group["lr"]), group["momentum"]
        decay, maximize = number(group["weight_decay"]), group["maximize"]
        rest = 1 - group["dampening"]
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if maximize:
                grad = -grad
            if decay:
                grad = grad.add(p, alpha=decay)
            if momentum:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    state["momentum_buffer"] = buffer = ember.clone(grad).detach()
                else:
                    buffer.mul_(momentum).add_(grad, alpha=rest)
                if group["nesterov"]:
                    grad = grad.add(buffer, alpha=momentum)
                else:
                    grad = buffer
            p.add_(grad, alpha=-lr)
