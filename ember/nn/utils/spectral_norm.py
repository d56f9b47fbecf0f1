"""Weights divided by their largest singular value, in the older form that works by a
hook (arXiv:1802.05957). `parametrizations.spectral_norm` is the newer form.
"""

from typing import Any, TypeVar

import ember
from ember import Tensor
from ember.nn.functional import normalize
from ember.nn.modules import conv
from ember.nn.modules.module import Module
from ember.nn.parameter import Parameter, is_lazy
from ember.nn.utils.weight_norm import _hook_of, remove_hook

M = TypeVar("M", bound=Module)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight with `dim` as rows and everything else as columns."""
    return weight.movedim(dim, 0).flatten(1) if dim != 0 else weight.flatten(1)


def default_dim(module: Module) -> int:
    """The dimension of a module's weight that belongs to its outputs."""
    transposed = ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
    kinds = tuple(getattr(conv, name) for name in transposed)
    return 1 if isinstance(module, kinds) else 0


class SpectralNorm:
    """The hook that makes `name` from `name_orig` before each forward.

    `name_u` and `name_v` hold the singular vectors, one step better on each call.
    """

    _version = 1

    def __init__(
        self,
        name: str = "weight",
        n_power_iterations: int = 1,
        dim: int = 0,
        eps: float = 1e-12,
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with its output dimension as rows."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The normalized weight; the vectors are improved in place before."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with ember.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(normalize(matrix.mv(v), dim=0, eps=self.eps))
                # Copies, so that a second forward does not spoil the first's backward.
                u, v = u.clone(), v.clone()
        return weight / u.dot(matrix.mv(v))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> "SpectralNorm":
        """Keep the weight as `name_orig` and register the hooks."""
        if _hook_of(module, SpectralNorm, name) is not None:
            raise RuntimeError(
                f"Cannot register two spectral_norm hooks on the same parameter {name}"
            )
        fn = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(
                f"`SpectralNorm` cannot be applied as parameter `{name}` is None"
            )
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized "
                "parameters. Make sure to run the dummy forward before applying "
                "spectral normalization"
            )
        with ember.no_grad():
            rows, columns = as_matrix(weight, dim).shape
            u = normalize(weight.new_empty(rows).normal_(), dim=0, eps=eps)
            v = normalize(weight.new_empty(columns).normal_(), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # A plain attribute: code that initializes module.weight still works.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(fn)
        module._register_state_dict_hook(SpectralNormStateDictHook(fn))
        return fn

    def remove(self, module: Module) -> None:
        """Put the normalized weight back as a parameter."""
        with ember.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for end in ("_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))


class SpectralNormStateDictHook:
    """Notes the version of the form in the metadata of a `state_dict`."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, module: Any, state_dict: Any, prefix: str, local_metadata: dict
    ) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide a weight by its largest singular value, before each forward.

    >>> import ember
    >>> m = ember.nn.utils.spectral_norm(ember.nn.Linear(2, 3))
    >>> sorted(m.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        dim = default_dim(module)
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the weight, as it is normalized now, a parameter again.

    >>> layer = nn.utils.spectral_norm(nn.Linear(3, 2))
    >>> layer = nn.utils.remove_spectral_norm(layer)
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    hook: Any = remove_hook(module, SpectralNorm, name, "spectral_norm")
    for key, other in list(module._state_dict_hooks.items()):
        if isinstance(other, SpectralNormStateDictHook) and other.fn is hook:
            del module._state_dict_hooks[key]
    return module
