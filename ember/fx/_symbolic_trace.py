"""Following a program: `Tracer` runs it with proxies and writes down what happens.

Modules and wrapped functions are made to call back while the program runs, by patches
that are taken back after it (`_Patcher`). Parameters are plain tensors to the program;
a mode (`_Parameters`) turns ops on them alone into nodes.
"""

from __future__ import annotations

import builtins
import collections
import functools
import inspect
import math
import threading
import warnings
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import ember
from ember._traits import telling
from ember.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from ember.fx.graph import Graph
from ember.fx.graph_module import GraphModule
from ember.fx.node import Node, base_types
from ember.fx.proxy import ParameterProxy, Proxy, Scope, TracerBase, _proxies
from ember.nn import Module, Parameter
from ember.overrides import TorchFunctionMode

__all__ = [
    "PH",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_tracing = threading.local()


def is_fx_tracing() -> bool:
    """Whether a program is being followed."""
    return getattr(_tracing, "depth", 0) > 0


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """The metaclass of classes that can be made of proxies inside a program."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls.__new__(cls)  # type: ignore[call-overload]
        given = {p.tracer: None for p in _proxies((args, kwargs))}
        if not given:
            cls.__init__(made, *args, **kwargs)  # type: ignore[misc]
            return made
        if len(given) > 1:
            raise AssertionError("proxies of several tracers")
        (tracer,) = given
        return tracer.create_proxy("call_function", cls, args, kwargs)


class PHBase:
    """A value of `concrete_args` that stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A value of `concrete_args` that stays an input, with things noted on it."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


# --- wrapping -------------------------------------------------------------------------

_wrapped_functions: set[Any] = set()
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []


def wrap(fn_or_name: Any) -> Any:
    """Make calls of a function of this module one node each. At module level: by name,
    or as a decorator.

    >>> import ember
    >>> @ember.fx.wrap
    ... def scale(x):
    ...     return x * 2
    >>> scale(3)
    6
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string "
            "name"
        )
    if callable(fn_or_name):
        name = getattr(fn_or_name, "__name__", None)
        if name is None:
            raise AssertionError("wrap(): the function has no name")
    else:
        name = fn_or_name
    frame = inspect.currentframe()
    frame = frame.f_back if frame is not None else None
    if frame is None:
        raise AssertionError("wrap(): no caller")
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    space = frame.f_globals
    _wrapped_fns_to_patch[id(space), name] = space
    if callable(fn_or_name):
        _wrapped_functions.add(fn_or_name)
    return fn_or_name


def _create_wrapped_func(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which becomes a node when an argument is a proxy."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = next(_proxies((args, kwargs)), None)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    wrapped._fx_original = function  # type: ignore[attr-defined]
    return wrapped


def _create_wrapped_method(cls: type, name: str) -> Callable[..., Any]:
    original = getattr(cls, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = next(_proxies((args, kwargs)), None)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


_MISSING = object()


class _Patcher:
    """Changes of dicts and classes, taken back at the end of a block."""

    def __init__(self) -> None:
        self.undo: list[Callable[[], Any]] = []
        self.seen: set[tuple[int, str]] = set()

    def patch(self, space: dict[str, Any], name: str, new: Any) -> None:
        if (id(space), name) in self.seen:
            return
        self.seen.add((id(space), name))
        old = space.get(name, _MISSING)
        space[name] = new
        if old is _MISSING:
            self.undo.append(lambda: space.pop(name, None))
        else:
            self.undo.append(lambda: space.__setitem__(name, old))

    def patch_method(self, cls: type, name: str, new: Any) -> None:
        old = cls.__dict__.get(name, _MISSING)
        setattr(cls, name, new)
        if old is _MISSING:
            self.undo.append(lambda: delattr(cls, name))
        else:
            self.undo.append(lambda: setattr(cls, name, old))

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *error: object) -> None:
        while self.undo:
            self.undo.pop()()


@functools.cache
def _python_functions() -> frozenset[Callable]:
    """Functions of tensors written in Python: they are one node, as ops are."""
    from ember._lazy import NAMES
    from ember.nn import functional

    homes = (
        "_functions.einsum",
        "_functions.grids",
        "_functions.aten",
        "nn.functional",
        "_functions.lowrank",
    )
    found = {f for n, f in vars(functional).items() if isinstance(f, FunctionType)}
    for name, home in NAMES.items():
        if home in homes:
            value = getattr(ember, name)
            if isinstance(value, FunctionType):
                found.add(value)
    return frozenset(found - {functional.__getattr__})


class _Parameters(TorchFunctionMode):
    """Makes nodes of ops on parameters, which no proxy takes part in."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__" or name in _CONCRETE or not self.tracer._parameters:
            return func(*args, **kwargs)
        found = False

        def swap(a: Any) -> Any:
            nonlocal found
            if isinstance(a, Parameter):
                proxy = self.tracer._parameter_proxy(a)
                found = found or proxy is not None
                return a if proxy is None else proxy
            if type(a) in (list, tuple):
                return type(a)(swap(item) for item in a)
            return a

        new_args, new_kwargs = (
            swap(tuple(args)),
            {k: swap(v) for k, v in kwargs.items()},
        )
        if found:
            return Proxy.__torch_function__(func, (), new_args, new_kwargs)
        return func(*args, **kwargs)


_CONCRETE = telling("size form place kind gradient text object memory values") | {
    "__deepcopy__"
}


class Tracer(TracerBase):
    """Follows a module or function. Subclasses choose what is one step
    (`is_leaf_module`, `path_of_module`, `call_module`, `create_arg`, ...).

    >>> import ember
    >>> class Deep(ember.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> graph = Deep().trace(ember.nn.Sequential(ember.nn.ReLU()))
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_function', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable, ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_functions: set[Any] = {
            value
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrap_functions.update(autowrap_functions)
        self._autowrap_search: list[ModuleType] = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack: dict[str, Any] = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope: dict[str, tuple[str, Any]] = {}
        self._parameters: dict[int, str] = {}
        self._parameter_proxies: dict[str, Proxy] = {}

    # --- what subclasses change -------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a module is one node: it is for those of `ember.nn`."""
        return (
            m.__module__.startswith(("ember.nn", "torch.nn"))
            or getattr(m, "_is_fx_leaf", False)
        ) and not isinstance(m, ember.nn.Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The name of a submodule of the module that is followed."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, found in self.root.named_modules():
            if found is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple, kwargs: dict
    ) -> Any:
        """A call of a module: one node, or what its forward does."""
        path = self.path_of_module(m)
        before, self.scope = self.scope, Scope(path, type(m))
        count = self.num_calls.get(path, 0)
        self.num_calls[path] = count + 1
        key = f"{path}@{count}" if count else path
        self.module_stack[key] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.pop(key, None)
            self.scope = before

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict) -> Any:
        """What a parameter or buffer is to the program."""
        if isinstance(attr_val, Parameter):
            proxy = self._parameter_proxy(attr_val)
            return attr_val if proxy is None else proxy
        return attr_val

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that no attribute of the module has."""
        i = 0
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        return f"{prefix}{i}"

    def create_arg(self, a: Any) -> Any:
        """Parameters, buffers and other tensors become attributes of the module."""
        if isinstance(a, Parameter):
            name = self._parameters.get(id(a))
            if name is not None:
                return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, ember.Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            name = self.tensor_attrs.get(a)
            if name is None:
                name = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[a] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(type(a), ProxyableClassMeta):
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            items = tuple(self.create_arg(item) for item in a)
            return self.create_node("call_function", type(a), items, {})
        return super().create_arg(a)

    def _parameter_proxy(self, parameter: Parameter) -> Proxy | None:
        name = self._parameters.get(id(parameter))
        if name is None:
            return None
        if name not in self._parameter_proxies:
            factory = None
            if self.param_shapes_constant:

                def factory(node: Node) -> Proxy:
                    return ParameterProxy(self, node, name, parameter)

            self._parameter_proxies[name] = self.create_proxy(
                "get_attr", name, (), {}, proxy_factory_fn=factory
            )
        return self._parameter_proxies[name]

    # --- following ------------------------------------------------------------------

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        """The function to run, and what it is given: proxies, and fixed values."""
        fn = inspect.unwrap(root_fn)
        code = fn.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = iter(code.co_varnames)
        args: list[Any] = []
        skip = 0
        if is_module:
            if total == 0:
                raise RuntimeError(
                    "``self`` argument cannot be part of *args expansion!"
                )
            skip = 1
            next(names)
            args.append(self.root)
        signature = inspect.signature(fn)
        given = dict(concrete_args) if isinstance(concrete_args, dict) else {}
        if isinstance(concrete_args, tuple):
            wanted = [code.co_varnames[i] for i in range(skip, total)]
            if len(wanted) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(wanted)} arguments but got "
                    f"{len(concrete_args)} concrete arguments"
                )
            given = dict(zip(wanted, concrete_args, strict=True))
        for _ in range(skip, total):
            name = next(names)
            args.append(self._root_arg(name, signature.parameters[name], given))
        if given or code.co_flags & HAS_VARSTUFF:
            if code.co_flags & inspect.CO_VARARGS:
                args.append(self._placeholder("*" + next(names)))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(self._placeholder("**" + next(names)))
            root_fn = _unstarred(fn)
        parts = (list, tuple, dict)  # of which each leaf is an input
        if isinstance(concrete_args, dict) and any(
            isinstance(arg, parts) for arg in args[skip:]
        ):
            return self._flattened(root_fn, fn, args, skip, total)
        return root_fn, args

    def _placeholder(self, name: str, default: tuple = (), kind: Any = None) -> Proxy:
        return self.create_proxy("placeholder", name, default, {}, type_expr=kind)

    def _root_arg(self, name: str, parameter: Any, given: dict[str, Any]) -> Any:
        empty = inspect.Parameter.empty
        default = () if parameter.default is empty else (parameter.default,)
        if name not in given:
            hint = parameter.annotation
            unknown = hint is empty or isinstance(hint, str)
            return self._placeholder(name, default, None if unknown else hint)
        from ember.utils import _pytree

        count = 0

        def replace(x: Any) -> Any:
            nonlocal count
            count += 1
            out = self._placeholder(f"{name}_{count}", default)
            if isinstance(x, PHBase):
                if isinstance(x, PHWithMeta):
                    out.node.meta["ph_key"] = x.ph_key
                return out
            what = (
                f"{name} has been specialized to have value {x} but got another value"
            )
            if isinstance(x, bool) or (
                isinstance(x, base_types)
                and x is not None
                and not isinstance(x, ember.Tensor)
            ):
                args = (out == x, what)
                self.create_proxy("call_function", ember._assert, args, {})
            elif x is None:
                self.create_proxy("call_function", _assert_is_none, (out, what), {})
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} "
                    "to specialized function. It is up to the user to make sure that "
                    "your inputs match the inputs you specialized the function with.",
                    stacklevel=2,
                )
            return x

        return _pytree.tree_map(replace, given[name])

    def _flattened(
        self, root_fn: Any, fn: Any, args: list[Any], skip: int, total: int
    ) -> tuple[Any, list[Any]]:
        """The function of the leaves of its arguments, for `concrete_args`."""
        from ember.utils import _pytree

        leaves, spec = _pytree.tree_flatten(tuple(args[skip:]))
        names = list(fn.__code__.co_varnames[skip:total])
        self.graph._codegen = _PyTreeCodeGen(
            _PyTreeInfo(
                ["self", *names],
                _pytree.tree_flatten(list(args[skip:]))[1],
                None,
            )
        )
        first = args[:skip]

        def flat(*flat_args: Any) -> Any:
            values = _pytree.tree_unflatten(list(flat_args[skip:]), spec)
            out = root_fn(*first, *values)
            out_leaves, out_spec = _pytree.tree_flatten(out)
            codegen: Any = self.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out_leaves

        return flat, [*first, *leaves]

    def trace(
        self, root: Module | Callable[..., Any], concrete_args: Any = None
    ) -> Graph:
        """Run `root` with proxies; the graph of what it did."""
        _tracing.depth = getattr(_tracing, "depth", 0) + 1
        try:
            return self._trace(root, concrete_args)
        finally:
            _tracing.depth -= 1

    def _trace(self, root: Any, concrete_args: Any) -> Graph:
        if isinstance(root, Module):
            self.root = root
            name = self.traced_func_name
            if not hasattr(type(root), name):
                raise AssertionError(
                    f"traced_func_name={name} doesn't exist in {type(root).__name__}"
                )
            fn = getattr(type(root), name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {m: n for n, m in root.named_modules()}
        else:
            self.root, fn = Module(), root
            self.submodule_paths = None
        tracer_cls = getattr(self, "__class__", None)
        self.graph = Graph(tracer_cls=tracer_cls)
        if not isinstance(fn, FunctionType):
            raise AssertionError(f"trace(): a module or a function, not {fn!r}")
        self.tensor_attrs: dict[Any, str] = _tensor_attributes(self.root)
        self._parameters = {
            id(p): n for n, p in self.root.named_parameters(remove_duplicate=False)
        }
        self._parameter_proxies = {}
        returns = getattr(inspect.unwrap(fn), "__annotations__", {}).get("return")
        fn, args = self.create_args_for_root(
            fn, isinstance(root, Module), concrete_args
        )
        with _Patcher() as patcher, _Parameters(self):
            patcher.patch_method(Module, "__call__", self._module_call())
            self._wrap_functions(patcher, inspect.unwrap(fn).__globals__)
            result = fn(*args)
        self.create_node(
            "output",
            "output",
            (self.create_arg(result),),
            {},
            type_expr=None if isinstance(returns, str) else returns,
        )
        return self.graph

    def _module_call(self) -> Callable[..., Any]:
        call = Module.__call__

        @functools.wraps(call)
        def module_call(mod: Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return call(mod, *args, **kwargs)

            self._wrap_functions(
                self._patcher, getattr(type(mod).forward, "__globals__", {})
            )
            return self.call_module(mod, forward, args, kwargs)

        return module_call

    def _wrap_functions(self, patcher: _Patcher, space: dict[str, Any]) -> None:
        self._patcher = patcher
        if ("functions", str(id(space))) in patcher.seen:  # type: ignore[comparison-overlap]
            return
        first = not patcher.seen
        patcher.seen.add(("functions", str(id(space))))  # type: ignore[arg-type]
        if first:
            for (_, name), wrapped_space in list(_wrapped_fns_to_patch.items()):
                original = wrapped_space.get(name, getattr(builtins, name, None))
                if original is not None:
                    patcher.patch(wrapped_space, name, _create_wrapped_func(original))
            for cls, name in _wrapped_methods_to_patch:
                patcher.patch_method(cls, name, _create_wrapped_method(cls, name))
            for module in self._autowrap_search:
                self._search(patcher, vars(module))
            from ember.nn import functional

            self._search(patcher, vars(functional))
            self._search(patcher, vars(ember))
        self._search(patcher, space)

    def _search(self, patcher: _Patcher, space: dict[str, Any]) -> None:
        ours = _python_functions()
        for name, value in list(space.items()):
            if name.startswith("_") or not callable(value):
                continue
            try:
                known = value in self._autowrap_functions or value in ours
            except TypeError:  # no hash
                continue
            if known and not hasattr(value, "_fx_original"):
                patcher.patch(space, name, _create_wrapped_func(value))

    def __deepcopy__(self, memo: dict) -> Tracer:
        from copy import copy

        return copy(self)


def _tensor_attributes(root: Module) -> dict[Any, str]:
    """Tensors that are attributes of modules, but neither parameters nor buffers."""
    return {
        value: f"{path}.{name}" if path else name
        for path, module in root.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, ember.Tensor)
    }


def _unstarred(fn: Any) -> FunctionType:
    """`fn` with *args and **kwargs as two ordinary parameters."""
    code: CodeType = fn.__code__
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(
        code.co_flags & inspect.CO_VARKEYWORDS
    )
    plain = code.replace(
        co_argcount=code.co_argcount + code.co_kwonlyargcount + stars,
        co_kwonlyargcount=0,
        co_posonlyargcount=0,
        co_flags=code.co_flags & ~HAS_VARSTUFF,
    )
    made = FunctionType(
        plain, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__
    )
    made.__annotations__ = fn.__annotations__
    return made


def _assert_is_none(value: Any, message: str) -> None:
    if value is not None:
        raise AssertionError(message)


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """A module or function as a `GraphModule`, by running it with proxies.

    `concrete_args` fixes arguments to values, and takes branches by them.

    >>> import ember
    >>> traced = ember.fx.symbolic_trace(lambda x, y: ember.relu(x) + y)
    >>> traced(ember.tensor([-1.0]), 3)
    tensor([3.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root._get_name() if isinstance(root, Module) else root.__name__
    made = GraphModule(tracer.root, graph, name)
    if tracer.root is not root and isinstance(root, Module):
        made.training = root.training
    return made
