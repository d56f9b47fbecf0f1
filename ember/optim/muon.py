"""Muon: momentum made orthogonal by Newton-Schulz iterations, for matrices."""

import math

import ember
from ember._types import Parameters
from ember.optim._common import check, check_lr, number, options
from ember.optim.optimizer import Optimizer


class Muon(Optimizer):
    """Steps in the direction of the orthogonal matrix nearest to the momentum.

    Only for matrices; train biases, embeddings and the like with another optimizer.

    Args:
        params: matrices
        lr: the rate
        weight_decay: share that parameters lose in each step, times the rate
        momentum: share of the last step that is kept
        nesterov: look ahead by one step
        ns_coefficients: of the iteration that makes a matrix orthogonal
        ns_steps: how often it is repeated

    >>> w = nn.Parameter(ember.zeros(2, 2))
    >>> optimizer = ember.optim.Muon([w], lr=0.1, weight_decay=0.0)
    >>> (w * ember.tensor([[100.0, 0.0], [0.0, 1.0]])).sum().backward()
    >>> optimizer.step()
    >>> bool((w.diag() < 0).all())  # both ways, though one is 100 times as steep
    True
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        defaults = options(locals())
        check_lr(lr)
        check(momentum >= 0.0, "momentum value", momentum)
        check(weight_decay >= 0.0, "weight decay", weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported"
            )
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter "
                        f"with size: {p.size()}"
                    )

    def _update(self, group: dict) -> None:
        lr, momentum = group["lr"], group["momentum"]
        coefficients, steps = group["ns_coefficients"], group["ns_steps"]
        if len(coefficients) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        if steps >= 100:
            raise ValueError("Number of steps must be less than 100")
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if p.is_complex():
                raise RuntimeError("Muon does not support complex parameters")
            if grad.layout != ember.strided:
                raise RuntimeError("Muon does not support sparse gradients")
            state = self.state[p]
            if not state:
                state["momentum_buffer"] = ember.zeros_like(grad)
            buffer = state["momentum_buffer"].lerp_(grad, 1 - momentum)
            update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
            update = _orthogonal(update, coefficients, steps, group["eps"])
            p.mul_(number(1 - lr * group["weight_decay"]))
            p.add_(update, alpha=number(-lr * _scale(group["adjust_lr_fn"], p)))


def _scale(name: str | None, p) -> float:
    rows, columns = p.shape
    if name == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonal(update, coefficients: tuple, steps: int, eps: float):
    """All singular values brought near one, in bfloat16."""
    a, b, c = coefficients
    x = update.bfloat16()
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.t()
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.t()
        inner = ember.addmm(gram, gram, gram, beta=b, alpha=c)
        x = ember.addmm(x, inner, x, beta=a)
    return x.t() if tall else x
