"""`functorch`, the older name of `ember.func`, for opacus, botorch and others.

PyTorch's distribution has it beside `torch`; its functions say where they are now.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import ember.func
from ember import _lazy
from ember.fx.experimental.proxy_tensor import make_fx

_TEXT = (
    "We've integrated functorch into PyTorch. `functorch.{}` is deprecated and will be "
    "deleted in a future version. Please use `{}` instead; see the migration guide of "
    "`torch.func` for more details."
)


def _old(name: str, new: str) -> Callable[..., Any]:
    """A function of `ember.func` that warns that it has a newer name."""
    function = getattr(ember.func, name)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(_TEXT.format(name, new), FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return wrapped


vmap = _old("vmap", "torch.vmap")
grad = _old("grad", "torch.func.grad")
grad_and_value = _old("grad_and_value", "torch.func.grad_and_value")
vjp = _old("vjp", "torch.func.vjp")
jvp = _old("jvp", "torch.func.jvp")
jacrev = _old("jacrev", "torch.func.jacrev")
jacfwd = _old("jacfwd", "torch.func.jacfwd")
hessian = _old("hessian", "torch.func.hessian")
functionalize = _old("functionalize", "torch.func.functionalize")
make_functional = _old("make_functional", "torch.func.functional_call")
make_functional_with_buffers = _old(
    "make_functional_with_buffers", "torch.func.functional_call"
)
combine_state_for_ensemble = _old(
    "combine_state_for_ensemble", "torch.func.stack_module_state"
)
__version__ = ember.__version__

__all__ = [
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "make_fx",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    if hasattr(ember.func, name):
        return getattr(ember.func, name)
    return _lazy.missing(__name__)(name)
