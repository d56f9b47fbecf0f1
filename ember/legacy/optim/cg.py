"""Nonlinear conjugate gradients (Polak-Ribiere) with a line search that brackets and
interpolates, for smooth functions that are evaluated exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ember import Tensor

_SLOPE = 0.5  # how much of the slope must be gone: the curvature condition
_DECREASE = 0.01  # how much of the predicted decrease must be there: Armijo's condition
_MOST_TRIALS = 20


def cg(
    opfunc: Callable[[Tensor], tuple[float, Tensor]],
    x: Tensor,
    config: dict[str, Any] | None = None,
    state: dict[str, Any] | None = None,
) -> tuple[Tensor, list[float]]:
    """Minimise by up to maxIter=20 conjugate directions; returns all losses.

    >>> import ember
    >>> from ember.legacy import optim
    >>> a = ember.tensor([1.0, 10.0])
    >>> def opfunc(x):
    ...     return (a * x * x).sum().item(), 2 * a * x
    >>> x, losses = optim.cg(opfunc, ember.tensor([3.0, 1.0]), {"maxIter": 30})
    >>> losses[-1] < 1e-6
    True
    """
    config = {} if config is None else config
    most = config.get("maxIter", 20)
    budget = config.get("maxEval", int(most * 1.25) + 5)
    evaluations = 0

    def evaluate(at: Tensor) -> tuple[float, Tensor]:
        nonlocal evaluations
        evaluations += 1
        value, gradient = opfunc(at)
        return float(value), gradient.detach().clone()

    loss, gradient = evaluate(x)
    losses = [loss]
    direction = -gradient
    slope = -float((gradient * gradient).sum())
    step = 1 / (1 - slope)
    for _ in range(most):
        if slope == 0 or evaluations >= budget:
            break
        start = x.clone()
        low, high = 0.0, None
        found = None
        for _ in range(_MOST_TRIALS):
            x.copy_(start + step * direction)
            value, new = evaluate(x)
            new_slope = float((new * direction).sum())
            if not value <= loss + step * _DECREASE * slope:
                high = step
            elif abs(new_slope) > -_SLOPE * slope:
                found = (value, new, new_slope)
                low, high = (step, high) if new_slope < 0 else (low, step)
            else:
                found = (value, new, new_slope)
                break
            if evaluations >= budget:
                break
            step = 3 * step if high is None else (low + high) / 2
        if found is None:
            x.copy_(start)
            break
        loss, old, gradient = found[0], gradient, found[1]
        losses.append(loss)
        turn = float((gradient * (gradient - old)).sum()) / float((old * old).sum())
        direction = max(turn, 0.0) * direction - gradient
        new_slope = float((gradient * direction).sum())
        if new_slope > 0:
            direction, new_slope = -gradient, -float((gradient * gradient).sum())
        step *= min(10.0, slope / (new_slope - 1e-38))
        slope = new_slope
    (config if state is None else state)["funcEval"] = evaluations
    return x, losses
