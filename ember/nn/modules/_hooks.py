"""The part of Module that runs hooks: registering them, and calling a module that has
some. A module without hooks never comes here; see `Module.__call__`.
"""

from collections.abc import Callable

import ember
from ember import _C
from ember.autograd.function import Function
from ember.utils.hooks import RemovableHandle, add_hook

# Hooks for every module, by kind; a call of a module looks at `active` only.
GLOBAL: dict[str, dict] = {
    kind: {}
    for kind in (
        "forward_pre forward backward_pre backward always_called with_kwargs".split()
    )
}
REGISTRATION: dict[str, dict] = {"parameter": {}, "buffer": {}, "module": {}}
active: list = _C._global_hooks  # non-empty once a global hook was ever registered


class HookMethods:
    """Registration of hooks, mixed into Module."""

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; what it returns replaces args."""
        self._hooked = True
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return add_hook(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(
        self,
        hook: Callable,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; a result replaces output."""
        self._hooked = True
        marks = (self._forward_hooks_with_kwargs,) if with_kwargs else ()
        if always_call:
            marks = (*marks, self._forward_hooks_always_called)
        return add_hook(self._forward_hooks, hook, prepend, marks)

    def register_full_backward_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the outputs' gradients are known."""
        self._hooked = True
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when both are known."""
        self._hooked = True
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a "
                "single Module. Please use only one of them."
            )
        self._is_full_backward_hook = True
        return add_hook(self._backward_hooks, hook, prepend)

    # PyTorch's older kind; here it sees the same gradients as the full hook.
    register_backward_hook = register_full_backward_hook
    register_backward_pre_hook = register_full_backward_pre_hook

    def _call_with_hooks(self, args: tuple, kwargs: dict):
        """`__call__` for a module that has, or once had, hooks, or is compiled."""
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_as_is(*args, **kwargs)

    def _call_as_is(self, *args, **kwargs):
        """A call with hooks, not compiled."""
        result, called = None, []
        try:
            args, kwargs = _run_pre_hooks(self, args, kwargs)
            before = {**GLOBAL["backward_pre"], **self._backward_pre_hooks}
            after = {**GLOBAL["backward"], **self._backward_hooks}
            boundary = None
            if before or after:
                boundary = _Boundary(self, list(before.values()), list(after.values()))
                args = boundary.around_inputs(args)
            result = self.forward(*args, **kwargs)
            result = _run_forward_hooks(self, args, kwargs, result, called)
            if boundary is None:
                return result
            if not isinstance(result, (ember.Tensor, tuple)):
                import warnings

                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor "
                    f"or a tuple of Tensors but received {type(result)}",
                    stacklevel=3,
                )
            return boundary.around_outputs(result)
        except Exception:
            _run_always_called(self, args, kwargs, result, called)
            raise


def _run_pre_hooks(module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    own = module._forward_pre_hooks
    for key, hook in [*GLOBAL["forward_pre"].items(), *own.items()]:
        if key in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of "
                    f"(new_args, new_kwargs), but got {changed}."
                )
            args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _run_forward_hooks(module, args, kwargs, result, called: list):
    for key, hook in [*GLOBAL["forward"].items(), *module._forward_hooks.items()]:
        called.append(key)
        if key in module._forward_hooks_with_kwargs or key in GLOBAL["with_kwargs"]:
            changed = hook(module, args, kwargs, result)
        else:
            changed = hook(module, args, result)
        if changed is not None:
            result = changed
    return result


def _run_always_called(module, args, kwargs, result, called: list) -> None:
    """After an error in forward, hooks that asked for it still run."""
    for key, hook in [*GLOBAL["forward"].items(), *module._forward_hooks.items()]:
        asked = key in module._forward_hooks_always_called
        if key in called or not (asked or key in GLOBAL["always_called"]):
            continue
        try:
            if key in module._forward_hooks_with_kwargs or key in GLOBAL["with_kwargs"]:
                hook(module, args, kwargs, result)
            else:
                hook(module, args, result)
        except Exception as error:
            import warnings

            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception "
                f"that was silenced as another error was raised in forward: {error}"
            )


class BackwardHookFunction(Function):
    """Identity that shows passing gradients to a function, which may replace them."""

    @staticmethod
    def forward(ctx, see, *tensors):
        ctx.see = see
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return None, *ctx.see(grads)


class _Boundary:
    """Runs backward hooks of one call, by taps around its inputs and its outputs."""

    def __init__(self, module, before: list, after: list) -> None:
        self.module, self.before, self.after = module, before, after
        self.grad_outputs: tuple | None = None
        self.inputs_tapped = False

    def around_inputs(self, args: tuple) -> tuple:
        self.count = len(args)
        self.args_at, tapped = self._tap(args, self._saw_inputs)
        self.inputs_tapped = tapped is not None
        return tapped or args

    def around_outputs(self, result):
        outputs = result if isinstance(result, tuple) else (result,)
        self.outputs_count = len(outputs)
        self.outputs_at, tapped = self._tap(outputs, self._saw_outputs)
        if tapped is None:
            return result
        if not isinstance(result, tuple):
            return tapped[0]
        named = hasattr(result, "_fields")
        return type(result)(*tapped) if named else tapped

    def _tap(self, values: tuple, see) -> tuple[list, tuple | None]:
        is_tensor = [isinstance(v, ember.Tensor) for v in values]
        at = [i for i, yes in enumerate(is_tensor) if yes]
        if not (ember.is_grad_enabled() and any(values[i].requires_grad for i in at)):
            return at, None
        at = [i for i in at if values[i].requires_grad]
        tapped = list(values)
        for i, t in zip(at, BackwardHookFunction.apply(see, *(values[i] for i in at))):
            tapped[i] = t
        return at, tuple(tapped)

    def _saw_outputs(self, grads: tuple) -> tuple:
        full = _spread(grads, self.outputs_at, self.outputs_count)
        for hook in self.before:
            changed = hook(self.module, full)
            if changed is not None:
                full = _as_grads(changed, full, "grad_output")
        self.grad_outputs = full
        if not self.inputs_tapped:
            # No gradient will reach the inputs, so this is the last chance.
            if self.after:
                _warn_of_no_inputs()
            for hook in self.after:
                changed = hook(self.module, (None,) * self.count, full)
                grads = changed if isinstance(changed, tuple) else (changed,)
                if any(g is not None for g in grads):
                    raise RuntimeError(
                        "backward hook for modules where no input requires gradient "
                        "should always return None or None for all gradients."
                    )
        return tuple(full[i] for i in self.outputs_at)

    def _saw_inputs(self, grads: tuple) -> tuple:
        if self.grad_outputs is None:
            return grads  # not by way of the outputs: a second derivative
        full = _spread(grads, self.args_at, self.count)
        for hook in self.after:
            changed = hook(self.module, full, self.grad_outputs)
            if changed is not None:
                full = _as_grads(changed, full, "grad_input")
        self.grad_outputs = None
        return tuple(full[i] for i in self.args_at)


def _warn_of_no_inputs() -> None:
    import warnings

    warnings.warn(
        "Full backward hook is firing when gradients are computed with respect to "
        "module outputs since no inputs require gradients. The hook is given None for "
        "each of them.",
        stacklevel=2,
    )


def _spread(grads: tuple, at: list, count: int) -> tuple:
    full = [None] * count
    for i, g in zip(at, grads):
        full[i] = g
    return tuple(full)


def _as_grads(changed, full: tuple, what: str) -> tuple:
    changed = changed if isinstance(changed, tuple) else (changed,)
    if len(changed) != len(full):
        raise RuntimeError(
            f"Backward hook returned an invalid number of {what}, got {len(changed)}, "
            f"but expected {len(full)}"
        )
    return changed


def _register_global(kind: str, hook: Callable) -> RemovableHandle:
    active.append(kind)
    return add_hook(GLOBAL[kind], hook)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """`register_forward_pre_hook` for every module."""
    return _register_global("forward_pre", hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """`register_forward_hook` for every module."""
    handle = _register_global("forward", hook)
    if with_kwargs:
        GLOBAL["with_kwargs"][handle.id] = True
    if always_call:
        GLOBAL["always_called"][handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """`register_full_backward_pre_hook` for every module."""
    return _register_global("backward_pre", hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """`register_full_backward_hook` for every module."""
    return _register_global("backward", hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(module, name, param)` for each parameter that is registered."""
    return add_hook(REGISTRATION["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(module, name, buffer)` for each buffer that is registered."""
    return add_hook(REGISTRATION["buffer"], hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(module, name, submodule)` for each submodule that is registered."""
    return add_hook(REGISTRATION["module"], hook)


def registered(kind: str, module, name: str, value):
    """Run registration hooks; the value that is to be registered."""
    for hook in REGISTRATION[kind].values():
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value
