"""Adam, AdamW and their relatives Adamax, NAdam and RAdam."""

import math

import ember
from ember import _C
from ember.optim._common import (
    add_ratio,
    add_scaled,
    advance,
    check,
    check_betas,
    check_implementation,
    check_lr,
    collect,
    column,
    counts,
    one_by_one,
    option,
    rate,
    real,
    scalar,
)
from ember.optim.optimizer import Optimizer


def _check(lr, betas, eps, weight_decay) -> None:
    check_lr(lr)
    check(eps >= 0.0, "epsilon value", eps)
    check_betas(betas)
    check(weight_decay >= 0.0, "weight_decay value", weight_decay)


def _start(p, state: dict, group: dict) -> None:
    """The state of Adam, NAdam and RAdam before their first step."""
    state["step"] = scalar(0.0)
    names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group.get("amsgrad", False)
    for name in names:
        state[name] = ember.zeros_like(p, requires_grad=False)


def _averages(state: dict, grad, beta1: float, beta2: float) -> tuple:
    """The running means of the gradient and of its square, with this one in them."""
    average, square = real(state["exp_avg"]), real(state["exp_avg_sq"])
    average.lerp_(grad, 1 - beta1)
    if isinstance(beta2, ember.Tensor):
        square.mul_(beta2).add_(grad * grad * (1 - beta2))
    else:
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    return average, square


class Adam(Optimizer):
    """Steps scaled by running means of gradients and of their squares
    (arXiv:1412.6980).

    >>> import ember
    >>> p = ember.nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.Adam([p], lr=0.1)
    >>> (p * 3).backward()
    >>> optimizer.step()
    >>> p.data
    tensor([0.9000])
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _check(lr, betas, eps, weight_decay)
        check_implementation(foreach, fused)
        named = {"lr": lr, "betas[0]": betas[0], "betas[1]": betas[1]}
        for name, value in named.items():
            if isinstance(value, ember.Tensor) and foreach and not capturable:
                raise ValueError(
                    f"{name} as a Tensor is not supported for capturable=False and "
                    "foreach=True"
                )
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        found = params, grads, states = collect(self, group, _start)
        lr, eps, decay = rate(group), group["eps"], group["weight_decay"]
        decay = option(group, decay)
        beta1, beta2 = (option(group, beta) for beta in group["betas"])
        amsgrad, decoupled = group["amsgrad"], group["decoupled_weight_decay"]
        if not group["differentiable"] and _C._fused_adam_(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            column(states, "max_exp_avg_sq") if amsgrad else [],
            counts(states),
            lr=lr,
            beta1=beta1,
            beta2=beta2,
            weight_decay=decay,
            eps=eps,
            amsgrad=amsgrad,
            maximize=group["maximize"],
            decoupled=decoupled,
        ):
            return
        for p, grad, state in one_by_one(found, group, 0.0 if decoupled else decay):
            step = advance(state)
            if decoupled and decay:
                p.mul_(1 - lr * decay)
            average, square = _averages(state, grad, beta1, beta2)
            if amsgrad:
                largest = real(state["max_exp_avg_sq"])
                square = largest.copy_(ember.maximum(largest.clone(), square))
            scale = (1 - beta2**step) ** 0.5
            denominator = square.sqrt().div(scale).add(eps)
            add_ratio(p, average, denominator, -lr / (1 - beta1**step))


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (arXiv:1711.05101).

    >>> import ember
    >>> p = ember.nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.AdamW([p], lr=0.1, weight_decay=0.01)
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


class Adamax(Optimizer):
    """Adam with the largest gradient instead of the mean square."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        _check(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        lr, (beta1, beta2), eps = rate(group), group["betas"], group["eps"]
        found = collect(self, group, self._start)
        for p, grad, state in one_by_one(found, group, group["weight_decay"]):
            step = advance(state)
            average, largest = real(state["exp_avg"]), real(state["exp_inf"])
            average.lerp_(grad, 1 - beta1)
            largest.copy_(ember.maximum(largest * beta2, grad.abs().add_(eps)))
            add_ratio(p, average, largest, -lr / (1 - beta1**step))

    @staticmethod
    def _start(p, state: dict, group: dict) -> None:
        state["step"] = scalar(0.0)
        for name in ("exp_avg", "exp_inf"):
            state[name] = ember.zeros_like(p, requires_grad=False)


class NAdam(Optimizer):
    """Adam with Nesterov momentum."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _check(lr, betas, eps, weight_decay)
        check(momentum_decay >= 0.0, "momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        lr, (beta1, beta2), eps = rate(group), group["betas"], group["eps"]
        decay, slowing = group["weight_decay"], group["momentum_decay"]
        decoupled = group["decoupled_weight_decay"]
        found = collect(self, group, self._start)
        for p, grad, state in one_by_one(found, group, 0.0 if decoupled else decay):
            step = advance(state)
            if decoupled and decay:
                p.mul_(1 - lr * decay)
            mu = beta1 * (1 - 0.5 * 0.96 ** (step * slowing))
            mu_next = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * slowing))
            product = option(group, state["mu_product"].mul_(mu))
            average, square = _averages(state, grad, beta1, beta2)
            denominator = square.div(1 - beta2**step).sqrt_().add(eps)
            add_ratio(p, grad, denominator, -lr * (1 - mu) / (1 - product))
            next_scale = -lr * mu_next / (1 - product * mu_next)
            add_ratio(p, average, denominator, next_scale)

    @staticmethod
    def _start(p, state: dict, group: dict) -> None:
        _start(p, state, group)
        state["mu_product"] = scalar(1.0)


class RAdam(Optimizer):
    """Adam that starts without scaling until its variance is known
    (arXiv:1908.03265)."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _check(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        lr, (beta1, beta2), eps = rate(group), group["betas"], group["eps"]
        decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
        found = collect(self, group, _start)
        for p, grad, state in one_by_one(found, group, 0.0 if decoupled else decay):
            step = advance(state)
            if decoupled and decay:
                p.mul_(1 - lr * decay)
            average, square = _averages(state, grad, beta1, beta2)
            scale = lr / (1 - beta1**step)
            variance = 1 - beta2**step
            limit = 2 / (1 - beta2) - 1
            length = limit - 2 * step * beta2**step / variance
            if length <= 5:
                add_scaled(p, average, -scale)
                continue
            rectified = (length - 4) * (length - 2) * limit
            rectified /= (limit - 4) * (limit - 2) * length
            scale = scale * math.sqrt(rectified * variance)
            add_ratio(p, average, square.sqrt().add(eps), -scale)
