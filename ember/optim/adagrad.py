"""Optimizers with a rate for each element: Adagrad, Adadelta, RMSprop and Rprop."""

import ember
from ember._types import Parameters, Rate
from ember.optim._common import (
    advance,
    check,
    check_implementation,
    check_lr,
    collect,
    make_step,
    number,
    options,
    scalar,
)
from ember.optim.optimizer import Optimizer


def _start(p, state: dict, *names: str) -> None:
    """Zeros under these names, and a count of steps."""
    state["step"] = scalar(0.0)
    for name in names:
        state[name] = ember.zeros_like(p, requires_grad=False)


def _is_sparse(grad) -> bool:
    return grad is not None and grad.layout != ember.strided


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of squared gradients.

    Args:
        params: tensors, or dicts of groups with `params` and options of their own
        lr: the rate
        lr_decay: by how much the rate falls with each step
        weight_decay: this times the parameter is added to the gradient
        initial_accumulator_value: what the sums of squares begin with
        eps: added to the denominator
        maximize: climb instead of descend

    >>> p = nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.Adagrad([p], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (p * 3).backward()
    ...     optimizer.step()
    >>> p.data  # 1 - 0.1 - 0.1 / sqrt(2)
    tensor([0.8293])
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = options(locals())
        check_lr(lr)
        check(lr_decay >= 0.0, "lr_decay value", lr_decay)
        check(weight_decay >= 0.0, "weight_decay value", weight_decay)
        start = initial_accumulator_value
        check(start >= 0.0, "initial_accumulator_value value", start)
        check(eps >= 0.0, "epsilon value", eps)
        check_implementation(foreach, fused)
        defaults["initial_accumulator_value"] = start
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                value = complex(start, start) if p.is_complex() else start
                total = ember.full_like(p, value, requires_grad=False)
                self.state[p] = {"step": scalar(0.0), "sum": total}

    def share_memory(self) -> None:
        """Move the sums to memory shared between processes."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _update(self, group: dict) -> None:
        sparse = [p for p in group["params"] if _is_sparse(p.grad)]
        if sparse:
            for p in sparse:
                self._sparse_step(p, group)
            dense = [p for p in group["params"] if not _is_sparse(p.grad)]
            group = {**group, "params": dense}
        make_step("adagrad", collect(self, group, self._start), group)

    def _sparse_step(self, p, group: dict) -> None:
        """Only rows that have a gradient change."""
        if group["weight_decay"]:
            raise RuntimeError(
                "weight_decay option is not compatible with sparse gradients"
            )
        state = self.state[p]
        if not state:
            self._start(p, state, group)
        step = advance(state)
        grad = -p.grad if group["maximize"] else p.grad
        grad = grad.coalesce()
        if not grad.values().numel():
            return
        total = state["sum"].add_(grad * grad)
        root = total.sparse_mask(grad).values().sqrt().add_(group["eps"])
        scale = number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        change = grad.values() / root
        change = ember.sparse_coo_tensor(grad.indices(), change, grad.shape)
        p.add_(change, alpha=-scale)

    @staticmethod
    def _start(p, state: dict, group: dict) -> None:
        _start(p, state, "sum")  # a parameter that was added later


class Adadelta(Optimizer):
    """Steps in units of their own running size (arXiv:1212.5701).

    Args:
        params: tensors, or dicts of groups with `params` and options of their own
        lr: factor of the steps
        rho: decay of the running squares
        eps: added to the denominator
        weight_decay: this times the parameter is added to the gradient
        maximize: climb instead of descend

    >>> p = nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.Adadelta([p])
    >>> (p * 3).backward()
    >>> optimizer.step()
    >>> bool(p < 1)
    True
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = options(locals())
        check_lr(lr)
        check(0.0 <= rho <= 1.0, "rho value", rho)
        check(eps >= 0.0, "epsilon value", eps)
        check(weight_decay >= 0.0, "weight_decay value", weight_decay)
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        make_step("adadelta", collect(self, group, self._start), group)

    @staticmethod
    def _start(p, state: dict, group: dict) -> None:
        _start(p, state, "square_avg", "acc_delta")


class RMSprop(Optimizer):
    """Steps divided by the root of the running mean square.

    Args:
        params: tensors, or dicts of groups with `params` and options of their own
        lr: the rate
        alpha: decay of the running square
        eps: added to the denominator
        weight_decay: this times the parameter is added to the gradient
        momentum: share of the last step that is kept
        centered: divide by the deviation from the mean instead
        maximize: climb instead of descend

    >>> p = nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.RMSprop([p], lr=0.01)
    >>> (p * 3).backward()
    >>> optimizer.step()
    >>> p.data  # 1 - 0.01 * 3 / sqrt(0.01 * 9)
    tensor([0.9000])
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = options(locals())
        check_lr(lr)
        check(eps >= 0.0, "epsilon value", eps)
        check(momentum >= 0.0, "momentum value", momentum)
        check(weight_decay >= 0.0, "weight_decay value", weight_decay)
        check(alpha >= 0.0, "alpha value", alpha)
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        without = ["momentum_buffer"] * bool(group["momentum"] <= 0)
        without += ["grad_avg"] * (not group["centered"])
        make_step("rmsprop", collect(self, group, self._start), group, without)

    @staticmethod
    def _start(p, state: dict, group: dict) -> None:
        _start(p, state, "square_avg")
        if group["momentum"] > 0:
            state["momentum_buffer"] = ember.zeros_like(p, requires_grad=False)
        if group["centered"]:
            state["grad_avg"] = ember.zeros_like(p, requires_grad=False)


class Rprop(Optimizer):
    """Steps whose size grows while the gradient keeps its sign.

    Only the signs of gradients count, so batches should be the whole data.

    Args:
        params: tensors, or dicts of groups with `params` and options of their own
        lr: size of the first steps
        etas: factors for steps whose sign has changed, and has not
        step_sizes: the least and the largest step
        maximize: climb instead of descend

    >>> p = nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.Rprop([p], lr=0.1)
    >>> (p * 3000).backward()
    >>> optimizer.step()
    >>> p.data
    tensor([0.9000])
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = options(locals())
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, defaults)

    def _update(self, group: dict) -> None:
        (shrink, grow), (low, high) = group["etas"], group["step_sizes"]
        found, bounds = (
            collect(self, group, self._start),
            {"step_min": low, "step_max": high},
        )
        make_step("rprop", found, group, eta_minus=shrink, eta_plus=grow, **bounds)

    @staticmethod
    def _start(p, state: dict, group: dict) -> None:
        _start(p, state, "prev")
        size = number(group["lr"])
        start = complex(size, size) if p.is_complex() else size
        state["step_size"] = ember.full_like(p, start, requires_grad=False)
