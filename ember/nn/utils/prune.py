"""Pruning: a parameter becomes its original times a mask of zeros and ones, applied
before each forward. `name_orig` is trained, `name_mask` is a buffer.
"""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import ember
from ember import Tensor
from ember.nn.modules.module import Module


class BasePruningMethod(ABC):
    """Base of all methods: subclasses say which entries to keep in `compute_mask`.

    `PRUNING_TYPE` tells what a container of methods hands to the next one: only what
    is left ("unstructured", "structured") or everything ("global").
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask for `t`, on top of `default_mask`."""

    def apply_mask(self, module: Module) -> Tensor:
        """The original times the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> "BasePruningMethod":
        """Prune a parameter of a module, once more if it already is."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        found = [
            (key, hook)
            for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        for key, old in found:
            del module._forward_pre_hooks[key]
            container: Any = old
            if not isinstance(old, PruningContainer):
                container = PruningContainer(old)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of "
                f"{module}"
            )
        if not found:
            module.register_parameter(name + "_orig", module._parameters[name])
            del module._parameters[name]
            default_mask = ember.ones_like(original)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(importance_scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not found:
                kept = module._parameters.pop(name + "_orig")
                module.register_parameter(name, kept)
            raise
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """`t` pruned, without a module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t"
            )
        if default_mask is None:
            default_mask = ember.ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned value the parameter, for good."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before removal")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods applied to one parameter, one after the other."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        else:
            methods: Any = args[0] if len(args) == 1 else args
            for method in methods:
                self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add a method for the same parameter at the end."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None:
            own = getattr(self, "_tensor_name", method._tensor_name)
            if own != method._tensor_name:
                raise ValueError(
                    "Can only add pruning methods acting on the parameter named "
                    f"'{own}' to PruningContainer {self}. Found "
                    f"'{method._tensor_name}'"
                )
            self._tensor_name = own
        self._pruning_methods += (method,)  # type: ignore[operator]

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` and what the latest method prunes of the rest."""
        mask = default_mask.to(dtype=t.dtype)
        method = self._pruning_methods[-1]
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            part: Any = mask == 1
        elif kind == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    "Pruning methods of PRUNING_TYPE 'structured' need to have the "
                    "attribute `dim` defined."
                )
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            kept = mask.sum(dim=others) != 0
            part = (*[slice(None)] * dim, kept)
        elif kind == "global":
            part = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        added = method.compute_mask(t[part], default_mask=mask[part])
        mask[part] = added.to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing: adds the mask, all ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` itself."""
        return default_mask


class _Amount(BasePruningMethod):
    """A method that prunes an amount: a number, or a share if it is a float."""

    def __init__(self, amount: int | float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        """How many of `size` to prune."""
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)

    def _without(self, scores: Tensor, mask: Tensor, largest: bool) -> Tensor:
        """`mask` without the largest or smallest of `scores`."""
        mask = mask.clone(memory_format=ember.contiguous_format)
        count = self._count(scores.nelement())
        if count != 0:
            chosen = ember.topk(scores.reshape(-1), k=count, largest=largest)
            mask.view(-1)[chosen.indices] = 0
        return mask


class RandomUnstructured(_Amount):
    """Prunes entries chosen at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask without as many entries, from anywhere."""
        if self._count(t.nelement()) == 0:
            return default_mask.clone(memory_format=ember.contiguous_format)
        return self._without(ember.rand_like(t), default_mask, largest=True)


class L1Unstructured(_Amount):
    """Prunes the entries with the smallest magnitude."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask without the smallest entries."""
        return self._without(t.abs(), default_mask, largest=False)


class _Channels(_Amount):
    """A method that prunes whole slices along `dim`."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Tensor, count: int) -> Tensor:
        """Which channels stay, if `count` go: a vector of ones and zeros."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask without some channels along `dim`."""
        _validate_structured_pruning(t)
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self._count(t.shape[self.dim])
        if count == 0:
            return default_mask
        shape = [1] * t.dim()
        shape[self.dim] = -1
        kept = self._kept(t, count).to(default_mask.dtype).view(shape)
        return default_mask * kept


class RandomStructured(_Channels):
    """Prunes channels chosen at random."""

    def _kept(self, t: Tensor, count: int) -> Tensor:
        scores = ember.rand(t.shape[self.dim])
        return (scores > ember.kthvalue(scores, k=count).values).to(t.device)


class LnStructured(_Channels):
    """Prunes the channels with the smallest L`n` norm."""

    def __init__(self, amount: int | float, n, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, count: int) -> Tensor:
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = ember.norm(t, p=self.n, dim=others)
        largest = ember.topk(norms, k=t.shape[self.dim] - count, largest=True)
        kept = ember.zeros(t.shape[self.dim], device=t.device)
        kept[largest.indices] = 1
        return kept


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` times the given one."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError("mask shape must match default_mask shape")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: int | float) -> Module:
    """Prune entries of a parameter at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module,
    name: str,
    amount: int | float,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the smallest entries of a parameter.

    >>> import ember
    >>> from ember.nn.utils import prune
    >>> m = prune.l1_unstructured(ember.nn.Linear(2, 3), "weight", amount=2)
    >>> int((m.weight == 0).sum())
    2
    >>> sorted(m.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(
    module: Module, name: str, amount: int | float, dim: int
) -> Module:
    """Prune channels of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: int | float,
    n,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the channels of a parameter with the smallest norm."""
    given = (module, name, amount, n, dim)
    LnStructured.apply(*given, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one vector."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores is not a dict")
    if pruning_method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {pruning_method.PRUNING_TYPE}"
        )
    vector = ember.nn.utils.parameters_to_vector(
        [scores.get((m, n), getattr(m, n)) for m, n in parameters]
    )
    default = ember.nn.utils.parameters_to_vector(
        [getattr(m, n + "_mask", ember.ones_like(getattr(m, n))) for m, n in parameters]
    )
    method = PruningContainer()
    method._tensor_name = "temp"
    own = pruning_method(**kwargs)
    own._tensor_name = "temp"
    method.add_pruning_method(own)
    mask = method.compute_mask(vector, default)
    start = 0
    for module, name in parameters:
        param = getattr(module, name)
        stop = start + param.numel()
        custom_from_mask(module, name, mask=mask[start:stop].view_as(param))
        start = stop


def remove(module: Module, name: str) -> Module:
    """Make the pruning of a parameter permanent, without mask and hook."""
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be "
        "removed"
    )


def is_pruned(module: Module) -> bool:
    """Whether a module, or one inside it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )


def _validate_pruning_amount_init(amount) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if (whole and amount < 0) or (not whole and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a "
            "non-negative integer"
        )


def _validate_pruning_amount(amount, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}"
        )


def _validate_structured_pruning(t: Tensor) -> None:
    if len(t.shape) <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found "
            f"tensor of shape {t.shape} with {len(t.shape)} dims"
        )


def _compute_nparams_toprune(amount, tensor_size: int) -> int:
    if isinstance(amount, numbers.Integral):
        return int(amount)
    return round(amount * tensor_size)
