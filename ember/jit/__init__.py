"""TorchScript by name: `script` and `trace` give back what they are given.

A scripted program computes what the same program computes in Python, and here it runs
in Python. What needs the compiled form (saving it, inspecting its graph) raises.

>>> import ember
>>> @ember.jit.script
... def double(x: ember.Tensor):
...     return x + x
>>> double(ember.ones(2))
tensor([2., 2.])
>>> ember.jit.is_scripting()
False
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import UnionType
from typing import Any, Final, NamedTuple, NoReturn, Union, cast

from ember import _lazy, _unavailable
from ember._odds import fork, wait
from ember.futures import Future
from ember.nn.modules.module import Module as Module

_REASON = "ember has no TorchScript compiler; programs run as Python"


def script(
    obj: Any,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """`obj` itself, a function, module or class: it runs as Python."""
    return obj


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    example_kwarg_inputs: Any = None,
    **options: Any,
) -> Any:
    """`func` itself. Branches are taken anew in each call, as in Python."""
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError(
            "example_kwarg_inputs should be a dict, or example_inputs a tuple"
        )
    return func


def trace_module(mod: Any, inputs: Any, **options: Any) -> Any:
    """`mod` itself; `inputs` is a dict from the names of methods to arguments."""
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    return mod


def is_scripting() -> bool:
    """False: the program runs as Python."""
    return False


def is_tracing() -> bool:
    """False: the program runs as Python."""
    return False


def _itself(function: Any) -> Any:
    """The function itself, which runs as Python."""
    return function


export = interface = script_method = script_if_tracing = _itself


def ignore(drop: Any = False, **options: Any) -> Any:
    """Leave a function to Python, where all of them are; with or without arguments."""
    return drop if callable(drop) else _itself


unused = ignore


class _IgnoreContextManager:
    """A block that a compiler would leave to Python."""

    def __init__(self, **options: Any) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value`; the type is a hint to compilers.

    >>> import ember
    >>> ember.jit.annotate(list[int], [1])
    [1]
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type, of which there may be a list.

    >>> import ember
    >>> ember.jit.isinstance([1, 2], list[int])
    True
    """
    from typing import get_args, get_origin

    if builtins.isinstance(target_type, (tuple, list)):
        return any(isinstance(obj, one) for one in target_type)
    origin, inner = get_origin(target_type), get_args(target_type)
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if origin in (Union, UnionType):
        return any(isinstance(obj, one) for one in inner)
    if not builtins.isinstance(obj, origin):
        return False
    obj = cast(Any, obj)
    if origin is dict:
        return all(
            isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in obj.items()
        )
    if origin is tuple and Ellipsis not in inner:
        return len(obj) == len(inner) and all(map(isinstance, obj, inner))
    return all(isinstance(item, inner[0]) for item in obj)


class Attribute(NamedTuple):
    """A value and its type, for a compiler."""

    value: Any
    type: Any


class Error(RuntimeError):
    """An error of compiled code."""


class ScriptWarning(Warning):
    """A doubt of the compiler."""


class TracerWarning(Warning):
    """A doubt of the tracer."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """None are given."""


class TracingCheckError(Exception):
    """A trace that differs from the program."""


class ScriptModule(Module):
    """A module; subclasses run as Python, none is made by `script`."""

    def save(self, f: Any, **options: Any) -> NoReturn:
        """Raises: see `ember.jit.save`."""
        raise _unavailable.Unavailable(f"ScriptModule.save(): {_SAVE}")


class RecursiveScriptModule(ScriptModule):
    """What a compiler makes of a module; here it makes none."""


class TracedModule(ScriptModule):
    """What a tracer makes of a module; here it makes none."""


class TopLevelTracedModule(TracedModule):
    """What a tracer makes of the outermost module; here it makes none."""


class RecursiveScriptClass:
    """What a compiler makes of a class; here it makes none."""


class ScriptFunction:
    """What a compiler makes of a function; here it makes none."""


_SAVE = (
    "ember has no TorchScript files; save the state instead, with "
    "ember.save(module.state_dict(), path), and load it into a module made in Python"
)
save = _unavailable.function("jit.save", _SAVE)
load = _unavailable.function("jit.load", _SAVE)
_unavailable.fill(
    globals(),
    "jit",
    _REASON,
    """CompilationUnit ONNXTracedModule export_opnames jit_module_from_flatbuffer
    save_jit_module_to_flatbuffer last_executed_optimized_graph""",
)


def freeze(
    mod: Any,
    preserved_attrs: list[str] | None = None,
    optimize_numerics: bool = True,
    preserve_parameters: bool = False,
) -> Any:
    """`mod` itself, which must be in eval mode."""
    if builtins.isinstance(mod, Module) and mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please "
            "call .eval() on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """`mod` itself, which must be in eval mode."""
    return freeze(mod)


def run_frozen_optimizations(mod: Any, *args: Any, **options: Any) -> None:
    """Nothing: there is no graph to optimize."""


_fusion: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Kept, and the one before it returned; nothing is fused."""
    global _fusion
    before, _fusion = _fusion, strategy
    return before


_onednn = False


def enable_onednn_fusion(enabled: bool) -> None:
    """Kept; nothing is fused."""
    global _onednn
    _onednn = enabled


def onednn_fusion_enabled() -> bool:
    """What `enable_onednn_fusion` was given."""
    return _onednn


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """A block in which a compiler would fuse in some way; results are the same."""
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block in which a compiler would or would not optimize."""
    yield


strict_fusion = _IgnoreContextManager


def _overload(function: Callable[..., Any]) -> Callable[..., Any]:
    """A signature for a compiler; the last definition of the name is the function."""
    return function


_overload_method = _overload

__all__ += [  # type: ignore[name-defined]  # noqa: F821 (begun by `fill`)
    "Attribute",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptClass",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
del annotations  # of __future__: jit.annotations is a module
__getattr__ = _lazy.missing(__name__)
