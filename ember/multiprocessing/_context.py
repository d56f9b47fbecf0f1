"""Contexts: Python's, with queues and pipes that share tensors."""

from multiprocessing import context

from ember.multiprocessing import _connection


class _Sharing:
    def Pipe(self, duplex: bool = True):
        return _connection.Pipe(duplex)

    def Queue(self, maxsize: int = 0):
        return _connection.Queue(maxsize, ctx=self.get_context())

    def JoinableQueue(self, maxsize: int = 0):
        return _connection.JoinableQueue(maxsize, ctx=self.get_context())

    def SimpleQueue(self):
        return _connection.SimpleQueue(ctx=self.get_context())


class ForkContext(_Sharing, context.ForkContext):
    """Children start as copies of the parent."""


class SpawnContext(_Sharing, context.SpawnContext):
    """Children start as fresh interpreters."""


class ForkServerContext(_Sharing, context.ForkServerContext):
    """Children start as copies of a small server."""


_contexts = {kind._name: kind() for kind in (ForkContext, SpawnContext)}
_contexts["forkserver"] = ForkServerContext()


class DefaultContext(_Sharing, context.DefaultContext):
    """The method is that of Python's module, and setting one here sets it there."""

    def get_context(self, method: str | None = None):
        if method is None:
            method = context._default_context.get_start_method()
        if method not in _contexts:
            raise ValueError(f"cannot find context for {method!r}")
        return _contexts[method]

    def set_start_method(self, method: str | None, force: bool = False) -> None:
        context._default_context.set_start_method(method, force)

    def get_start_method(self, allow_none: bool = False) -> str | None:
        return context._default_context.get_start_method(allow_none)


default_context = DefaultContext(context._concrete_contexts["fork"])
