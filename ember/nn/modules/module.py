"""`Module`: a tree of parameters, buffers and submodules with a `forward`.

Walking the tree is in `_tree`, hooks are in `_hooks`, saving and loading in `_state`,
moving between devices and dtypes in `_convert`; calls and attributes are quick by
`core/python/module_base.cpp`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar

import ember
from ember import _lazy
from ember._C import Tensor, _ModuleBase, _quick_attributes
from ember.nn.modules._convert import ConversionMethods
from ember.nn.modules._hooks import (  # noqa: F401 (the global hooks are public here)
    HookMethods,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from ember.nn.modules._state import StateMethods
from ember.nn.modules._tree import TreeMethods
from ember.nn.parameter import Buffer, Parameter, UninitializedBuffer

_BUFFERS = (Buffer, UninitializedBuffer)

_HOOK_TABLES = (
    "_backward_pre_hooks _backward_hooks _forward_hooks _forward_hooks_with_kwargs "
    "_forward_hooks_always_called _forward_pre_hooks _forward_pre_hooks_with_kwargs "
    "_state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks "
    "_load_state_dict_post_hooks"
).split()


class _CallSignature:
    """`inspect.signature(module)`; of the class it stays that of `__init__`."""

    def __get__(self, module: Any, owner: Any = None) -> Any:
        if module is None:
            raise AttributeError("__signature__")
        import inspect

        kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
        names = "args", "kwargs"
        return inspect.Signature(list(map(inspect.Parameter, names, kinds)))


# _ModuleBase comes last: as the first base it would decide the layout, and an object
# could not change to a class that puts a mixin before its own.
class Module(TreeMethods, HookMethods, StateMethods, ConversionMethods, _ModuleBase):
    """Base of all layers and models. Subclasses assign parameters and submodules in
    `__init__` and define `forward`.

    >>> import ember
    >>> class Double(ember.nn.Module):
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double()(ember.ones(2))
    tensor([2., 2.])
    """

    _version: int = 1
    dump_patches: bool = False
    T_destination = TypeVar("T_destination", bound=dict)
    training: bool
    call_super_init: bool = False
    # Whether __call__ must look for hooks; set by registering one.
    _hooked: bool = False
    _is_full_backward_hook: bool | None = None
    _compiled_call_impl: Callable[..., Any] | None = None  # see `compile`

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            given = [*map(repr, args), *map(repr, kwargs)]
            extra = f"unexpected arguments: {', '.join(given)}"
            raise TypeError(f"{type(self).__name__}.__init__() got {extra}")
        # Directly, because __setattr__ is slow and needs these to exist.
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_modules"] = {}
        for table in _HOOK_TABLES:
            own[table] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    _call_impl = _ModuleBase.__call__
    __signature__ = _CallSignature()
    if TYPE_CHECKING:

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _quick_attributes(cls, Module.__getattr__)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. Subclasses define it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    # --- attributes -----------------------------------------------------------------

    # _ModuleBase finds members; this is for classes that call it from a __getattr__ of
    # their own, for tables that are no dict, and for the error.
    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            found = own.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        params = own.get("_parameters")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError(
                    "cannot assign parameters before Module.__init__() call"
                )
            self._forget(name, own, own["_buffers"], own["_modules"])
            self.register_parameter(name, value)
        elif params is None:
            if isinstance(value, Module):
                raise AttributeError(
                    "cannot assign module before Module.__init__() call"
                )
            object.__setattr__(self, name, value)
        elif isinstance(value, Module):
            self._forget(name, own, params, own["_buffers"])
            own["_modules"][name] = registered("module", self, name, value)
        elif name in params:
            _expect(value is None, name, "parameter", "torch.nn.Parameter", value)
            self.register_parameter(name, value)
        elif name in own["_modules"]:
            _expect(value is None, name, "child module", "torch.nn.Module", value)
            own["_modules"][name] = value
        elif isinstance(value, _BUFFERS) or name in own["_buffers"]:
            ok = value is None or _is_tensor_like(value)
            _expect(ok, name, "buffer", "torch.Tensor", value)
            self._set_buffer(name, value, own)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value, own: dict) -> None:
        if isinstance(value, _BUFFERS):
            # A subclass that overrides this may know nothing of the flag.
            kept = () if value.persistent else (False,)  # type: ignore
            self.register_buffer(name, value, *kept)
        else:
            own["_buffers"][name] = registered("buffer", self, name, value)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def _forget(self, name: str, *tables: dict) -> None:
        """A name means one thing: drop what it meant in other tables."""
        for table in tables:
            table.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from ember.utils import _html

        return _html.module(self)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__}
        names.update(self._parameters, self._buffers, self._modules)
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()  # for subclasses to change
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for table in _HOOK_TABLES:
            self.__dict__.setdefault(table, {})
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        # Saved by PyTorch, or by hand: look for hooks once.
        if any(self.__dict__[table] for table in _HOOK_TABLES[:7]):
            self._hooked = True

    # --- registration ---------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name (None reserves the name)."""
        self._check_name(name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_type_name(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model "
                f"parameters must be created explicitly. To express '{name}' as a "
                "function of another Tensor, compute the value in the forward() "
                "method."
            )
        if param is not None:
            param = registered("parameter", self, name, param)
        self._parameters[name] = param

    def register_buffer(
        self, name: str, tensor: Tensor | None, persistent: bool = True
    ) -> None:
        """Add a tensor that is state but not a parameter.

        >>> import ember
        >>> m = ember.nn.Module()
        >>> m.register_buffer("mean", ember.zeros(2))
        >>> m.mean
        tensor([0., 0.])
        """
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = registered("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: "Module | None") -> None:
        """Add a submodule under a name (None reserves the name)."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_name(name, "module", self._modules)
        self._modules[name] = registered("module", self, name, module)

    register_module = add_module

    def _check_name(self, name: str, what: str, table: dict) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {_type_name(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in table and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # --- changing all of a tree -----------------------------------------------------

    def apply(self, fn: Callable[["Module"], None]) -> Self:
        """Call `fn` on every module of the tree, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of all parameters, gradients and buffers."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        for param in self._parameters.values():
            if param is None:
                continue
            with ember.no_grad():
                moved = fn(param)
                param.data = moved
                if hasattr(type(moved), "__tensor_flatten__"):  # what it is made of
                    vars(param).update(vars(moved))
                if param.grad is not None:
                    param.grad = fn(param.grad).requires_grad_(param.grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode (dropout drops, batch norm updates) on the tree."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether parameters get gradients."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop, or set to zero, the gradients of all parameters."""
        for param in self.parameters():
            if param.grad is None:
                continue
            param.grad = None if set_to_none else ember.zeros_like(param.grad)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile this module in place: `ember.compile` of its calls, with hooks.

        A copy of the module, or one that was saved whole, is not compiled.
        """
        self._compiled_call_impl = ember.compile(self._call_as_is, *args, **kwargs)
        self._hooked = True  # so that a call looks

    # --- text -----------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows of this module beside its children."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        for name, module in self._modules.items():
            lines.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        body = "".join(f"\n  {line}" for line in lines)
        return f"{self._get_name()}({body}\n)" if lines else f"{self._get_name()}()"


def _is_tensor_like(value) -> bool:
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def _type_name(value) -> str:
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    return name.removeprefix("builtins.")


def _expect(ok: bool, name: str, what: str, wanted: str, value) -> None:
    if not ok:
        raise TypeError(
            f"cannot assign '{_type_name(value)}' as {what} '{name}' "
            f"({wanted} or None expected)"
        )


_quick_attributes(Module, Module.__getattr__)


if TYPE_CHECKING:

    class Layer(Module):
        """A module whose calls give one tensor."""

        def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...

else:
    Layer = Module

__getattr__ = _lazy.missing(__name__)
