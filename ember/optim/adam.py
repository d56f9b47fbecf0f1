"""Adam, AdamW and their relatives Adamax, NAdam and RAdam."""

import ember
from ember._types import Parameters, Rate
from ember.optim._common import (
    check,
    check_betas,
    check_implementation,
    check_lr,
    collect,
    make_step,
    options,
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
        params: Parameters,
        lr: Rate = 1e-3,
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
        defaults = options(locals())
        _check(lr, betas, eps, weight_decay)
        check_implementation(foreach, fused)
        named = {"lr": lr, "betas[0]": betas[0], "betas[1]": betas[1]}
        for name, value in named.items():
            if isinstance(value, ember.Tensor) and foreach and not capturable:
                raise ValueError(
                    f"{name} as a Tensor is not supported for capturable=False and "
                    "foreach=True"
                )
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        beta1, beta2 = group["betas"]
        without = () if group["amsgrad"] else ("max_exp_avg_sq",)
        found = collect(self, group, _start)
        make_step("adam", found, group, without, beta1=beta1, beta2=beta2)


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (arXiv:1711.05101).

    >>> import ember
    >>> p = ember.nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.AdamW([p], lr=0.1, weight_decay=0.01)
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1e-3,
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
    """Adam with the largest gradient instead of the mean square.

    Args:
        params: tensors, or dicts of groups with `params` and options of their own
        lr: the rate
        betas: decay of the running mean and of the largest gradient
        eps: added to the denominator
        weight_decay: this times the parameter is added to the gradient
        maximize: climb instead of descend

    >>> p = nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.Adamax([p], lr=0.1)
    >>> (p * 3).backward()
    >>> optimizer.step()
    >>> p.data
    tensor([0.9000])
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = options(locals())
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        beta1, beta2 = group["betas"]
        found = collect(self, group, self._start)
        make_step("adamax", found, group, beta1=beta1, beta2=beta2)

    @staticmethod
    def _start(p, state: dict, group: dict) -> None:
        state["step"] = scalar(0.0)
        for name in ("exp_avg", "exp_inf"):
            state[name] = ember.zeros_like(p, requires_grad=False)


class NAdam(Optimizer):
    """Adam with Nesterov momentum.

    Args:
        params: tensors, or dicts of groups with `params` and options of their own
        lr: the rate
        betas: decay of the running mean and of the running square
        eps: added to the denominator
        weight_decay: this times the parameter is added to the gradient
        momentum_decay: how momentum grows with the steps
        decoupled_weight_decay: take the decay from the parameter, as AdamW does
        maximize: climb instead of descend

    >>> p = nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.NAdam([p], lr=0.1)
    >>> (p * 3).backward()
    >>> optimizer.step()
    >>> bool(p < 1)
    True
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 2e-3,
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
        defaults = options(locals())
        _check(lr, betas, eps, weight_decay)
        check(momentum_decay >= 0.0, "momentum_decay value", momentum_decay)
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        beta1, beta2 = group["betas"]
        found = collect(self, group, self._start)
        make_step("nadam", found, group, beta1=beta1, beta2=beta2)

    @staticmethod
    def _start(p, state: dict, group: dict) -> None:
        _start(p, state, group)
        state["mu_product"] = scalar(1.0)


class RAdam(Optimizer):
    """Adam that starts without scaling until its variance is known
    (arXiv:1908.03265).

    Args:
        params: tensors, or dicts of groups with `params` and options of their own
        lr: the rate
        betas: decay of the running mean and of the running square
        eps: added to the denominator
        weight_decay: this times the parameter is added to the gradient
        decoupled_weight_decay: take the decay from the parameter, as AdamW does
        maximize: climb instead of descend

    >>> p = nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.RAdam([p], lr=0.1)
    >>> (p * 3).backward()
    >>> optimizer.step()
    >>> p.data  # the first steps are plain gradient descent
    tensor([0.7000])
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1e-3,
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
        defaults = options(locals())
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        beta1, beta2 = group["betas"]
        found = collect(self, group, _start)
        make_step("radam", found, group, beta1=beta1, beta2=beta2)
