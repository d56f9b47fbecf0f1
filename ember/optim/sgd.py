"""Stochastic gradient descent."""

import ember
from ember._types import Parameters, Rate
from ember.optim._common import check, check_lr, make_step, number, options
from ember.optim.optimizer import Optimizer

_strided = ember.strided


class SGD(Optimizer):
    """Gradient descent with momentum, Nesterov's form and L2 decay.

    >>> import ember
    >>> p = ember.nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.SGD([p], lr=0.1, momentum=0.9)
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = options(locals())
        check_lr(lr)
        check(momentum >= 0.0, "momentum value", momentum)
        check(weight_decay >= 0.0, "weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        if foreach and fused:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        params, grads = [], []
        for p in group["params"]:
            if (grad := p.grad) is None:
                continue
            if grad.layout is not _strided:
                self._sparse_step(p, group)
                continue
            params.append(p)
            grads.append(grad)
        if not group["momentum"]:
            make_step("sgd", (params, grads, []), group, without=("momentum_buffer",))
            return
        states = [self.state[p] for p in params]
        started = [state.get("momentum_buffer") is not None for state in states]
        if all(started):
            make_step("sgd", (params, grads, states), group)
            return
        for grad, state in zip(grads, states):
            if state.get("momentum_buffer") is None:
                state["momentum_buffer"] = ember.zeros_like(grad, requires_grad=False)
        for first in (True, False):
            found = [
                [item for item, old in zip(column, started) if old is not first]
                for column in (params, grads, states)
            ]
            if found[0]:
                make_step("sgd", tuple(found), group, first=first)

    def _sparse_step(self, p, group: dict) -> None:
        grad = -p.grad if group["maximize"] else p.grad
        if decay := number(group["weight_decay"]):
            grad = grad.add(p, alpha=decay)
        if momentum := group["momentum"]:
            buffer = self.state[p].get("momentum_buffer")
            if buffer is None:
                buffer = self.state[p]["momentum_buffer"] = ember.clone(grad).detach()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        p.add_(grad, alpha=-number(group["lr"]))
