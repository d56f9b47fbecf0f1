"""Stochastic gradient descent."""

import ember
from ember import _C
from ember.optim._common import add_scaled, check, check_lr, option, rate
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
        params, grads = [], []
        for p in group["params"]:
            if (grad := p.grad) is not None:
                params.append(p)
                grads.append(grad)
        if not momentum:
            return self._change(params, grads, [], False, group)
        buffers = [self.state[p].get("momentum_buffer") for p in params]
        old = [found for found in zip(params, grads, buffers) if found[2] is not None]
        new = [found[:2] for found in zip(params, grads, buffers) if found[2] is None]
        if new:
            params, grads = map(list, zip(*new))
            buffers = [ember.empty_like(grad, requires_grad=False) for grad in grads]
            self._change(params, grads, buffers, True, group)
            for p, buffer in zip(params, buffers):
                self.state[p]["momentum_buffer"] = buffer
        if old:
            params, grads, buffers = map(list, zip(*old))
            self._change(params, grads, buffers, False, group)

    @staticmethod
    def _change(params, grads, buffers: list, first: bool, group: dict) -> None:
        """Change parameters whose buffers have values, unless this is their first."""
        lr, momentum = rate(group), group["momentum"]
        decay, maximize = option(group, group["weight_decay"]), group["maximize"]
        nesterov, dampening = group["nesterov"], group["dampening"]
        dense = [grad.layout is _strided for grad in grads]
        fused = all(dense) and not group["differentiable"]
        if fused and _C._fused_sgd_(
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
            if isinstance(decay, ember.Tensor):
                grad = grad + p.clone() * decay  # p changes
            elif decay:
                grad = grad.add(p, alpha=decay)
            if momentum:
                if first:
                    buffers[i] = buffer = ember.clone(grad).detach()
                else:
                    buffer = buffers[i]
                    buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
                grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
            add_scaled(p, grad, -lr)
