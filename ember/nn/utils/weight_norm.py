"""Weights as a direction times a length, in the older form that works by a hook
(arXiv:1602.07868). `parametrizations.weight_norm` is the newer form.
"""

from typing import Any, TypeVar

from ember import Tensor
from ember._functions.aten import norm_except_dim
from ember.nn.modules.module import Module
from ember.nn.parameter import Parameter, is_lazy

M = TypeVar("M", bound=Module)


def scale_to(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """`v` with the lengths `g`."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook that makes `name` from `name_g` and `name_v` before each forward."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight that length and direction give now."""
        g, v = (getattr(module, self.name + end) for end in ("_g", "_v"))
        return scale_to(v, g, self.dim)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> "WeightNorm":
        """Split the weight of a module in two and register the hook."""
        if _hook_of(module, WeightNorm, name) is not None:
            raise RuntimeError(
                "Cannot register two weight_norm hooks on the same parameter " + name
            )
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized "
                "parameters. Make sure to run the dummy forward before applying weight "
                "normalization"
            )
        del module._parameters[name]
        length = norm_except_dim(weight, 2, fn.dim).detach()
        module.register_parameter(name + "_g", Parameter(length))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module: Module) -> None:
        """Put the weight back as one parameter."""
        weight = self.compute_weight(module).detach()
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Train the length and the direction of a weight separately.

    >>> import ember
    >>> m = ember.nn.utils.weight_norm(ember.nn.Linear(2, 3))
    >>> sorted(m.state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    import warnings

    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make the weight one parameter again.

    >>> layer = nn.Linear(3, 2)
    >>> layer = nn.utils.parametrizations.weight_norm(layer)
    >>> nn.utils.parametrize.is_parametrized(layer)
    True
    """
    remove_hook(module, WeightNorm, name, "weight_norm")
    return module


def _hook_of(module: Module, kind: type, name: str):
    """The key of a module's hook of this kind for this parameter, or None."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and getattr(hook, "name", None) == name:
            return key
    return None


def remove_hook(module: Module, kind: type, name: str, what: str) -> Any:
    """Undo the hook of this kind, and return it."""
    key = _hook_of(module, kind, name)
    if key is None:
        raise ValueError(f"{what} of '{name}' not found in {module}")
    hook = module._forward_pre_hooks.pop(key)
    hook.remove(module)
    return hook
