"""`GradScaler`: losses multiplied so that gradients in float16 do not vanish."""

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any

import ember
from ember import Tensor
from ember._user_line import warn

if TYPE_CHECKING:
    from ember.optim import Optimizer


class OptState(Enum):
    """How far one optimizer is in a step."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    """What is known of an optimizer at the beginning of a step."""
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _any(found: dict[Any, Tensor]) -> bool:
    return any(f.item() for f in found.values())


@ember.no_grad()
def _elements(parameter: Tensor) -> Tensor:
    """The gradient of a parameter; of a sparse one its values, each once."""
    grad = parameter.grad
    assert grad is not None
    if not grad.is_sparse:
        return grad
    if grad.dtype is ember.float16:  # a sum of elements may overflow
        parameter.grad = grad.coalesce()
        grad = parameter.grad  # a sparse parameter has it at its own places
    return grad._values()


@ember.no_grad()
def _amp_foreach_non_finite_check_and_unscale_(
    self: Iterable[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Multiply tensors by `inv_scale`; `found_inf` becomes 1 if one has inf or nan."""
    factor = float(inv_scale.item())
    for grad in self:
        if not bool(grad.isfinite().all()):
            found_inf.fill_(1.0)
        if factor != 1.0:
            grad.mul_(factor)


@ember.no_grad()
def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """The next scale, in place: down after an overflow, up after good steps."""
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.zero_()
        return self
    growth_tracker.add_(1)
    if growth_tracker.item() == growth_interval:
        grown = self * scale_growth_factor
        if bool(grown.isfinite()):  # an infinite scale would stay so
            self.copy_(grown)
        growth_tracker.zero_()
    return self


class GradScaler:
    """Scales losses up and gradients down, and skips steps that overflowed.

    >>> import ember
    >>> w = ember.nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.SGD([w], lr=0.5)
    >>> scaler = ember.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([8.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.data
    tensor([0.5000])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        if enabled and device == "cuda":
            warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  "
                "Disabling.",
            )
            enabled = False
        self._enabled = enabled
        if enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        # Tensors from the first use on, as programs that reach for them expect.
        self._init_scale = float(init_scale)
        self._scale: Tensor | None = None
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._per_optimizer_states: defaultdict[int, dict[str, Any]] = defaultdict(
            _refresh_per_optimizer_state
        )

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        """Make the tensors of the scale and of the count of good steps."""
        self._scale = ember.full((), self._init_scale, dtype=ember.float32, device=dev)
        self._growth_tracker = ember.full(
            (), self._init_growth_tracker, dtype=ember.int32, device=dev
        )

    def _tensors(self, dev: Any) -> tuple[Tensor, Tensor]:
        if self._scale is None or self._growth_tracker is None:
            self._lazy_init_scale_growth_tracker(dev)
        return self._scale, self._growth_tracker  # type: ignore[return-value]

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(
                f"Attempted {funcname} but the scale is not known yet: losses have to "
                "be given to scaler.scale(loss) first."
            )
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """Losses, also in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._tensors(outputs.device)[0].to(outputs.device)
        if isinstance(outputs, Iterable):
            made = map(self.scale, outputs)
            return type(outputs)(made) if isinstance(outputs, (list, tuple)) else made
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Any, Tensor]:
        """Multiply the gradients; device -> 1 if one is inf or nan there, else 0."""
        by_device: dict[Any, list[Tensor]] = {}
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.dtype == ember.float16 and not allow_fp16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                by_device.setdefault(p.grad.device, []).append(_elements(p))
        found = {found_inf.device: found_inf}
        for device, grads in by_device.items():
            here = found.setdefault(device, found_inf.to(device, copy=True))
            _amp_foreach_non_finite_check_and_unscale_(
                grads, here, inv_scale.to(device)
            )
        return found

    def unscale_(self, optimizer: "Optimizer") -> None:
        """Divide the gradients of an optimizer's parameters, so as to clip them."""
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last "
                "update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        found = ember.zeros((), dtype=ember.float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(
            optimizer, inverse, found, False
        )
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: "Optimizer", *args: Any, **kwargs: Any) -> float | None:
        """`optimizer.step()`, unless a gradient is inf or nan."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                "Closure use is not currently supported if GradScaler is enabled."
            )
        scale, _ = self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(
                "step() has already been called since the last update()."
            )
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_its_own(optimizer, scale, state, args, kwargs)
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        result = None
        if not _any(state["found_inf_per_device"]):
            result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_its_own(self, optimizer, scale, state, args, kwargs):
        """The step of an optimizer that unscales and skips by itself."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn(
                "step(grad_scaler=...) is deprecated: GradScaler sets the attributes "
                "`grad_scale` and `found_inf` of the optimizer",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        unscaled = state["stage"] is OptState.UNSCALED
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        found = sum(state["found_inf_per_device"].values())
        optimizer.grad_scale = None if unscaled else scale
        optimizer.found_inf = found
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def _check_inf_per_device(self, optimizer) -> dict[Any, Tensor]:
        """Look for inf and nan, leaving the gradients as they are."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one = ember.ones((), dtype=ember.float32, device=scale.device)
        found = self._unscale_grads_(optimizer, one, ember.zeros_like(one), True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer) -> dict[Any, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Change the scale: down after an overflow, up after many steps without."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            scale.fill_(float(new_scale))
        else:
            states = self._per_optimizer_states.values()
            found = [f for s in states for f in s["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            total = sum((f.to(scale.device) for f in found[1:]), found[0])
            _amp_update_scale_(
                scale,
                tracker,
                total.to(scale.device),
                self._growth_factor,
                self._backoff_factor,
                self._growth_interval,
            )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def _get_growth_tracker(self) -> int:
        known = self._growth_tracker
        return self._init_growth_tracker if known is None else int(known.item())

    def get_scale(self) -> float:
        """The scale, 1 if scaling is off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Everything, for a checkpoint; empty if scaling is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a "
                "disabled instance of GradScaler."
            )
        self._init_scale = float(state_dict["scale"])
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = int(state_dict["_growth_tracker"])
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        if not self._enabled:
            return self.__dict__
        if self._per_optimizer_states:
            raise AssertionError(
                "A GradScaler instance may only be pickled at the beginning of an "
                "iteration, or at the end after scaler.update()."
            )
        known = {
            "_init_scale": self.get_scale(),
            "_init_growth_tracker": self._get_growth_tracker(),
            "_scale": None,
            "_growth_tracker": None,
        }
        return {**self.__dict__, **known}
