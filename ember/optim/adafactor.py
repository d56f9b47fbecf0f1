"""Adafactor: Adam's scaling from row and column means (arXiv:1804.04235)."""

import math

import ember
from ember._types import Parameters, Rate
from ember.optim._common import (
    advance,
    check,
    check_lr,
    collect,
    number,
    options,
    scalar,
)
from ember.optim.optimizer import Optimizer


class Adafactor(Optimizer):
    """Keeps one number for each row and column of a matrix instead of each element.

    Args:
        params: tensors, or dicts of groups with `params` and options of their own
        lr: the rate
        beta2_decay: exponent of the decay of the running squares
        eps: the least square, and the least size of a parameter
        d: largest size of a step, in units of its root mean square
        weight_decay: share that parameters lose in each step, times the rate
        maximize: climb instead of descend

    >>> w = nn.Parameter(ember.ones(4, 3))
    >>> optimizer = ember.optim.Adafactor([w])
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[w]["row_var"].shape, optimizer.state[w]["col_var"].shape
    (torch.Size([4, 1]), torch.Size([1, 3]))
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        defaults = options(locals())
        check_lr(lr)
        if beta2_decay > 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and eps[0] < 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if eps[1] < 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if d < 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        check(weight_decay >= 0.0, "weight_decay value", weight_decay)
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        lr, (eps1, eps2) = number(group["lr"]), group["eps"]
        for p in group["params"]:
            if p.is_complex():
                raise RuntimeError("Adafactor does not support complex parameters")
        for p, grad, state in zip(*collect(self, group, _start)):
            grad = -grad if group["maximize"] else grad
            tiny = ember.finfo(p.dtype).eps if eps1 is None else eps1
            step = advance(state)
            weight = step ** group["beta2_decay"]
            size = float(p.norm(2)) / math.sqrt(p.numel())
            rate = max(eps2, size) * min(lr, 1 / math.sqrt(step))
            if group["weight_decay"]:
                p.mul_(1 - lr * group["weight_decay"])
            update = _variance(grad, state, weight, tiny)
            update = update.clamp_(min=tiny * tiny).rsqrt_().mul_(grad)
            norm = float(update.norm(2)) / (math.sqrt(update.numel()) * group["d"])
            p.add_(update, alpha=-rate / max(1.0, norm))


def _start(p, state: dict, group: dict) -> None:
    state["step"], grad = scalar(0.0), p.grad
    if grad.dim() > 1:
        state["row_var"] = ember.zeros_like(grad[..., :1], requires_grad=False)
        state["col_var"] = ember.zeros_like(grad[..., :1, :], requires_grad=False)
    else:
        state["variance"] = ember.zeros_like(grad, requires_grad=False)


def _variance(grad, state: dict, weight: float, tiny: float):
    """The estimated mean square of each element of the gradient, as a new tensor."""
    square = grad.square()
    if grad.dim() <= 1:
        return state["variance"].lerp_(square, weight).clone()
    rows, columns = state["row_var"], state["col_var"]
    rows.lerp_(square.mean(-1, keepdim=True), weight)
    columns.lerp_(square.mean(-2, keepdim=True), weight)
    return (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=tiny))
