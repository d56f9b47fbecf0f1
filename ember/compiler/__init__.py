"""`ember.compile` and what programs tell a compiler.

>>> import ember
>>> @ember.compile
... def f(x):
...     return x * 2
>>> f(ember.ones(2))
tensor([2., 2.])

`_face` has `compile` itself; the other files make machine code (docs/compile.md).
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ember import _lazy, _unavailable
from ember.compiler._face import state as _state
from ember.compiler._face.backends import (
    get_default as get_default_backend,
    names as _names,
    set_default as set_default_backend,
)
from ember.compiler._face.compiled import compile, disable
from ember.compiler._face.explain import explain
from ember.compiler._face.state import set_stance

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "explain",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
]


def is_compiling() -> bool:
    """Whether a function is being followed for a backend that is handed graphs. With
    ember's own compiler Python runs every call, and there is nothing to avoid.

    >>> import ember
    >>> ember.compiler.is_compiling()
    False
    """
    return bool(_state.here.capturing)


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """False: `ember.export` runs programs on tensors."""
    return False


def reset() -> None:
    """Forget what was compiled, but for machine code on disk."""
    import sys

    from ember import _C

    _C._lazy_reset()
    capture = sys.modules.get("ember.compiler._face.capture")
    if capture is not None:
        for captured in capture.Captured.everything:
            captured.forget()


def cudagraph_mark_step_begin() -> None:
    """Nothing: memory is never reused behind a program's back."""


def allow_in_graph(fn: Any) -> Any:
    """`fn` itself, which Python calls wherever it is called."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """`fn` itself, which is called each time."""
    return fn


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """`fn` itself; without it, a decorator. Kernels are shared by equal code anyway."""
    return (lambda function: function) if fn is None else fn


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Names that `compile` takes for `backend`.

    >>> import ember
    >>> ember.compiler.list_backends()
    ['inductor']
    """
    return _names(exclude_tags)


def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that gives back its function: `original_fn` is called as it is."""
    return lambda function: function


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as one of tensors.

    >>> import ember, numpy
    >>> ember.compiler.wrap_numpy(numpy.cumsum)(ember.tensor([1, 2]))
    tensor([1, 3])
    """
    from functools import wraps

    import ember
    from ember.utils._pytree import tree_map

    def to_array(value: Any) -> Any:
        return value.numpy() if isinstance(value, ember.Tensor) else value

    def to_tensor(value: Any) -> Any:
        return ember.as_tensor(value) if type(value).__name__ == "ndarray" else value

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(to_array, (args, kwargs))
        return tree_map(to_tensor, fn(*args, **kwargs))

    return wrapped


def set_enable_guard_collectives(enabled: bool) -> bool:
    """False, the value before: nothing is guarded."""
    return False


def _every_guard(guard_entries: Any) -> list[bool]:
    return [True for _ in guard_entries]


keep_portable_guards_unsafe = keep_tensor_guards_unsafe = _every_guard
skip_guard_on_all_nn_modules_unsafe = skip_guard_on_globals_unsafe = _every_guard
skip_guard_on_inbuilt_nn_modules_unsafe = _every_guard


def skip_all_guards_unsafe(guard_entries: Any) -> list[bool]:
    """No guard is kept."""
    return [False for _ in guard_entries]


config = SimpleNamespace(
    job_id=None,
    cache_key_tag="",
    dynamic_sources="",
    unbacked_sources="",
    force_disable_caches=False,
    enable_cpp_framelocals_guard_eval=True,
    wrap_top_frame=False,
    force_nn_module_property_static_shapes=True,
)
_unavailable.fill(
    globals(),
    "compiler",
    "machine code is kept on disk by itself (EMBER_JIT_CACHE)",
    "CacheInfo load_cache_artifacts load_compiled_function save_cache_artifacts",
)
__getattr__ = _lazy.missing(__name__)
