"""Objects that take over ops: the `__torch_function__` protocol.

An op called with an argument whose type defines `__torch_function__` calls it instead,
with the function, the types that define it, and the arguments. The core does so for its
ops, operators, methods and attributes (core/python/overrides.cpp); functions written in
Python can take part with `handle_torch_function` or `wrap_torch_function`.

>>> import ember
>>> class Named(ember.Tensor):
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         print("called:", func.__name__)
...         return super().__torch_function__(func, types, args, kwargs)
>>> x = ember.ones(2).as_subclass(Named)
>>> y = x + 1
called: add
>>> type(y).__name__
'Named'
"""

import functools
import types
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any

import ember
from ember import _C, _tensor
from ember._C import (
    Tensor,
    _get_overloaded_args as _get_overloaded_args,
    _has_torch_function as has_torch_function,
    _has_torch_function_unary as has_torch_function_unary,
    _has_torch_function_variadic as has_torch_function_variadic,
)

__all__ = [
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

_MODULES = (
    "",
    "functional",
    "nn.functional",
    "nn.init",
    "linalg",
    "fft",
    "special",
    "sparse",
    "masked",
    "signal.windows",
)


def is_tensor_like(inp: object) -> bool:
    """Whether `inp` is a tensor, or an object that stands for one.

    >>> import ember
    >>> ember.overrides.is_tensor_like(ember.ones(1))
    True
    >>> ember.overrides.is_tensor_like([1.0])
    False
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def handle_torch_function(
    public_api: Callable, relevant_args: Iterable, *args, **kwargs
) -> Any:
    """Let `relevant_args` carry out `public_api(*args, **kwargs)`.

    For the head of a function written in Python, after `has_torch_function` said that
    one of its arguments wants to.
    """
    return _C._call_override(public_api, tuple(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """Decorate a function so that arguments can take it over.

    `dispatcher` has the function's signature and returns the arguments to ask.

    >>> import ember
    >>> @ember.overrides.wrap_torch_function(lambda a: (a,))
    ... def double(a):
    ...     return a + a
    >>> double(ember.ones(1))
    tensor([2.])
    """

    def decorate(func: Callable) -> Callable:
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def get_default_nowrap_functions() -> set[Callable]:
    """What Tensor's `__torch_function__` returns without changing its type."""
    return set(_tensor._NOT_CONVERTED)


@functools.cache
def get_ignored_functions() -> set[Callable]:
    """Functions that no argument can take over: they make tensors, or set modes."""
    names = """
        arange as_tensor asarray empty eye finfo from_numpy full get_default_dtype
        get_rng_state is_tensor linspace logspace manual_seed normal ones rand randint
        randn randperm save load seed set_default_dtype set_rng_state tensor typename
        zeros no_grad enable_grad
    """.split()
    return {getattr(ember, name) for name in names if hasattr(ember, name)}


def _public(module: object) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name[:1] != "_"}


def _modules() -> dict[str, object]:
    found = {}
    for name in _MODULES:
        module: Any = ember
        for part in name.split(".") if name else ():
            module = getattr(module, part, None)
        if module is not None:
            found[name] = module
    return found


@functools.cache
def _overridable() -> tuple[dict, dict]:
    """The overridable functions of each module, and the name of each function."""
    ignored = get_ignored_functions()
    functions: dict[Any, list] = {}
    names: dict[Any, str] = {}
    for path, module in _modules().items():
        kinds: tuple = (_C.Op,) if path == "" else (_C.Op, types.FunctionType)
        prefix = f"torch.{path}." if path else "torch."
        members = _public(module)
        if path == "":
            members = {**members, **{n: f for n, f in _C._ops.items() if "." not in n}}
        found = []
        for name, value in members.items():
            if isinstance(value, kinds) and name[:1] != "_":
                names.setdefault(value, prefix + name)
                if value not in ignored:
                    found.append(value)
        functions[module] = found
    methods = functions[Tensor] = []
    for name in dir(Tensor):
        value = getattr(Tensor, name)
        path = f"torch.Tensor.{name}"
        if isinstance(value, types.GetSetDescriptorType):
            value, path = value.__get__, path + ".__get__"
        elif not callable(value) or (name.startswith("__") and name in _HIDDEN):
            continue
        methods.append(value)
        names.setdefault(value, path)
    return functions, names


_HIDDEN = frozenset(dir(object)) - {"__eq__", "__ne__", "__repr__"} | {
    "__torch_function__",
    "__init_subclass__",
    "__class__",
}


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """The functions that arguments can take over, by module (or Tensor)."""
    return _overridable()[0]


def get_testing_overrides() -> dict[Callable, Callable]:
    """For each overridable function, one of any signature that returns -1."""
    return {f: lambda *args, **kwargs: -1 for f in _overridable()[1]}


def resolve_name(f: Callable) -> str | None:
    """The public name of an overridable function.

    >>> import ember
    >>> ember.overrides.resolve_name(ember.Tensor.add)
    'torch.Tensor.add'
    """
    if isinstance(f, str):
        return f
    return _overridable()[1].get(f)


@functools.cache
def _tensor_methods() -> set[Callable]:
    return set(get_overridable_functions()[Tensor])


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a function is a method of Tensor, or the getter of an attribute.

    >>> import ember
    >>> ember.overrides.is_tensor_method_or_property(ember.Tensor.add)
    True
    >>> ember.overrides.is_tensor_method_or_property(ember.add)
    False
    """
    return func in _tensor_methods() or getattr(func, "__name__", None) == "__get__"


class TorchFunctionMode:
    """A context in which every op is handed to the mode first.

    Within the handler of a mode, the mode itself is not active.

    >>> import ember
    >>> class Log(ember.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(ember.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> x = ember.ones(2)
    >>> with Log():
    ...     y = ember.sin(x) * 2
    torch.sin
    torch.Tensor.mul
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _C._push_on_torch_function_stack(self)
        return self

    def __exit__(self, *error) -> None:
        _C._pop_torch_function_stack()

    @classmethod
    def push(cls, *args, **kwargs) -> "TorchFunctionMode":
        """An instance of the mode; use the class itself."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TorchFunctionMode | None:
    count = _C._len_torch_function_stack()
    return _C._get_function_stack_at(count - 1) if count else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    count = _C._len_torch_function_stack()
    return [_C._get_function_stack_at(i) for i in range(count)]


@contextmanager
def enable_reentrant_dispatch():
    """Within it, types are asked again although an outer call switched that off."""
    before = _C._switch_overrides(False, False)
    try:
        yield
    finally:
        _C._switch_overrides(*before)


def redispatch_function(
    func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
) -> Any:
    """Call `func` itself from within the `__torch_function__` that was asked for it.

    Of a function in Python, the operations inside are asked for as ever; one that is
    not ember's own must not ask for itself again.

    >>> import ember
    >>> from ember.overrides import redispatch_function
    >>> class Loud(ember.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return redispatch_function(func, types, args, kwargs)
    >>> ember.ones(1).as_subclass(Loud) + 1
    add
    tensor([2.])
    """
    inner = getattr(func, "__wrapped__", None)
    if inner is None and not hasattr(func, "__code__"):
        with _C.DisableTorchFunctionSubclass():  # an operation: nothing is inside
            return func(*args, **(kwargs or {}))
    with enable_reentrant_dispatch():
        return (inner or func)(*args, **(kwargs or {}))
