"""Functions as graphs, for backends that are handed them: followed once for each form
of the arguments, with proxies that know what the values look like (dtype, shape), but
not what they are. What reads values ends the attempt, and the function runs op by op.

What a function does besides computing with tensors is done when it is followed, not
when the graph runs. ember's own compiler needs no graphs, and has no such limits.
"""

from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ember
from ember import _C, fx
from ember.compiler._face import state
from ember.compiler._face.errors import (
    BackendCompilerFailed,
    FailOnRecompileLimitHit,
    RecompileError,
    Unsupported,
)
from ember.compiler._face.settings import Settings
from ember.fx.proxy import Attribute, Proxy
from ember.nn import Module, Parameter
from ember.overrides import TorchFunctionMode
from ember.utils import _pytree

_LIMIT = 8  # graphs of one function
_IN_PLACE = (
    {"__setitem__"}
    | {  # and __iadd__ beside __add__ ...
        name
        for name in vars(operator)
        if name.startswith("__i") and f"__{name[3:]}" in vars(operator)
    }
)


class Captured:
    """A function, and what a backend made of its graphs."""

    everything: weakref.WeakSet[Captured] = weakref.WeakSet()  # for reset()

    def __init__(self, fn: Callable[..., Any], how: Settings) -> None:
        self.fn, self.how = fn, how
        self.known: dict[Any, tuple[Callable[..., Any], Any]] = {}
        self.called = False
        self.hopeless = ""  # why there is no graph
        Captured.everything.add(self)

    def forget(self) -> None:
        self.known.clear()
        self.called, self.hopeless = False, ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.hopeless:
            return self.fn(*args, **kwargs)
        leaves, spec = _pytree.tree_flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, ember.Tensor)]
        key = self._key(leaves, spec)
        found = self.known.get(key)
        if found is None:
            if self._eager_now():
                return self.fn(*args, **kwargs)
            try:
                found = self.known[key] = self._compiled(leaves, spec, tensors)
            except _Break as error:
                if self.how.fullgraph:
                    raise Unsupported(str(error)) from None
                self.hopeless = str(error)
                return self.fn(*args, **kwargs)
        run, rebuild = found
        return rebuild(run(*tensors))

    def _eager_now(self) -> bool:
        """Whether a call that has no graph yet is not to get one."""
        first, self.called = not self.called, True
        if first:
            return state.stance in ("eager_then_compile", "aot_eager_then_compile")
        if not self.known:
            return False
        if state.stance == "fail_on_recompile":
            raise RecompileError(
                "Detected recompile when torch.compile stance is 'fail_on_recompile': "
                f"{self.fn!r} is called with arguments of another form"
            )
        if "on_recompile" in state.stance:
            return True
        if len(self.known) >= (self.how.limit or _limit()):
            if self.how.fullgraph:
                raise FailOnRecompileLimitHit(
                    f"{self.fn!r} has {len(self.known)} graphs, for as many forms of "
                    "its arguments; recompile_limit allows no more"
                )
            return True
        return False

    # --- forms of arguments -----------------------------------------------------------

    def _key(self, leaves: list[Any], spec: Any) -> Any:
        parts: list[Any] = [repr(spec), ember.is_grad_enabled()]
        for leaf in leaves:
            if isinstance(leaf, ember.Tensor):
                size = leaf.dim() if self.how.dynamic else tuple(leaf.shape)
                parts.append((type(leaf), leaf.dtype, size, leaf.requires_grad))
            else:
                parts.append((type(leaf), leaf if _is_value(leaf) else id(leaf)))
        for module in self._modules(leaves):
            parts.append(module.training)
            parts += [id(t) for t in module._parameters.values()]
            parts += [id(t) for t in module._buffers.values()]
        return tuple(parts)

    def _modules(self, leaves: list[Any]) -> Iterator[Module]:
        for one in (self.fn, getattr(self.fn, "__self__", None), *leaves):
            if isinstance(one, Module):
                yield from one.modules()

    # --- graphs -----------------------------------------------------------------------

    def _compiled(
        self, leaves: list[Any], spec: Any, tensors: list[Any]
    ) -> tuple[Callable[..., Any], Any]:
        tracer = _Tracer(self.fn, leaves, spec, bool(self.how.dynamic))
        module = tracer.module()
        config = sys.modules.get("ember._dynamo.config")
        try:
            run = self.how.backend(module, tensors)
        except Exception as error:
            if config is not None and config.suppress_errors:
                raise _Break(str(error)) from error
            raise BackendCompilerFailed(self.how.backend, error) from error
        if not callable(run):
            raise BackendCompilerFailed(
                self.how.backend,
                TypeError(f"a backend gives what to call, not {type(run).__name__}"),
            )
        count(module)
        return run, tracer.rebuild


def _limit() -> int:
    config = sys.modules.get("ember._dynamo.config")
    return _LIMIT if config is None else config.recompile_limit


def _is_value(leaf: Any) -> bool:
    return leaf is None or isinstance(leaf, int | float | complex | str | bytes)


def count(module: fx.GraphModule) -> None:
    """Keeps `ember._dynamo.utils.counters`."""
    utils = sys.modules.get("ember._dynamo.utils")
    if utils is not None:
        utils.counters["stats"]["unique_graphs"] += 1
        utils.counters["stats"]["calls_captured"] += sum(
            node.op.startswith("call") for node in module.graph.nodes
        )


class _Break(Exception):
    """What a graph cannot have."""


class _Value(Proxy):
    """A proxy of which is known what its value looks like: a tensor without memory."""

    def __init__(self, node: fx.Node, tracer: _Tracer, like: ember.Tensor) -> None:
        super().__init__(node, tracer)
        self.like = like

    def __getattr__(self, k: str) -> Any:
        if k == "device":
            return self.tracer.device  # type: ignore[attr-defined]
        found = getattr(self.like, k)  # the error is that of a tensor
        if callable(found) or isinstance(found, ember.Tensor):
            return Attribute(self, k)
        sized = self.tracer.dynamic and k == "shape"  # type: ignore[attr-defined]
        return Attribute(self, k) if sized else found

    def __setitem__(self, key: Any, value: Any) -> None:
        given = (self, key, value)
        self.tracer.create_proxy("call_function", operator.setitem, given, {})

    def __len__(self) -> int:
        return len(self.like)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.like)))  # type: ignore[index]


# Functions that make tensors of none.
_MADE = frozenset(
    "arange empty eye full linspace logspace normal ones rand randint randn randperm "
    "scalar_tensor tensor zeros".split()
)


class _Changes(TorchFunctionMode):
    """Makes nodes of changes in place to tensors that are no arguments, such as
    buffers, and of tensors that are made anew in each call."""

    def __init__(self, tracer: _Tracer) -> None:
        self.tracer = tracer

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in _MADE and not _have_tensors(args, kwargs):
            return self.tracer.made(func, args, kwargs or {})
        changes = name.endswith("_") and not name.endswith("__")
        changes = changes or name in _IN_PLACE
        if not changes or not args or type(args[0]) is not ember.Tensor:
            return func(*args, **(kwargs or {}))
        node = self.tracer.create_arg(args[0])
        changed = self.tracer._known(node, _like(args[0]))
        Proxy.__torch_function__(func, (), (changed, *args[1:]), kwargs or {})
        return args[0]


def _have_tensors(args: Any, kwargs: Any) -> bool:
    leaves = _pytree.tree_flatten((args, kwargs))[0]
    return any(isinstance(leaf, ember.Tensor | Proxy) for leaf in leaves)


class _Root(Module):
    def forward(self, *tensors: Any) -> Any:
        """What is followed; see `_Tracer.create_args_for_root`."""


class _Tracer(fx.Tracer):
    """Follows a function of flat arguments into every module that it calls."""

    def __init__(
        self, fn: Callable[..., Any], leaves: list[Any], spec: Any, dynamic: bool
    ) -> None:
        super().__init__()
        self.fn, self.leaves, self.spec, self.dynamic = fn, leaves, spec, dynamic
        tensors = [leaf for leaf in leaves if isinstance(leaf, ember.Tensor)]
        self.device = tensors[0].device if tensors else ember.device("cpu")
        self.rebuild: Callable[[Any], Any] = lambda outputs: outputs

    def module(self) -> fx.GraphModule:
        """The graph, as a module that gives a tuple of tensors."""
        state.count(state.here, "capturing", 1)
        try:
            graph = self.trace(_Root())
        except Exception as error:  # proxies are no tensors: anything may fail
            what = f"{type(error).__name__}: {error}"
            raise _Break(f"compile(): {self.fn!r} has no graph: {what}") from error
        finally:
            state.count(state.here, "capturing", -1)
        return fx.GraphModule(self.root, graph)

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        placed: list[Any] = []
        for i, leaf in enumerate(self.leaves):
            if isinstance(leaf, ember.Tensor):
                node = self.create_node("placeholder", f"l_arg_{i}_", (), {})
                node.meta["val"] = like = _like(leaf)
                placed.append(_Value(node, self, like))
            else:
                placed.append(leaf)
        args, kwargs = _pytree.tree_unflatten(placed, self.spec)

        def flat() -> Any:
            with _Changes(self):
                out = self.fn(*args, **kwargs)
            leaves, spec = _pytree.tree_flatten(out)
            tensors = [
                leaf for leaf in leaves if isinstance(leaf, Proxy | ember.Tensor)
            ]
            self.rebuild = _rebuild(leaves, spec)
            return tuple(tensors)

        return flat, []

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return False

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple, kwargs: dict
    ) -> Any:
        return forward(*args, **kwargs)

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, Parameter) and id(a) not in self._parameters:
            name = self.get_fresh_qualname("p_")
            self.root.register_parameter(name, a)
            self._parameters[id(a)] = name
        return super().create_arg(a)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:
        made = super().create_proxy(kind, target, args, kwargs, name, type_expr)
        if kind == "get_attr":
            value: Any = self.root
            for part in target.split("."):
                value = getattr(value, part)
            return self._known(made.node, _like(value))
        try:
            with _plainly():
                like = _outcome(kind, target, args, kwargs)
        except Exception:
            return made
        if isinstance(like, ember.Tensor | tuple | list):
            return self._known(made.node, like)
        if like is None:  # done for its effect
            return made
        if self.dynamic and target in ("size", "numel", "nelement"):
            return made
        self.graph.erase_node(made.node)  # a number that is no tensor's: a constant
        return like

    def made(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A tensor that is made of none."""
        with _plainly():
            like = func(*args, **{**kwargs, "device": "meta"})
        made = super().create_proxy("call_function", func, tuple(args), kwargs)
        return self._known(made.node, like)

    def _known(self, node: fx.Node, like: Any) -> Any:
        node.meta["val"] = like
        if isinstance(like, ember.Tensor):
            return _Value(node, self, like)
        if isinstance(like, ember.Size):
            if self.dynamic:
                return Proxy(node, self)
            self.graph.erase_node(node)
            return like
        items = [
            Proxy(node, self)[i]  # type: ignore[index]
            for i in range(len(like))
        ]
        return type(like)(*items) if hasattr(like, "_fields") else type(like)(items)


@contextmanager
def _plainly() -> Iterator[None]:
    """A block in which no mode sees what is done."""
    before = _C._switch_overrides(True, True)
    try:
        yield
    finally:
        _C._switch_overrides(*before)


def _like(tensor: ember.Tensor) -> ember.Tensor:
    """The looks of a tensor."""
    with _plainly():
        return tensor.detach().to("meta").requires_grad_(tensor.requires_grad)


def _outcome(kind: str, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """What a step gives, by looks."""

    def seen(a: Any) -> Any:
        if isinstance(a, _Value):
            return a.like
        if isinstance(a, Attribute) and a.attr != "shape":
            return getattr(seen(a.root), a.attr)
        if isinstance(a, Proxy):
            raise TypeError("a value that nothing is known of")
        if isinstance(a, ember.Tensor):
            return _like(a)
        if isinstance(a, ember.device):
            return ember.device("meta")
        return a

    args, kwargs = _mapped(seen, args), _mapped(seen, kwargs)
    if kind == "call_method":
        if target in ("item", "tolist", "numpy", "__bool__", "__int__", "__float__"):
            raise TypeError("a value that is read")
        return getattr(args[0], target)(*args[1:], **kwargs)
    return target(*args, **kwargs)


def _mapped(f: Callable[[Any], Any], a: Any) -> Any:
    if isinstance(a, tuple | list) and not hasattr(a, "_fields"):
        return type(a)(_mapped(f, item) for item in a)
    if isinstance(a, dict):
        return {key: _mapped(f, item) for key, item in a.items()}
    if isinstance(a, slice):
        return slice(*(_mapped(f, item) for item in (a.start, a.stop, a.step)))
    return f(a)


def _rebuild(leaves: list[Any], spec: Any) -> Callable[[Any], Any]:
    """From the outputs of a graph to what the function gives."""
    is_tensor = [isinstance(leaf, Proxy | ember.Tensor) for leaf in leaves]
    fixed = [None if t else leaf for t, leaf in zip(is_tensor, leaves, strict=True)]

    def rebuild(outputs: Any) -> Any:
        if isinstance(outputs, ember.Tensor):
            outputs = (outputs,)
        given = iter(outputs)
        made = [next(given) if t else f for t, f in zip(is_tensor, fixed, strict=True)]
        return _pytree.tree_unflatten(made, spec)

    return rebuild
