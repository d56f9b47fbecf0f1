"""Functions of functions: derivatives, `vmap`, and modules as functions.

They nest in any order. Derivatives run on the tape (Note [Derivatives of functions]),
`vmap` on tensors with a hidden dimension (Note [Batched tensors]). `import functorch`
under `ember.as_torch` gets this package, too.
"""

from collections.abc import Callable
from typing import Any

from ember.func._functorch import (
    FunctionalModule as FunctionalModule,
    FunctionalModuleWithBuffers as FunctionalModuleWithBuffers,
    combine_state_for_ensemble as combine_state_for_ensemble,
    make_functional as make_functional,
    make_functional_with_buffers as make_functional_with_buffers,
)
from ember.func._grad import grad, grad_and_value, jvp, linearize, vjp
from ember.func._jacobian import hessian, jacfwd, jacrev
from ember.func._modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from ember.func._rearrange import rearrange
from ember.func._vmap import vmap


def value_and_grad(func: Callable, argnums: int = 0, has_aux: bool = False) -> Callable:
    """`grad_and_value` with the value first.

    >>> import ember
    >>> ember.func.value_and_grad(lambda x: x**2)(ember.tensor(3.0))
    (tensor(9.), tensor(6.))
    """
    both = grad_and_value(func, argnums, has_aux)

    def wrapped(*args, **kwargs):
        made, value = both(*args, **kwargs)
        return value, made

    return wrapped


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """`func` itself: nothing here needs functions without changes in place."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for "
            f"remove={remove}. Valid options are: 'mutations' and "
            "'mutations_and_views'."
        )
    return func


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The batch behind a tensor inside `vmap`, for looking at it."""
    from ember.func._batched import Batched

    while type(tensor) is Batched:
        tensor = tensor.value
        if not recurse:
            break
    return tensor


__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]
