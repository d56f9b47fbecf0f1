"""Names of `autograd` that lightning and old libraries use."""

from __future__ import annotations

from typing import Any

from ember import _unavailable
from ember.autograd.function import Function


class InplaceFunction(Function):
    """A `Function` that may work in place: any may, with `ctx.mark_dirty`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


FunctionMeta = type(Function)


class NestedIOFunction(Function):
    """A `Function` of nested arguments: any `Function` takes them here."""


SavedTensor = _unavailable.kind("autograd.SavedTensor", "made by the core only")
ProfilerEvent = _unavailable.kind("autograd.ProfilerEvent", "made by the core only")


def _profiler_enabled() -> bool:
    """Whether the core records what ops take."""
    from ember.profiler import _active  # type: ignore[attr-defined]

    return bool(_active)


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
