"""What `ember.library` makes: operators whose parts are Python functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import ember
from ember import Tensor
from ember.autograd import function as _function
from ember.autograd.function import Function
from ember.library._schema import parse

_registry: dict[str, CustomOpDef] = {}
# Kernels of operators that are still to be defined, by their names.
_waiting: dict[str, list[tuple[str, Callable]]] = {}
_BUILT_IN = ("aten", "prim", "prims")  # nothing defines these later

# Dispatch keys that name something other than a device.
_EVERYWHERE = ("default", "CompositeExplicitAutograd")
_COMPOSITE = "CompositeImplicitAutograd"


def register(op: CustomOpDef, replace: bool = False) -> CustomOpDef:
    """Enter an operator under its name."""
    if not isinstance(op, CustomOpDef):
        raise TypeError(
            f"register(): op must be a CustomOpDef, not {type(op).__name__}"
        )
    if op._qualname in _registry and not replace:
        raise RuntimeError(
            f"Tried to register an operator ({op._schema}) with the same name and "
            "overload name multiple times."
        )
    _registry[op._qualname] = op
    for key, function in _waiting.pop(op._qualname, []):
        op._add_kernel(key, function)
    return op


def add_kernel(qualname: str, key: str, function: Callable) -> None:
    """Add a kernel for a dispatch key, at once or when the operator is defined."""
    if qualname in _registry or _parts(qualname)[0] in _BUILT_IN:
        find(qualname)._add_kernel(key, function)
    else:
        _waiting.setdefault(qualname, []).append((key, function))


def find(op: str | CustomOpDef) -> CustomOpDef:
    """An operator by its name, or itself."""
    if isinstance(op, CustomOpDef):
        return op
    if not isinstance(op, str) or op not in _registry:
        _parts(op)
        raise RuntimeError(
            f"there is no operator {op}: only those that ember.library defined can be "
            "given kernels and rules"
        )
    return _registry[op]


def namespaces() -> set[str]:
    """Of all operators there are."""
    return {op._namespace for op in _registry.values()}


def _parts(qualname: str) -> list[str]:
    if not isinstance(qualname, str):
        raise ValueError(
            "an operator is named by a str or is a CustomOpDef, but got unexpected "
            f"type for op: {type(qualname)}"
        )
    parts = qualname.split("::")
    if len(parts) != 2 or not all(parts):
        raise ValueError(
            'Expected `qualname` to be of the form "namespace::name", but got '
            f"{qualname}."
        )
    return parts


class CustomOpDef:
    """An operator: what to run on which device, and how to differentiate it."""

    def __init__(self, qualname: str, schema: str) -> None:
        self._namespace, self._name = _parts(qualname)
        self._qualname = qualname
        self._schema = qualname + schema
        self._parameters = parse(schema)
        self._kernels: dict[str | None, Callable] = {}
        self._fake: Callable | None = None
        self._composite: Callable | None = None
        self._backward: Callable | None = None
        self._setup: Callable | None = None
        self._vmap: Callable | None = None
        self._autocast: dict[str, ember.dtype] = {}
        self._in_autocast: dict[
            str, Callable
        ] = {}  # kernels of "AutocastCPU" and others
        self._in_autograd: dict[str, Callable] = {}  # of "AutogradCPU"; "" is all

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    @property
    def default(self) -> CustomOpDef:
        """The only overload: the operator itself."""
        return self

    # --- registration -----------------------------------------------------------------

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable | None = None, /
    ) -> Callable:
        """Run a function on these devices; for None and "default", on all others."""
        kinds: Sequence[str | None]
        if device_types is None or isinstance(device_types, str):
            kinds = [device_types]
        else:
            kinds = device_types

        def add(function: Callable) -> Callable:
            for kind in kinds:
                everywhere = kind is None or kind in _EVERYWHERE
                self._kernels[None if everywhere else kind] = function
            return function

        return add if fn is None else add(fn)

    def _add_kernel(self, key: str, function: Callable) -> None:
        if key in _EVERYWHERE:
            self._kernels[None] = function
        elif key == _COMPOSITE:
            self._composite = function
        elif key.lower() == "meta":
            self._fake = function
        elif key.startswith("Autocast"):
            self._in_autocast[key.removeprefix("Autocast").lower()] = function
        elif key.startswith("Autograd"):
            # Runs instead of kernel and gradient; the tape sees the ops it is made of.
            self._in_autograd[key.removeprefix("Autograd").lower()] = function
        else:
            self._kernels[ember.device(key.lower()).type] = function

    def register_fake(self, fn: Callable, /) -> Callable:
        """Run a function on `meta`."""
        self._fake = fn
        return fn

    def register_autograd(
        self, backward: Callable, /, *, setup_context: Callable | None = None
    ) -> None:
        """Set the gradient."""
        if any(p.mutated for p in self._parameters):
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} "
                f"with schema {self._schema}."
            )
        self._backward, self._setup = backward, setup_context

    def register_vmap(self, func: Callable, /) -> Callable:
        """Set the batching rule."""
        self._vmap = func
        return func

    def register_autocast(self, device_type: str, cast_inputs: ember.dtype) -> None:
        """Cast inputs inside `autocast`."""
        self._autocast[device_type] = cast_inputs

    # --- calls ------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._cast(self._bind(args, kwargs))
        if self._in_autocast:
            device = _device_of(values) or ""
            if device in self._in_autocast and ember.is_autocast_enabled(device):
                return self._call(self._in_autocast[device], values)
        if self._in_autograd and not ember.is_inference_mode_enabled():
            kernels = self._in_autograd
            kernel = kernels.get(_device_of(values) or "", kernels.get(""))
            if kernel is not None:
                return self._call(kernel, values)
        if self._composite is not None:
            return self._call(self._composite, values)
        flat, places = _flatten(values)
        needs_grad = ember.is_grad_enabled() and any(
            isinstance(v, Tensor) and v.requires_grad for v in flat
        )
        changes = any(p.mutated for p in self._parameters)
        if _function.vmaps or (needs_grad and not changes):
            return _Recorded.apply(self, places, *flat)
        with ember.no_grad():
            return self._run(values)

    def _bind(self, args: tuple, kwargs: dict) -> list:
        """A value for every parameter, or an error."""
        positional = [p for p in self._parameters if not p.keyword_only]
        if len(args) > len(positional):
            self._fail(f"takes {len(positional)} arguments, but got {len(args)}")
        values = []
        for i, p in enumerate(self._parameters):
            if i < len(args) and not p.keyword_only:
                if p.name in kwargs:
                    self._fail(f"got two values for argument '{p.name}'")
                value = args[i]
            elif p.name in kwargs:
                value = kwargs[p.name]
            elif p.has_default:
                value = p.default
            else:
                self._fail(f"is missing value for argument '{p.name}'")
            if p.is_tensor and not isinstance(value, Tensor):
                self._fail(
                    f"expected a Tensor for argument '{p.name}', got "
                    f"{type(value).__name__}"
                )
            values.append(value)
        unknown = set(kwargs) - {p.name for p in self._parameters}
        if unknown:
            self._fail(f"has no argument '{min(unknown)}'")
        return values

    def _fail(self, what: str) -> NoReturn:
        raise RuntimeError(f"{self._qualname}() {what}. Declaration: {self._schema}")

    def _cast(self, values: list) -> list:
        if not self._autocast:
            return values
        device = _device_of(values)
        dtype = self._autocast.get(device or "")
        if dtype is None or not ember.is_autocast_enabled(device or ""):
            return values

        def cast(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(map(cast, value))
            floating = isinstance(value, Tensor) and value.is_floating_point()
            return value.to(dtype) if floating else value

        return [cast(v) for v in values]

    def _split(self, values: Sequence) -> tuple[list, dict]:
        """Values by position and by keyword."""
        pairs = list(zip(self._parameters, values))
        by_name = {p.name: v for p, v in pairs if p.keyword_only}
        return [v for p, v in pairs if not p.keyword_only], by_name

    def _call(self, function: Callable, values: Sequence) -> Any:
        positional, by_name = self._split(values)
        return function(*positional, **by_name)

    def _run(self, values: Sequence) -> Any:
        """The kernel of the device that the tensors are on."""
        device = _device_of(values)
        kernel = self._fake if device == "meta" else self._kernels.get(device)
        if kernel is None and device == "meta":
            raise RuntimeError(
                f"There was no fake impl registered for {self}. Please use "
                f"`{self._name}.register_fake` to add one."
            )
        kernel = kernel or self._kernels.get(None)
        if kernel is None:
            have = ", ".join(sorted(str(k) for k in self._kernels)) or "none"
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments on device "
                f"'{device}': it has kernels for {have}"
            )
        result = self._call(kernel, values)
        self._check_aliases(values, result)
        changed = [v for p, v in zip(self._parameters, values) if p.mutated]
        for tensor in _flatten(changed)[0]:
            if isinstance(tensor, Tensor):
                ember.autograd.graph.increment_version(tensor)
        return result

    def _check_aliases(self, values: Sequence, result: Any) -> None:
        made = result if isinstance(result, (tuple, list)) else [result]
        given = [v.untyped_storage() for v in _flatten(values)[0] if _has_memory(v)]
        for out in _flatten(made)[0]:
            if _has_memory(out) and any(out.untyped_storage() is s for s in given):
                raise RuntimeError(
                    f"{self._name}: the output of a custom operator must not be one of "
                    "its inputs or share memory with one; return a clone() instead"
                )


class _Recorded(Function):
    """A call of an operator on the tape. Lists of tensors are passed one by one."""

    @staticmethod
    def forward(op: CustomOpDef, places: list, *flat: Any) -> Any:
        result = op._run(_unflatten(flat, places))
        return tuple(result) if isinstance(result, list) else result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.op, ctx.places = inputs[:2]
        if ctx.op._setup is None:
            return
        positional, by_name = ctx.op._split(_unflatten(inputs[2:], ctx.places))
        extra = {"keyword_only_inputs": by_name} if by_name else {}
        ctx.op._setup(ctx=ctx, inputs=tuple(positional), output=output, **extra)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        op = ctx.op
        if op._backward is None:
            raise RuntimeError(
                f"Trying to backward through {op._namespace}.{op._name}.default but no "
                "autograd formula was registered. Please use register_autograd to add "
                "one."
            )
        made = op._backward(ctx, *grads)
        made = list(made) if isinstance(made, tuple) else [made]
        count = len(op._split([None] * len(op._parameters))[0])
        if len(made) != count:
            raise RuntimeError(
                f"{op._qualname}: expected {count} gradients from its backward, one "
                f"per input, got {len(made)}"
            )
        rest = iter(made)
        flat: list = [None, None]
        for parameter, size in zip(op._parameters, ctx.places):
            value = None if parameter.keyword_only else next(rest)
            if size is None:
                flat.append(value)
            else:
                flat.extend([None] * size if value is None else value)
        return tuple(flat)

    @staticmethod
    def vmap(info: Any, in_dims: tuple, op: CustomOpDef, places: list, *flat: Any):
        if op._vmap is None:
            raise RuntimeError(
                f"There was no vmap rule for {op}; use `{op._name}.register_vmap` to "
                "add one."
            )
        positional, by_name = op._split(_unflatten(flat, places))
        dims = tuple(op._split(_unflatten(in_dims[2:], places))[0])
        return op._vmap(info, dims, *positional, **by_name)


def _flatten(values: Sequence) -> tuple[list, list]:
    """Values with those of lists in their place, and the lengths of the lists."""
    flat: list = []
    places: list[int | None] = []
    for value in values:
        nested = isinstance(value, (list, tuple)) and any(
            isinstance(v, Tensor) for v in value
        )
        flat.extend(value if nested else [value])
        places.append(len(value) if nested else None)
    return flat, places


def _unflatten(flat: Sequence, places: Sequence) -> list:
    rest = iter(flat)
    return [
        next(rest) if size is None else [next(rest) for _ in range(size)]
        for size in places
    ]


def _device_of(values: Sequence) -> str | None:
    """The type of device of the first tensor."""
    tensors = (v for v in _flatten(values)[0] if isinstance(v, Tensor))
    first = next(tensors, None)
    return None if first is None else first.device.type


def _has_memory(value: Any) -> bool:
    return isinstance(value, Tensor) and not value.is_meta and value.numel() > 0


class Namespace:
    """The operators of one namespace: `ember.ops.<name>`."""

    def __init__(self, name: str) -> None:
        self._space = name

    def __getattr__(self, name: str) -> CustomOpDef:
        found = _registry.get(f"{self._space}::{name}")
        if found is None:
            raise AttributeError(
                f"'_OpNamespace' '{self._space}' object has no attribute '{name}'",
                name=name,
                obj=self,
            )
        return found
