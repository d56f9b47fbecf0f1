"""`autocast`: the dtype in which ops run, chosen by their traits.

Inside, a mode (ember/overrides.py) sees every op. Products and convolutions get their
inputs in the lower precision, ops that need range or accuracy in float32, and what
joins tensors in the widest dtype among them. Everything else runs as it is called.
Gradients of the casts bring the gradients back to float32.
"""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import ember
from ember import _C, Tensor, _lazy
from ember._traits import traits_of
from ember._types import Dtype
from ember._user_line import warn
from ember.autograd._decorate import DecoratorContextManager

_DTYPES = {"cpu": ember.bfloat16, "cuda": ember.float16}
_KNOWN = "cpu cuda ipu xpu mps meta hpu mtia opencl xla privateuseone".split()


class _State(threading.local):
    """Of one thread: whether, and to which dtype, for each type of device."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes = dict(_DTYPES)
        self.cached = True
        self.depth = 0
        self.casts: dict[int, tuple[Tensor, Tensor]] = {}


_state = _State()


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` does something on a type of device.

    >>> import ember
    >>> ember.amp.is_autocast_available("cpu")
    True
    """
    if device_type not in _KNOWN:
        raise RuntimeError(
            f"Expected one of {', '.join(_KNOWN)} device type at start of device "
            f"string: {device_type}"
        )
    return device_type == "cpu" or _C._means_device_kind(device_type, "opencl")


def _switch(function: str, enabled: object) -> bool:
    if not isinstance(enabled, bool):
        raise TypeError(
            f"{function}(): argument 'enabled' must be bool, not "
            f"{type(enabled).__name__}"
        )
    return enabled


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether ops on this type of device are cast now."""
    return _state.enabled.get(device_type, False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch casting on or off; inside `autocast` only."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    is_autocast_available(device_type)  # refuses what is no type of device
    _state.enabled[device_type] = _switch("set_autocast_enabled", enabled)


def get_autocast_dtype(device_type: str) -> Dtype:
    """The dtype that products are computed in, on this type of device."""
    return _state.dtypes.get(device_type, ember.bfloat16)


def set_autocast_dtype(device_type: str, dtype: Dtype) -> None:
    """Choose the dtype of products."""
    is_autocast_available(device_type)
    if not isinstance(dtype, ember.dtype):
        raise TypeError(
            "set_autocast_dtype(): argument 'dtype' must be torch.dtype, not "
            f"{type(dtype).__name__}"
        )
    _state.dtypes[device_type] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether a parameter is cast once and then kept, inside `autocast`."""
    return _state.cached


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep the casts of parameters, or make them each time."""
    _state.cached = _switch("set_autocast_cache_enabled", enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters."""
    _state.casts.clear()


class _Mode:
    """Sees the ops inside `autocast` and casts their inputs."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        traits = traits_of(func)
        if "lower" in traits:
            cast: Any = _to_lower
        elif "float32" in traits:
            cast = _to_float32
        elif "widest" in traits:
            cast = _to_widest([*args, *kwargs.values()])
        else:
            plain = getattr(func, "__wrapped__", None)
            if plain is None:
                return func(*args, **kwargs)
            # A function of Python, whose ops are to be seen, too.
            _C._push_on_torch_function_stack(self)
            try:
                return plain(*args, **kwargs)
            finally:
                _C._pop_torch_function_stack()
        if not is_autocast_enabled(_device_type(args, kwargs)):
            return func(*args, **kwargs)
        args = tuple(_mapped(cast, a) for a in args)
        return func(*args, **{k: _mapped(cast, v) for k, v in kwargs.items()})


_mode = _Mode()


def _device_type(args, kwargs) -> str:
    for value in [*args, *kwargs.values()]:
        items = value if isinstance(value, (list, tuple)) else (value,)
        for item in items:
            if isinstance(item, Tensor):
                return item.device.type
    return "cpu"


def _mapped(cast: Callable, value):
    if isinstance(value, Tensor):
        return cast(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        made = [cast(v) if isinstance(v, Tensor) else v for v in value]
        return made if isinstance(value, list) else tuple(made)
    return value


def _castable(x: Tensor) -> bool:
    return x.is_floating_point() and x.dtype != ember.float64


def _to_lower(x: Tensor) -> Tensor:
    dtype = get_autocast_dtype(x.device.type)
    if not _castable(x) or x.dtype == dtype:
        return x
    if not (
        _state.cached and x.is_leaf and x.requires_grad and ember.is_grad_enabled()
    ):
        return x.to(dtype)
    kept = _state.casts.get(id(x))
    if kept is None or kept[0] is not x or kept[1].dtype != dtype:
        kept = _state.casts[id(x)] = (x, x.to(dtype))
    return kept[1]


def _to_float32(x: Tensor) -> Tensor:
    return x.to(ember.float32) if _castable(x) else x


def _to_widest(values: list) -> Callable:
    found = [
        t.dtype
        for v in values
        for t in (v if isinstance(v, (list, tuple)) else (v,))
        if isinstance(t, Tensor) and _castable(t)
    ]
    wide = ember.float32 if ember.float32 in found else None
    return lambda x: x.to(wide) if wide is not None and _castable(x) else x


def autocast_increment_nesting() -> int:
    """Enter one more block, as `autocast` does; how many there are now.

    >>> import ember
    >>> ember.autocast_increment_nesting(), ember.autocast_decrement_nesting()
    (1, 0)
    """
    _state.depth += 1
    if _state.depth == 1:
        _C._push_on_torch_function_stack(_mode)
    return _state.depth


def autocast_decrement_nesting() -> int:
    """Leave a block, as `autocast` does; how many are left. Casts go with the last."""
    _state.depth -= 1
    if _state.depth == 0:
        _C._pop_torch_function_stack()
        clear_autocast_cache()
    return _state.depth


class autocast(DecoratorContextManager):
    """Run products and convolutions inside in lower precision.

    Usable as a context manager and as a decorator.

    >>> import ember
    >>> x = ember.ones(2, 2)
    >>> with ember.autocast("cpu"):
    ...     y = x @ x
    >>> y.dtype
    torch.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: Dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(
                f"Expected `device_type` of type `str`, got: `{type(device_type)}`"
            )
        available = is_autocast_available(device_type)
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._given = (device_type, dtype, enabled, cache_enabled)
        cached = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._cache_enabled = cached
        allowed = (ember.bfloat16, ember.float16)
        if enabled and available and self.fast_dtype not in allowed:
            name = device_type.upper() if device_type == "cpu" else device_type
            warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling "
                f"autocast.\n{name} Autocast only supports dtypes of torch.bfloat16, "
                "torch.float16 currently.",
            )
            enabled = False
        self._enabled = enabled and available

    def clone(self) -> "autocast":
        return type(self)(*self._given)

    def __enter__(self) -> "autocast":
        self._before = (
            is_autocast_enabled(self.device),
            get_autocast_dtype(self.device),
            _state.cached,
        )
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        _state.cached = self._cache_enabled
        autocast_increment_nesting()
        return self

    def __exit__(self, *error: Any) -> None:
        autocast_decrement_nesting()
        enabled, dtype, _state.cached = self._before
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, dtype)


def custom_fwd(
    fwd: Callable | None = None, *, device_type: str, cast_inputs: Any = None
) -> Callable:
    """Decorate the `forward` of an `autograd.Function` that autocast concerns.

    With `cast_inputs`, inputs come in that dtype and autocast is off inside.
    """
    if fwd is None:
        return lambda f: custom_fwd(f, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return fwd(*args, **kwargs)
        ctx._fwd_used_autocast = False

        def cast(x):
            same = x.device.type == device_type and _castable(x)
            return x.to(cast_inputs) if same else x

        with autocast(device_type, enabled=False):
            new = {key: _mapped(cast, value) for key, value in kwargs.items()}
            return fwd(*(_mapped(cast, a) for a in args), **new)

    return decorated


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorate the `backward` that goes with `custom_fwd`: it runs as forward did."""
    if bwd is None:
        return lambda f: custom_bwd(f, device_type=device_type)

    @wraps(bwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type, ctx._dtype, ctx._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return decorated


__getattr__ = _lazy.missing(__name__)
