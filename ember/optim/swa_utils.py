"""Averages of a model's weights over training (SWA, arXiv:1803.05407; EMA)."""

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import ember
from ember._types import DeviceLike
from ember.nn import Module
from ember.optim._scheduler import LRScheduler, copy_of
from ember.optim.optimizer import Optimizer


class SWALR(LRScheduler):
    """Anneals the rate to a constant in `anneal_epochs`."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        count = len(optimizer.param_groups)
        rates = swa_lr if isinstance(swa_lr, (list, tuple)) else [swa_lr] * count
        if len(rates) != count:
            raise ValueError(
                "swa_lr must have the same length as optimizer.param_groups: swa_lr "
                f"has {len(rates)}, optimizer.param_groups has {count}"
            )
        for rate, group in zip(rates, optimizer.param_groups):
            group["swa_lr"] = copy_of(rate)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must by one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}"
            )
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: float) -> float:
        """How far the rate is on its way to `swa_lr`."""
        t = max(0, min(1, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal, rate = group["swa_lr"], group["lr"]
            # The rate at the start, from the one that is set.
            start = goal if before == 1 else (rate - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """The averaging function of an exponential moving average."""
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay}. Please provide a value in [0,1]"
        )

    @ember.no_grad()
    def average(ema, current, num_averaged):
        return decay * ema + (1 - decay) * current

    return average


def get_swa_avg_fn() -> Callable:
    """The averaging function of an equal average."""

    @ember.no_grad()
    def average(averaged, current, num_averaged):
        return averaged + (current - averaged) / (num_averaged + 1)

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """`get_ema_avg_fn` for lists of tensors, changed in place."""
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay}. Please provide a value in [0,1]"
        )

    @ember.no_grad()
    def average(emas, currents, num_averaged) -> None:
        for ema, current in zip(emas, currents):
            if ema.is_floating_point() or ema.is_complex():
                ema.lerp_(current, 1 - decay)
            else:
                ema.copy_(ema * decay + current * (1 - decay))

    return average


def get_swa_multi_avg_fn() -> Callable:
    """`get_swa_avg_fn` for lists of tensors, changed in place."""

    @ember.no_grad()
    def average(averages, currents, num_averaged) -> None:
        count = float(num_averaged) + 1
        for averaged, current in zip(averages, currents):
            if averaged.is_floating_point() or averaged.is_complex():
                averaged.lerp_(current, 1 / count)
            else:
                averaged.add_((current - averaged) // count)

    return average


class AveragedModel(Module):
    """A copy of a model whose weights are averages; `update_parameters` adds to them.

    >>> import ember
    >>> from ember.optim.swa_utils import AveragedModel
    >>> model = ember.nn.Linear(1, 1)
    >>> averaged = AveragedModel(model)
    >>> averaged.update_parameters(model)
    """

    def __init__(
        self,
        model: Module,
        device: DeviceLike | None = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError(
                "Only one of avg_fn and multi_avg_fn should be provided"
            )
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        count = ember.tensor(0, dtype=ember.long, device=device)
        self.register_buffer("n_averaged", count)
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _values(self, module: Module) -> list:
        buffers = list(module.buffers()) if self.use_buffers else []
        return [*module.parameters(), *buffers]

    def update_parameters(self, model: Module) -> None:
        """Take the model's present weights into the average."""
        own = [p.detach() for p in self._values(self.module)]
        new = [p.detach().to(o.device) for p, o in zip(self._values(model), own)]
        count = int(self.n_averaged)
        if count == 0:
            for o, p in zip(own, new):
                o.copy_(p)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(own, new, self.n_averaged)
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for o, p in zip(own, new):
                if o.is_floating_point() or o.is_complex():
                    o.copy_(average(o, p, self.n_averaged))
                else:
                    o.copy_(p)
        if not self.use_buffers:
            for o, p in zip(self.module.buffers(), model.buffers()):
                o.detach().copy_(p.detach())
        self.n_averaged.add_(1)


@ember.no_grad()
def update_bn(
    loader: Iterable, model: Module, device: DeviceLike | None = None
) -> None:
    """Compute the statistics of batch norm again, by one pass over the data."""
    norms = [m for m in model.modules() if hasattr(m, "running_mean") and m.training]
    momenta = {m: m.momentum for m in norms if m.running_mean is not None}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for norm in momenta:
        norm.reset_running_stats()
        norm.momentum = None  # an equal average
    for batch in loader:
        if isinstance(batch, (list, tuple)):
            batch = batch[0]
        model(batch if device is None else batch.to(device))
    for norm, momentum in momenta.items():
        norm.momentum = momentum
    model.train(was_training)
