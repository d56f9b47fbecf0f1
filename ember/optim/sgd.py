"""Stochastic gradient descent."""

import ember
from ember.optim._common import check, check_lr, make_step, number, real
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
        given = [p for p in group["params"] if p.grad is not None]
        sparse = [p for p in given if p.grad.layout is not _strided]
        for p in sparse:
            self._sparse_step(p, group)
        if sparse:
            given = [p for p in given if p.grad.layout is _strided]
        if not group["momentum"]:
            self._change([(real(p), real(p.grad), {}) for p in given], False, group)
            return
        kept = [(real(p), real(p.grad), self.state[p]) for p in given]
        old = [item for item in kept if item[2].get("momentum_buffer") is not None]
        new = [item for item in kept if item[2].get("momentum_buffer") is None]
        for p, (_, _, state) in zip(given, kept):
            if state.get("momentum_buffer") is None:
                state["momentum_buffer"] = ember.zeros_like(p.grad, requires_grad=False)
        self._change(new, True, group)
        self._change(old, False, group)

    @staticmethod
    def _change(found: list[tuple], first: bool, group: dict) -> None:
        """Change parameters whose buffers have values, unless this is their first."""
        if found:
            without = () if group["momentum"] else ("momentum_buffer",)
            make_step("sgd", tuple(zip(*found)), group, without, first=first)

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
