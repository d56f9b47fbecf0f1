"""Stochastic gradient descent."""

import ember
from ember import _C
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
        momentum = group["momentum"]
        params = [p for p in group["params"] if p.grad is not None]
        if not momentum:
            return self._step_of(params, [], False, group)
        name = "momentum_buffer"
        buffers = [self.state[p].get(name) for p in params]
        old = [(p, b) for p, b in zip(params, buffers) if b is not None]
        new = [p for p, b in zip(params, buffers) if b is None]
        if new:
            made = [ember.empty_like(p.grad, requires_grad=False) for p in new]
            self._step_of(new, made, True, group)
            for p, buffer in zip(new, made):
                self.state[p][name] = buffer
        if old:
            params, buffers = map(list, zip(*old))
            self._step_of(params, buffers, False, group)

    @staticmethod
    def _step_of(params: list, buffers: list, first: bool, group: dict) -> None:
        """Change parameters; buffers have values unless this is the first step."""
        lr, momentum = number(group["lr"]), group["momentum"]
        decay, maximize = number(group["weight_decay"]), group["maximize"]
        grads = [p.grad for p in params]
        nesterov, dampening = group["nesterov"], group["dampening"]
        if all(g.layout == ember.strided for g in grads) and _C._fused_sgd_(
            params,
            grads,
            buffers,
            weight_decay=decay,
            momentum=momentum,
            lr=lr,
            dampening=dampening,
            nesterov=nesterov,
            maximize=maximize,
            is_first_step=first,
        ):
            return
        for i, (p, grad) in enumerate(zip(params, grads)):
            if maximize:
                grad = -grad
            if decay:
                grad = grad.add(p, alpha=decay)
            if momentum:
                if first:
                    buffers[i] = buffer = ember.clone(grad).detach()
                else:
                    buffer = buffers[i]
                    buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
                grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
            p.add_(grad, alpha=-lr)
