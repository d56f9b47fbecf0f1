"""L-BFGS with an optional strong Wolfe line search (Nocedal and Wright, chapters 3
and 7). A step evaluates its closure many times.
"""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import ember
from ember._types import Parameters, Rate
from ember.optim._common import check_lr, options, real
from ember.optim.optimizer import Optimizer

# A point on the line: distance, loss, gradient there and its slope along the line.
_Point = namedtuple("_Point", "t loss grad slope")


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last `history_size` gradients.

    >>> import ember
    >>> p = ember.nn.Parameter(ember.tensor([3.0]))
    >>> optimizer = ember.optim.LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((p - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> p.data
    tensor([1.])
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        defaults = options(locals())
        check_lr(lr)
        defaults["max_eval"] = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                "LBFGS doesn't support per-parameter options (parameter groups)"
            )
        self._params = self.param_groups[0]["params"]

    def _flat_grad(self):
        parts = []
        for p in self._params:
            grad = ember.zeros_like(p) if p.grad is None else p.grad
            parts.append(real(grad).reshape(-1))
        return ember.cat(parts)

    def _move(self, t: float, direction) -> None:
        """Add `t * direction` to the parameters."""
        offset = 0
        for p in self._params:
            target = real(p)
            count = target.numel()
            part = direction[offset : offset + count].view(target.shape)
            target.add_(part, alpha=float(t))
            offset += count

    @ember.no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Run up to `max_iter` iterations; the loss before them."""
        group = self.param_groups[0]
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        closure = ember.enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss, evals = float(first_loss), 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if float(grad.abs().max()) <= group["tolerance_grad"]:
            return first_loss

        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            if state.get("prev_flat_grad") is None:
                state["prev_flat_grad"] = grad.clone()
            else:
                state["prev_flat_grad"].copy_(grad)
            state["prev_loss"] = loss
            lr = group["lr"]
            t = lr = lr.reshape(()) if isinstance(lr, ember.Tensor) else lr
            if state["n_iter"] == 1:
                t = min(1.0, 1.0 / grad.abs().sum()) * lr
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                state["t"] = t
                break
            used = 0
            if search is not None:
                start = _Point(0.0, loss, grad, slope)
                found, used = self._search(closure, start, float(t), direction)
                t, loss, grad = found.t, found.loss, found.grad
                self._move(float(t), direction)
            else:
                self._move(float(t), direction)
                if iteration != group["max_iter"]:
                    loss, used = float(closure()), 1
                    grad = self._flat_grad()
            state["t"] = t
            evals += used
            state["func_evals"] += used
            if self._finished(group, state, iteration, evals, grad, loss, direction, t):
                break
        return first_loss

    @staticmethod
    def _finished(group, state, iteration, evals, grad, loss, direction, t) -> bool:
        tolerance = group["tolerance_change"]
        return (
            iteration == group["max_iter"]
            or evals >= group["max_eval"]
            or float(grad.abs().max()) <= group["tolerance_grad"]
            or float(direction.mul(t).abs().max()) <= tolerance
            or abs(loss - state["prev_loss"]) < tolerance
        )

    @staticmethod
    def _direction(state: dict, grad, history: int):
        """Minus the gradient times the estimated inverse Hessian (two loops)."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0, d=grad.neg())
            return state["d"]
        changes, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        change = grad - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        curvature = change.dot(step)
        if curvature > 1e-10:
            if len(changes) == history:
                del changes[0], steps[0], ro[0]
            changes.append(change)
            steps.append(step)
            ro.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        q = grad.neg()
        alphas = state.setdefault("al", [None] * history)
        for i in reversed(range(len(changes))):
            alphas[i] = steps[i].dot(q) * ro[i]
            q.add_(changes[i], alpha=-float(alphas[i]))
        d = q.mul_(state["H_diag"])
        for i in range(len(changes)):
            beta = changes[i].dot(d) * ro[i]
            d.add_(steps[i], alpha=float(alphas[i] - beta))
        state["d"] = d
        return d

    def _search(self, closure, start: _Point, t: float, direction):
        saved = [p.clone() for p in self._params]

        def evaluate(t: float) -> _Point:
            self._move(t, direction)
            loss, grad = float(closure()), self._flat_grad()
            for p, value in zip(self._params, saved):
                p.copy_(value)
            return _Point(t, loss, grad, grad.dot(direction))

        size = direction.abs().max()
        return _strong_wolfe(evaluate, start, t, size)


def _strong_wolfe(
    evaluate, start: _Point, t: float, size: float, c1=1e-4, c2=0.9, tolerance=1e-9
) -> tuple[_Point, int]:
    """A point that lowers the loss and the slope enough, and the evaluations used."""
    limit = 25

    def too_high(point: _Point) -> bool:
        return point.loss > start.loss + c1 * point.t * start.slope

    def flat(point: _Point) -> bool:
        return abs(point.slope) <= -c2 * start.slope

    # Go outwards until two points enclose a minimum.
    previous, point = start, evaluate(t)
    evals, rounds = 1, 0
    bracket = [start, point]
    while rounds < limit:
        if too_high(point) or (rounds > 1 and point.loss >= previous.loss):
            bracket = [previous, point]
            break
        if flat(point):
            return point, evals
        if point.slope >= 0:
            bracket = [previous, point]
            break
        bounds = (point.t + 0.01 * (point.t - previous.t), point.t * 10)
        t = _cubic(previous, point, bounds)
        previous, point = point, evaluate(t)
        evals, rounds = evals + 1, rounds + 1
    else:
        bracket = [start, point]

    # Then narrow the bracket; `low` is its better end.
    low, high = sorted(bracket, key=lambda p: p.loss)
    stalled = False
    while rounds < limit and abs(high.t - low.t) * size >= tolerance:
        left, right = sorted((low.t, high.t))
        t = _cubic(low, high)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        point = evaluate(t)
        evals, rounds = evals + 1, rounds + 1
        if too_high(point) or point.loss >= low.loss:
            high = point
            if high.loss < low.loss:
                low, high = high, low
            continue
        done = flat(point)
        if not done and point.slope * (high.t - low.t) >= 0:
            high = low
        low = point
        if done:
            break
    return low, evals


def _cubic(a: _Point, b: _Point, bounds: tuple | None = None) -> float:
    """The minimum of the cubic through two points with their slopes."""
    low, high = bounds or sorted((a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if a.t > b.t:
        a, b = b, a
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)
