"""Names of `autograd` that lightning and old libraries use."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from ember import _C, _unavailable
from ember.autograd.function import Function


class InplaceFunction(Function):
    """A `Function` that may work in place: any may, with `ctx.mark_dirty`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


FunctionMeta = type(Function)


class NestedIOFunction(Function):
    """A `Function` of nested arguments: any `Function` takes them here."""


class InputMetadata(NamedTuple):
    """What a gradient that arrives at a node looks like."""

    shape: Any
    dtype: Any
    device: Any
    is_nested_tensor: bool = False
    is_cpp_nested_tensor: bool = False


class _Undefined(Function):
    """The identity, whose gradient is none."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        ctx.set_materialize_grads(False)
        made = tuple(t.view_as(t) for t in tensors)
        return made if len(made) > 1 else made[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None,) * len(grads)


class UndefinedGrad:
    """Calls give back their argument; its gradient is none."""

    def __call__(self, *tensors: Any) -> Any:
        return _Undefined.apply(*tensors)


class DelayedError:
    """Calls give back their arguments; their gradient is an error with this text."""

    def __init__(self, message: str, count: int) -> None:
        class _Delayed(Function):
            @staticmethod
            def forward(ctx: Any, *tensors: Any) -> Any:
                made = tuple(t.view_as(t) for t in tensors)
                return made if len(made) > 1 else made[0]

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                raise RuntimeError(message)

        self._apply = _Delayed.apply

    def __call__(self, *tensors: Any) -> Any:
        return self._apply(*tensors)


def saved_tensors_hooks_is_enabled() -> bool:
    """Whether hooks on saved tensors may be set."""
    return _C._saved_tensors_hooks_get_disabled_error_message() is None


class WeakTensorRef:
    """Tells whether a tensor is still there."""

    def __init__(self, tensor: Any) -> None:
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether it is gone."""
        return self._ref() is None


def unsafe_set_version_counter(tensors: Any, versions: Any) -> None:
    """Make tensors look as if they had been changed as often as that."""
    if isinstance(tensors, _C.Tensor):
        tensors, versions = (tensors,), (versions,)
    for tensor, version in zip(tensors, versions, strict=True):
        if version < tensor._version:
            raise RuntimeError(
                "_unsafe_set_version_counter(): ember's versions cannot go back"
            )
        for _ in range(version - tensor._version):
            _C._increment_version(tensor)


SavedTensor = _unavailable.kind("autograd.SavedTensor", "made by the core only")
ProfilerEvent = _unavailable.kind("autograd.ProfilerEvent", "made by the core only")


def _profiler_enabled() -> bool:
    """Whether the core records what ops take."""
    return bool(_C._profile_on())


def _disable_profiler() -> None:
    """Stop recording what ops take."""


class _ExperimentalConfig:
    """Options of PyTorch's profiler that ember's does not have."""

    def __init__(self, **options: Any) -> None:
        self.__dict__.update(options)


class _Emit:
    """A block whose ops would show in another vendor's profiler: needs that vendor's
    device."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> _Emit:
        if self.enabled:
            raise _unavailable.Unavailable(
                f"{type(self).__name__}: ember has no CUDA; use ember.profiler.profile"
            )
        return self

    def __exit__(self, *error: object) -> None: ...


class emit_nvtx(_Emit): ...


class emit_itt(_Emit): ...


load_nvprof = _unavailable.function("load_nvprof", "ember has no CUDA")
parse_nvprof_trace = _unavailable.function("parse_nvprof_trace", "ember has no CUDA")


class region_activation_memory_budget:
    """A block whose saved tensors a compiler would keep within a budget; without one
    all of them are kept."""

    def __init__(self, budget: float) -> None:
        self.budget = budget

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...
