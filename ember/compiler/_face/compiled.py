"""`compile` and `disable`: functions and modules that run compiled, or never do."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any, TypeVar, overload

from ember import _C
from ember.compiler import _regions
from ember.compiler._face import backends, state
from ember.compiler._face.errors import Unsupported
from ember.compiler._face.settings import Settings, settings
from ember.nn import Module

_keys = itertools.count(1)


def new_key() -> int:
    """Of a function, under which the recorder keeps what happened."""
    return next(_keys)


C = TypeVar("C", bound=Callable[..., Any])  # a function or module stays what it was


@overload
def compile(
    model: C,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: Any = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    shapes_spec: Any = ...,
) -> C: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: Any = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    shapes_spec: Any = ...,
) -> Callable[[C], C]: ...
def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """`model`, a function or module, compiled; without it, a decorator.

    Python runs every call, so branches, prints, closures and random numbers do what
    they did. Pointwise ops in between are put off until their values are needed, and
    computed together by machine code; results are the same, bit for bit. Code is made
    in the background while the first calls run op by op, unless `fullgraph` or
    `mode="max-autotune"` has them wait. docs/compile.md tells what gains.

    `fullgraph`: to look at values on the way (a branch on a tensor, `item()`) is an
    error. `backend`: "inductor" is ember's own; "eager" runs op by op; a function is
    handed a GraphModule and example inputs, and gives what to run instead; `dynamic`
    (one graph for all sizes) and `recompile_limit` concern such functions. `disable`:
    `model` itself. `name`, `isolate_recompiles` and `shapes_spec` are accepted.

    >>> import ember
    >>> @ember.compile
    ... def f(x):
    ...     return (x * 2).exp() + 1
    >>> f(ember.zeros(2))
    tensor([2., 2.])
    """
    how = settings(fullgraph, dynamic, backend, mode, options, recompile_limit)
    if model is None:
        if disable:
            return lambda function: function
        return lambda function: compiled(function, how)
    if not callable(model):
        raise AssertionError(
            f"A callable function is expected, but {type(model)} is provided."
        )
    return model if disable else compiled(model, how)


def compiled(model: Any, how: Settings) -> Any:
    """See `compile`."""
    from ember.compiler._face.module import OptimizedModule

    if isinstance(model, OptimizedModule):
        model = model._orig_mod
    if isinstance(model, Module):
        return OptimizedModule(model, how)
    if inspect.isclass(model):
        setattr(model, "__call__", compiled(model.__call__, how))  # noqa: B010
        return model
    if getattr(model, "_torchdynamo_disable", False):
        return model
    return function(innermost(model), how)


def innermost(fn: Any) -> Any:
    """The function that was compiled, or `fn` itself."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn


def function(fn: Callable[..., Any], how: Settings) -> Callable[..., Any]:
    """A function that runs `fn` compiled."""
    if how.disabled:
        run = _disabled(fn)
    elif how.backend == backends.OWN:
        run = _recorded(fn, how)
        if how.replay:
            run = _replayed(fn, run)
    else:
        run = _with(fn, how)
    call: Any = functools.wraps(fn)(run)
    call._torchdynamo_orig_callable = fn
    call.get_compiler_config = how._asdict
    return call


def _recorded(fn: Callable[..., Any], how: Settings) -> Any:
    """`fn` in a region, in which pointwise work is put off and runs in groups."""
    _regions.install()
    key, fullgraph, wait = new_key(), how.fullgraph, how.wait
    opened, close, special = _C._lazy_open, _C._lazy_close, state.special

    # A call of a tiny function must not cost much more: hence one frame.
    def call(*args: Any, **kwargs: Any) -> Any:
        if special:
            if state.off():
                return fn(*args, **kwargs)
            if state.forced is not None:
                return forced(*args, **kwargs)
        opened(key, fullgraph, wait)
        try:
            return fn(*args, **kwargs)
        finally:
            close()

    def whole(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except RuntimeError as error:
            if str(error).startswith("compile(fullgraph=True)"):
                raise Unsupported(str(error)) from None
            raise

    forced = _with(fn, how)
    return whole if fullgraph else call


def _replayed(fn: Callable[..., Any], recorded: Callable[..., Any]) -> Any:
    """`fn` without Python, where calls repeat each other; else as `recorded` has it."""
    from ember.compiler._face.replay import replayed

    special, run = state.special, replayed(fn, recorded)

    def call(*args: Any, **kwargs: Any) -> Any:
        return (recorded if special else run)(*args, **kwargs)

    return call


def _with(fn: Callable[..., Any], how: Settings) -> Any:
    """`fn` as another backend has it; or the one that a stance forces on all."""
    runs: dict[Any, Callable[..., Any]] = {}

    def call(*args: Any, **kwargs: Any) -> Any:
        backend = how.backend if state.forced is None else state.forced
        if state.off() or backend == backends.EAGER:
            return fn(*args, **kwargs)
        run = runs.get(id(backend))
        if run is None:
            own = how._replace(backend=backend)
            if backend == backends.OWN:
                run = _recorded(fn, own)
            else:
                from ember.compiler._face.capture import Captured

                run = Captured(fn, own)
            runs[id(backend)] = run
        return run(*args, **kwargs)

    return call


# --- what is never compiled -----------------------------------------------------------


def disable(
    fn: Any = None, recursive: bool = True, *, reason: str | None = None
) -> Any:
    """`fn`, a function or module, not compiled, and nothing that it calls either;
    without it, a decorator.

    `recursive=False`: what it calls may be compiled.

    >>> import ember
    >>> ember.compile(ember.compiler.disable(lambda x: x + 1))(ember.zeros(1))
    tensor([1.])
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not callable(fn):
        raise AssertionError(
            f"A callable function is expected, but {type(fn)} is provided."
        )
    if not recursive:
        fn = innermost(fn)
        fn._torchdynamo_disable = True
        return fn
    if isinstance(fn, Module):
        from ember.compiler._face.module import OptimizedModule

        return OptimizedModule(fn, Settings(disabled=True))
    if inspect.isclass(fn):
        setattr(fn, "__call__", disable(fn.__call__))  # noqa: B010
        return fn
    fn = innermost(fn)
    call: Any = functools.wraps(fn)(_disabled(fn))
    call._torchdynamo_disable = True
    call._torchdynamo_disable_msg = reason
    call._torchdynamo_orig_callable = fn
    return call


def _disabled(fn: Callable[..., Any]) -> Any:
    """`fn` with nothing compiled that it calls."""
    here = state.here

    def call(*args: Any, **kwargs: Any) -> Any:
        state.count(here, "disabled", 1)
        try:
            return fn(*args, **kwargs)
        finally:
            state.count(here, "disabled", -1)

    return call
