"""What the optimizers share: checks of options, and what a step of a group needs."""

import ember
from ember import Tensor

_strided = ember.strided


def check(ok: bool, what: str, value) -> None:
    """Raise PyTorch's error for an option out of range."""
    if not ok:
        raise ValueError(f"Invalid {what}: {value}")


def check_lr(lr) -> None:
    """A learning rate is a non-negative number or a tensor of one."""
    if isinstance(lr, Tensor):
        if lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
    else:
        check(lr >= 0.0, "learning rate", lr)


def check_betas(betas) -> None:
    """Two averaging factors in [0, 1)."""
    if len({isinstance(beta, Tensor) for beta in betas}) > 1:
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        check(0.0 <= beta < 1.0, f"beta parameter at index {i}", beta)


def number(value) -> float:
    """A learning rate as a number, also if it was given as a tensor."""
    return value.item() if isinstance(value, Tensor) else value


def rate(group: dict):
    """The learning rate of a group: a number, or a tensor to differentiate by."""
    return option(group, group["lr"])


def option(group: dict, value):
    """An option as a number, or as the tensor that is differentiated by."""
    wanted = group["differentiable"] and isinstance(value, Tensor)
    return value if wanted and value.requires_grad else number(value)


def add_scaled(p: Tensor, step: Tensor, scale) -> None:
    """p += scale * step."""
    if isinstance(scale, Tensor):
        p.add_(step * scale)
    else:
        p.add_(step, alpha=scale)


def add_ratio(p: Tensor, a: Tensor, b: Tensor, scale) -> None:
    """p += scale * a / b."""
    if isinstance(scale, Tensor):
        p.add_(a / b * scale)
    else:
        p.addcdiv_(a, b, value=scale)


def real(t: Tensor) -> Tensor:
    """A complex tensor as pairs of reals, which is how its elements are averaged."""
    return ember.view_as_real(t) if t.is_complex() else t


def collect(optimizer, group: dict, start) -> tuple[list, list, list[dict]]:
    """The parameters of a group that have a gradient, these, and their states.

    `start(p, state, group)` fills a state that is empty. Complex tensors are given as
    pairs of reals.
    """
    params, grads, states = [], [], []
    for p in group["params"]:
        grad = p.grad
        if grad is None:
            continue
        if grad.layout is not _strided:
            name = type(optimizer).__name__
            other = ", please consider SparseAdam instead" * (name in ("Adam", "AdamW"))
            raise RuntimeError(f"{name} does not support sparse gradients{other}")
        state = optimizer.state[p]
        if not state:
            start(p, state, group)
        if p.is_complex():
            p, grad = ember.view_as_real(p), ember.view_as_real(grad)
        params.append(p)
        grads.append(grad)
        states.append(state)
    return params, grads, states


def column(states: list[dict], name: str) -> list[Tensor]:
    """One entry of all states."""
    return [real(state[name]) for state in states]


def one_by_one(found: tuple[list, list, list[dict]], group: dict, weight_decay=0.0):
    """(parameter, gradient, state) of what `collect` found.

    The gradient has its sign changed for `maximize`, and L2 decay added.
    """
    for p, grad, state in zip(*found):
        if group["maximize"]:
            grad = -grad
        if isinstance(weight_decay, Tensor):
            grad = grad + p.clone() * option(group, weight_decay)  # p changes
        elif weight_decay:
            grad = grad.add(p, alpha=weight_decay)
        yield p, grad, state


def check_implementation(foreach, fused) -> None:
    """These choose among PyTorch's implementations; ember has one of each."""
    if foreach and fused:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def scalar(value: float) -> Tensor:
    """A number in an optimizer's state, as PyTorch keeps it."""
    wide = ember.get_default_dtype() == ember.float64
    return ember.tensor(value, dtype=ember.float64 if wide else ember.float32)


def counts(states: list[dict]) -> list[Tensor]:
    """The step counts of all states."""
    for state in states:
        if not isinstance(state["step"], Tensor):  # from PyTorch before 1.12
            state["step"] = scalar(float(state["step"]))
    return [state["step"] for state in states]


def advance(state: dict) -> float:
    """Count a step of one parameter; the number of this step."""
    return counts([state])[0].add_(1).item()
