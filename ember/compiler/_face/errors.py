"""Errors of `ember.compile`, of the kinds that PyTorch's programs catch."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """Any of the errors below."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error in the compiler itself."""


class Unsupported(TorchDynamoException):
    """What cannot be part of one graph."""


class UserError(Unsupported):
    """What cannot be part of one graph, by the program's fault."""


class InvalidBackend(TorchDynamoException):
    """A backend that is not known."""

    def __init__(self, name: object) -> None:
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for "
            "available backends."
        )


class BackendCompilerFailed(TorchDynamoException):
    """An error of a backend, which is `inner_exception`."""

    def __init__(self, backend: object, inner_exception: Exception) -> None:
        name = getattr(backend, "__name__", str(backend))
        kind = type(inner_exception).__name__
        super().__init__(f"backend={name!r} raised:\n{kind}: {inner_exception}")
        self.backend_name, self.inner_exception = name, inner_exception


class FailOnRecompileLimitHit(TorchDynamoException):
    """More graphs of one function than `recompile_limit`, with `fullgraph`."""


class RecompileError(TorchDynamoException):
    """Another graph, where the stance forbids it."""


class TorchRuntimeError(TorchDynamoException):
    """An error of a program while it is followed."""
