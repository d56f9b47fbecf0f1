"""Operators of one's own: with kernels by device, gradients and batching rules.

>>> import ember
>>> from ember import Tensor
>>> @ember.library.custom_op("docs::cube", mutates_args=())
... def cube(x: Tensor) -> Tensor:
...     return x**3
>>> def setup(ctx, inputs, output):
...     ctx.save_for_backward(*inputs)
>>> cube.register_autograd(
...     lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2, setup_context=setup)
>>> x = ember.tensor([2.0], requires_grad=True)
>>> ember.ops.docs.cube(x).backward()
>>> x.grad
tensor([12.])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ember import _lazy
from ember.library._custom_op import (
    CustomOpDef,
    add_kernel as add_kernel,
    find as find,
    register as register,
)
from ember.library._opcheck import opcheck
from ember.library._schema import infer_schema

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]

Op = str | CustomOpDef


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an operator `ember.ops.<namespace>.<name>` of a function with type hints.

    Its gradients are not recorded: `register_autograd` says what they are. With
    `device_types` it is the kernel of these only; `register_kernel` adds others.

    >>> import ember
    >>> @ember.library.custom_op("docs::double", mutates_args=())
    ... def double(x: ember.Tensor) -> ember.Tensor:
    ...     return x * 2
    >>> double(ember.ones(1)), ember.ops.docs.double(ember.ones(1))
    (tensor([2.]), tensor([2.]))
    """

    def make(function: Callable) -> CustomOpDef:
        text = schema or infer_schema(function, mutates_args=mutates_args)
        op = register(CustomOpDef(name, text), replace=True)
        op.register_kernel(device_types)(function)
        op.__doc__ = function.__doc__
        return op

    return make if fn is None else make(fn)


def define(
    qualname: str | Library,
    schema: str,
    alias_analysis: str = "",
    *,
    lib: Any = None,
    tags: Any = (),
) -> Any:
    """Make an operator without a kernel: `impl` adds them.

    Of a `Library`, `schema` begins with the name, and the result is a decorator of a
    function for all devices.

    >>> import ember
    >>> ember.library.define("docs::plus", "(Tensor x, int y=1) -> Tensor")
    >>> @ember.library.impl("docs::plus", "default")
    ... def plus(x, y=1):
    ...     return x + y
    >>> ember.ops.docs.plus(ember.ones(1), y=4)
    tensor([5.])
    """
    if not isinstance(qualname, Library):
        register(CustomOpDef(qualname, schema))
        return None
    library, name = qualname, qualname.define(schema, alias_analysis)

    def add(function: Callable) -> Callable:
        library.impl(name, function)
        return function

    return add


def impl(
    qualname: str | Library,
    types: str | Sequence[str],
    func: Callable | str | None = None,
    *,
    lib: Any = None,
) -> Any:
    """Add a kernel for device types, or "default" for all; see `define`.

    The operator may be defined later. `impl(library, name, key)` is a decorator of a
    kernel for a dispatch key, as `Library.impl` takes it.
    """

    def add(function: Callable) -> Callable:
        if isinstance(qualname, Library):
            qualname.impl(str(types), function, str(func or ""))
            return function
        for kind in [types] if isinstance(types, str) else types:
            add_kernel(qualname, kind, function)
        return function

    return add(func) if callable(func) else add


def register_kernel(
    op: Op,
    device_types: str | Sequence[str] | None,
    func: Callable | None = None,
    /,
    *,
    lib: Any = None,
) -> Any:
    """Add a kernel for device types (None or "default": all others)."""
    add = find(op).register_kernel(device_types)
    return add if func is None else add(func)


def register_fake(
    op: Op,
    func: Callable | None = None,
    /,
    *,
    lib: Any = None,
    allow_override: bool = True,
) -> Any:
    """Say what an operator makes of tensors on `meta`, which have shapes only."""
    add = find(op).register_fake
    return add if func is None else add(func)


def impl_abstract(qualname: str, func: Callable | None = None, *, lib: Any = None):
    """Old: `register_fake`."""
    import warnings

    warnings.warn(
        "torch.library.impl_abstract was renamed to torch.library.register_fake. "
        "Please use that instead.",
        FutureWarning,
        stacklevel=2,
    )
    return register_fake(qualname, func)


def register_autograd(
    op: Op,
    backward: Callable,
    /,
    *,
    setup_context: Callable | None = None,
    lib: Any = None,
) -> None:
    """Give an operator gradients: `backward(ctx, *grads)` returns one per input.

    `setup_context(ctx, inputs, output)` keeps what it needs; where the operator has
    arguments by keyword only, it is also given `keyword_only_inputs`.
    """
    find(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Op, func: Callable | None = None, /, *, lib: Any = None) -> Any:
    """Give an operator a batching rule: `func(info, in_dims, *args)` for `vmap`."""
    add = find(op).register_vmap
    return add if func is None else add(func)


def register_autocast(
    op: Op, device_type: str, cast_inputs: Any, /, *, lib: Any = None
) -> None:
    """Inside `autocast`, call an operator with its floating point inputs cast."""
    find(op).register_autocast(device_type, cast_inputs)


class Library:
    """Operators of one namespace, defined ("DEF", "FRAGMENT") or implemented ("IMPL").

    >>> import ember
    >>> library = ember.library.Library("docslib", "DEF")
    >>> library.define("triple(Tensor x) -> Tensor")
    'triple'
    >>> library.impl("triple", lambda x: x * 3, "CPU")
    >>> ember.ops.docslib.triple(ember.ones(1))
    tensor([3.])
    """

    _defined = {"aten", "prim", "prims"}

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if not isinstance(ns, str):
            raise TypeError(f"Library(): ns must be str, not {type(ns).__name__}")
        if kind == "DEF":
            if ns in Library._defined:
                raise RuntimeError(
                    "Only a single TORCH_LIBRARY can be used to register the namespace "
                    f"{ns}; use the kind 'FRAGMENT' to add to it"
                )
            Library._defined.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Make the operator `name(arguments) -> results`; its name."""
        if self.kind == "IMPL":
            raise RuntimeError("define(): a Library of the kind 'IMPL' defines nothing")
        name, bracket, rest = schema.partition("(")
        define(f"{self.ns}::{name.strip()}", bracket + rest)
        return name.strip()

    def impl(
        self,
        op_name: str | CustomOpDef,
        fn: Callable,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Add a kernel for a dispatch key such as "CPU" or "Meta"."""
        name = op_name._name if isinstance(op_name, CustomOpDef) else op_name
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        add_kernel(f"{self.ns}::{name.rpartition('::')[2]}", key, fn)


__getattr__ = _lazy.missing(__name__)
