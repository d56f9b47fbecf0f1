"""Parameters that are functions of others: `module.weight` becomes what a chain of
modules makes of `module.parametrizations.weight.original`.
"""

from collections.abc import Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import ember
from ember import Tensor
from ember.nn.modules.container import ModuleDict, ModuleList
from ember.nn.modules.module import Module
from ember.nn.parameter import Parameter

# Inside cached(): (id of the module, name) -> value. Depth of the nesting.
_cache: dict[tuple[int, str], Tensor] = {}
_cache_enabled = 0


@contextmanager
def cached() -> Any:
    """Compute each parametrized tensor once inside, however often it is read.

    >>> import ember
    >>> from ember.nn.utils import parametrize
    >>> m = ember.nn.utils.parametrizations.weight_norm(ember.nn.Linear(2, 2))
    >>> with parametrize.cached():
    ...     m.weight is m.weight
    True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The chain of one tensor, and the tensors (`original`, or `original0` ...) that
    it starts from. `right_inverse` of its members goes the other way.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> chain = layer.parametrizations.weight
    >>> type(chain).__name__, chain.original0.shape
    ('ParametrizationList', torch.Size([3, 1]))
    """

    original: Tensor
    unsafe: bool

    def __init__(
        self, modules: Sequence[Module], original: Tensor, unsafe: bool = False
    ) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with ember.no_grad():
            new = self._invert(original, NotImplementedError)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                f"tuple...). Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the "
                    f"dtype.\noriginal.dtype: {original.dtype}\n"
                    f"right_inverse(original).dtype: {new.dtype}"
                )
            if original.device != new.device:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the "
                    f"device.\noriginal.device: {original.device}\n"
                    f"right_inverse(original).device: {new.device}"
                )
            # The same object, so that optimizers that hold it keep working.
            with ember.no_grad():
                original.set_(new)
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors "
                        f"(list, tuple...). Got element {i} of the sequence with type "
                        f"{type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                part.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", part)
        if not self.unsafe:
            value = self()
            if not isinstance(value, Tensor):
                raise ValueError(
                    "A parametrization must return a tensor. Got "
                    f"{type(value).__name__}."
                )
            _check_same("dtype", value.dtype, dtype)
            _check_same("shape", value.shape, shape)

    def _originals(self) -> tuple[Tensor, ...]:
        if self.is_tensor:
            return (self.original,)
        return tuple(getattr(self, f"original{i}") for i in range(self.ntensors))

    def _invert(self, value, missing: type[Exception] | None = None):
        """What the chain would have to start from to give `value`."""
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    if missing is None:
                        raise
            elif missing is None:
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not implement "
                    "right_inverse."
                )
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Change the originals so that the chain gives `value`."""
        with ember.no_grad():
            new = self._invert(value)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise ValueError(
                        "`right_inverse` should return a tensor. Got "
                        f"{type(new).__name__}"
                    )
                new = (new,)
            elif not isinstance(new, Sequence):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors. Got "
                    f"{type(new)}."
                )
            elif len(new) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(new)}."
                )
            for old, part in zip(self._originals(), new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "`right_inverse` must return a sequence of tensors. Got "
                        f"{type(part).__name__}"
                    )
                if old.dtype != part.dtype:
                    raise ValueError(
                        f"Tensor returned by `right_inverse` has dtype {part.dtype} "
                        f"while `original` has dtype {old.dtype}"
                    )
                old.set_(part)

    def forward(self) -> Tensor:
        first, *rest = self
        value = first(*self._originals())
        for module in rest:
            value = module(value)
        return value


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_same(what: str, got, expected) -> None:
    if got != expected:
        raise ValueError(
            f"Registering a parametrization may not change the {what} of the tensor, "
            "unless `unsafe` flag is enabled.\n"
            f"unparametrized {what}: {expected}\nparametrized {what}: {got}"
        )


def _inject_class(module: Module) -> None:
    """Give the module a class of its own, for its properties."""
    cls = type(module)

    def getstate(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through "
            "state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-"
            "training"
        )

    def deep_copy(self, memo):
        made = memo.get(id(self))
        if made is None:
            made = self.__new__(type(self))
            memo[id(self)] = made
            made.__dict__ = deepcopy(self.__dict__, memo)
        return made

    members: dict[str, Any] = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deep_copy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, name: str) -> None:
    def read(self) -> Tensor:
        chain = self.parametrizations[name]
        if not _cache_enabled:
            return chain()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = chain()
        return _cache[key]

    def write(self, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Module,
    tensor_name: str,
    parametrization: Module,
    *,
    unsafe: bool = False,
) -> Module:
    """Let `parametrization` compute a parameter or buffer of `module`.

    >>> import ember
    >>> class Symmetric(ember.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).transpose(-1, -2)
    >>> m = ember.nn.Linear(3, 3)
    >>> from ember.nn.utils import parametrize
    >>> m = parametrize.register_parametrization(m, "weight", Symmetric())
    >>> bool((m.weight == m.weight.t()).all())
    True
    >>> list(m.state_dict())
    ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        chain = module.parametrizations[tensor_name]
        if not unsafe:
            value = getattr(module, tensor_name)
            made = parametrization(value)
            if not isinstance(made, Tensor):
                raise ValueError(
                    f"A parametrization must return a tensor. Got {type(made).__name__}"
                )
            _check_same("dtype", made.dtype, value.dtype)
            _check_same("shape", made.shape, value.shape)
            if hasattr(parametrization, "right_inverse"):
                try:
                    back = parametrization.right_inverse(value)
                except NotImplementedError:
                    pass
                else:
                    if not isinstance(back, Tensor):
                        raise ValueError(
                            "parametrization.right_inverse must return a tensor. Got: "
                            f"{type(back).__name__}"
                        )
                    _check_same("dtype", back.dtype, value.dtype)
        chain.append(parametrization)
        chain.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        chain = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = chain
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized "
            f"element with name '{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module, or one tensor of it, is parametrized.

    Args:
        module: the module itself, not those inside it
        tensor_name: one tensor; None: any

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> nn.utils.parametrize.is_parametrized(layer, "bias")
    False
    """
    chains = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(chains, ModuleDict):
        return False
    return len(chains) > 0 if tensor_name is None else tensor_name in chains


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a tensor an ordinary one again: its present value, or else its original.

    >>> import ember
    >>> from ember.nn.utils import parametrize
    >>> m = ember.nn.utils.parametrizations.weight_norm(ember.nn.Linear(2, 2))
    >>> list(parametrize.remove_parametrizations(m, "weight").state_dict())
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"Module {module} does not have a parametrization on {tensor_name}"
        )
    chain = module.parametrizations[tensor_name]
    original = chain.original if chain.is_tensor else chain.original0
    if not chain.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    if leave_parametrized:
        with ember.no_grad():
            value = getattr(module, tensor_name)
        if chain.is_tensor:
            with ember.no_grad():
                original.set_(value)
        elif isinstance(original, Parameter):
            original = Parameter(value, original.requires_grad)
        else:
            original = value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module without its parametrizations.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> type(layer).__name__
    'ParametrizedLinear'
    >>> nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations, and the values, of `from_module`.

    Args:
        from_module: a parametrized module
        to_module: one of the same kind
        tensor_name: one tensor; None: all

    >>> a, b = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)), nn.Linear(2, 3)
    >>> b = nn.utils.parametrize.transfer_parametrizations_and_params(a, b)
    >>> ember.equal(a.weight, b.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    names = [*from_module.parametrizations] if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for part in source:
            register_parametrization(to_module, name, part)
        target = to_module.parametrizations[name]
        if target.is_tensor:
            target.original = source.original
        else:
            for i in range(target.ntensors):
                setattr(target, f"original{i}", getattr(source, f"original{i}"))
    return to_module
