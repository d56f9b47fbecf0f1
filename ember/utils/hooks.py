"""Handles of registered hooks."""

from itertools import count
from typing import Any

_next_id = count()


class RemovableHandle:
    """Removes the hook that it was returned for; usable as a context manager.

    >>> import ember
    >>> m = ember.nn.Identity()
    >>> handle = m.register_forward_hook(lambda m, args, out: out + 1)
    >>> m(ember.zeros(1))
    tensor([1.])
    >>> handle.remove()
    >>> m(ember.zeros(1))
    tensor([0.])
    """

    def __init__(self, hooks_dict: dict, *, extra_dict: Any = None) -> None:
        self.id = next(_next_id)
        extra = [extra_dict] if isinstance(extra_dict, dict) else extra_dict or ()
        self.dicts = (hooks_dict, *extra)

    def hooks_dict_ref(self) -> dict:
        """Where the hook is registered."""
        return self.dicts[0]

    def remove(self) -> None:
        """Take the hook away; doing so twice is harmless."""
        for hooks in self.dicts:
            hooks.pop(self.id, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


def add_hook(
    hooks: dict, hook: Any, prepend: bool = False, marks: Any = ()
) -> RemovableHandle:
    """Put `hook` into `hooks` (first, with `prepend`) and its id into `marks`."""
    handle = RemovableHandle(hooks, extra_dict=marks)
    others = list(hooks.items()) if prepend else ()
    if prepend:
        hooks.clear()
    hooks[handle.id] = hook
    hooks.update(others)
    for mark in marks:
        mark[handle.id] = True
    return handle


def unserializable_hook(f: Any) -> Any:
    """Mark a hook that a pickle of its tensor loses, without a warning."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn about hooks of a tensor that its pickle loses."""
    hooks = getattr(tensor, "_backward_hooks", None) or {}
    for hook in hooks.values():
        if not hasattr(hook, "__torch_unserializable__"):
            import warnings

            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is "
                "expected, you can decorate the function with "
                "@torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


class BackwardHook:
    """Calls hooks with the gradients of a module's inputs and outputs.

    `setup_input_hook` and `setup_output_hook` are given what goes into the module and
    what comes out of it, and return what to use instead.
    """

    def __init__(self, module: Any, user_hooks: Any, user_pre_hooks: Any) -> None:
        from ember.nn.modules._hooks import _Boundary

        self.module = module
        self._boundary = _Boundary(module, list(user_pre_hooks), list(user_hooks))

    def setup_input_hook(self, args: tuple) -> tuple:
        return self._boundary.around_inputs(args)

    def setup_output_hook(self, args: Any) -> Any:
        return self._boundary.around_outputs(args)
