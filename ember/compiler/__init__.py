"""`ember.compile` and what programs tell a compiler.

There is no compiler yet: `compile` gives back the function or module, which computes
the same, op by op.

>>> import ember
>>> @ember.compile
... def f(x):
...     return x * 2
>>> f(ember.ones(2))
tensor([2., 2.])
>>> ember.compiler.is_compiling()
False
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ember import _lazy, _unavailable

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
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

_MODES = (
    "default",
    "lite",
    "max-autotune",
    "max-autotune-no-cudagraphs",
    "reduce-overhead",
)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    **other: Any,
) -> Any:
    """`model`, a function or module, itself: it computes the same, op by op.

    Without a model, a decorator.
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at "
            "the same time."
        )
    if mode is not None and mode not in _MODES:
        raise RuntimeError(
            f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}"
        )
    if model is None:
        return lambda function: function
    if not callable(model):
        raise RuntimeError(f"compile(): a function or module, not {model!r}")
    return model


def is_compiling() -> bool:
    """False: programs run op by op."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Nothing to forget: nothing was compiled."""


def cudagraph_mark_step_begin() -> None:
    """Nothing to mark: nothing is recorded."""


def _itself(function: Any) -> Any:
    """The function itself."""
    return function


allow_in_graph = assume_constant_result = _itself


def disable(
    fn: Any = None, recursive: bool = True, *, reason: str | None = None
) -> Any:
    """`fn` itself, which is not compiled; without it, a decorator."""
    return _itself if fn is None else fn


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """`fn` itself; without it, a decorator."""
    return _itself if fn is None else fn


class set_stance:
    """How to treat functions that were compiled, for good, a block or a function.

    All of them run op by op, whatever the stance.
    """

    _STANCES = (
        "default",
        "default_eager_backend_on_recompile",
        "eager_on_recompile",
        "fail_on_recompile",
        "force_eager",
    )

    def __init__(self, stance: str = "default", **options: Any) -> None:
        if stance not in self._STANCES and stance != "aot_eager_then_compile":
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that gives back its function: only a compiler would put it in place
    of `original_fn`."""
    return _itself


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


_default_backend: Any = "inductor"


def set_default_backend(backend: Any) -> None:
    """The backend that `compile` would use."""
    global _default_backend
    _default_backend = backend


def get_default_backend() -> Any:
    """What `set_default_backend` was given."""
    return _default_backend


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Compilers that `compile` can use: none yet."""
    return []


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
    "there is no compiler yet, and nothing compiled to keep",
    "CacheInfo load_cache_artifacts load_compiled_function save_cache_artifacts",
)
__getattr__ = _lazy.missing(__name__)
