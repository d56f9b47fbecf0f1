"""Adam for sparse gradients: only rows that have a gradient change."""

import math

import ember
from ember._types import Parameters, Rate
from ember.optim._common import check, check_betas, check_lr, number, options
from ember.optim.optimizer import Optimizer


class SparseAdam(Optimizer):
    """Adam that leaves averages and parameters of absent rows alone.

    Args:
        params: tensors with sparse gradients, such as those of `Embedding(sparse=True)`
        lr: the rate
        betas: decay of the running mean and of the running square
        eps: added to the denominator
        maximize: climb instead of descend

    >>> table = nn.Embedding(10, 2, sparse=True)
    >>> optimizer = ember.optim.SparseAdam(table.parameters())
    >>> before = table.weight.detach().clone()
    >>> table(ember.tensor([3])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight != before).any(1).nonzero()  # only the row that was used
    tensor([[3]])
    """

    def __init__(
        self,
        params: Parameters,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        defaults = options(locals())
        check_lr(lr)
        check(eps > 0.0, "epsilon value", eps)
        check_betas(betas)
        super().__init__(params, defaults)
        for g, group in enumerate(self.param_groups):
            for i, p in enumerate(group["params"]):
                if p.layout != ember.strided:
                    raise ValueError(
                        f"Sparse params at indices {[[g, i]]}: SparseAdam requires "
                        "dense parameter tensors"
                    )
                if p.is_complex():
                    raise ValueError(
                        f"Complex params at indices {[[g, i]]}: SparseAdam does not "
                        "support complex parameters"
                    )

    def _update(self, group: dict) -> None:
        lr, (beta1, beta2), eps = number(group["lr"]), group["betas"], group["eps"]
        for p in group["params"]:
            if p.grad is None:
                continue
            if p.grad.layout == ember.strided:
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam "
                    "instead"
                )
            state = self.state[p]
            if not state:
                state["step"] = 0
                state["exp_avg"] = ember.zeros_like(p, requires_grad=False)
                state["exp_avg_sq"] = ember.zeros_like(p, requires_grad=False)
            state["step"] = step = state["step"] + 1
            grad = p.grad.coalesce()
            if grad.values().numel() == 0:
                continue
            rows = tuple(grad.indices())
            values = -grad.values() if group["maximize"] else grad.values()
            average = state["exp_avg"][rows].lerp(values, 1 - beta1)
            square = state["exp_avg_sq"][rows].lerp(values * values, 1 - beta2)
            state["exp_avg"][rows] = average
            state["exp_avg_sq"][rows] = square
            size = lr * math.sqrt(1 - beta2**step) / (1 - beta1**step)
            p[rows] = p[rows] - size * average / square.sqrt().add_(eps)
