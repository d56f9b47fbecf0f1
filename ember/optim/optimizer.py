"""`Optimizer`: parameter groups, state, hooks and checkpoints of all optimizers.

A subclass defines `_update(group)`, which changes the parameters of one group in place;
gradients are off while it runs. State has PyTorch's names and kinds, so checkpoints
move both ways.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

import ember
from ember import _C, _lazy
from ember.utils.hooks import RemovableHandle, add_hook

_grad_enabled, _set_grad = _C.is_grad_enabled, _C._set_grad_enabled
_profiled = _C._profile_on

_global_pre_hooks: dict = {}
_global_post_hooks: dict = {}


class _Required:
    """The value of options without a default."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Base of all optimizers.

    >>> import ember
    >>> p = ember.nn.Parameter(ember.ones(1))
    >>> optimizer = ember.optim.SGD([p], lr=0.5)
    >>> (p * 3).backward()
    >>> optimizer.step()
    >>> p.data
    tensor([-0.5000])
    """

    OptimizerPreHook = Callable
    OptimizerPostHook = Callable
    _hooked = False

    def __init__(self, params: Iterable, defaults: dict) -> None:
        self.defaults = defaults
        self.state: dict = defaultdict(dict)
        self.param_groups: list[dict] = []
        self._make_hook_tables()
        if isinstance(params, ember.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of "
                f"Tensors or dicts, but got {type(params).__name__}"
            )
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            step = Optimizer.profile_hook_step(cls.step)
            cls.step = step  # type: ignore[method-assign]

    @staticmethod
    def profile_hook_step(func: Callable) -> Callable:
        """Put the hooks of a step around a method, and its name into profiles.

        The `step` of a subclass has it without being asked.

        >>> import ember
        >>> class Halve(ember.optim.Optimizer):
        ...     def __init__(self, params):
        ...         super().__init__(params, {})
        ...     @ember.optim.Optimizer.profile_hook_step
        ...     def halve(self):
        ...         for p in self.param_groups[0]["params"]:
        ...             p.data /= 2
        >>> weight = ember.ones(1, requires_grad=True)
        >>> optimizer = Halve([weight])
        >>> handle = optimizer.register_step_post_hook(lambda *call: print("done"))
        >>> optimizer.halve()
        done
        """
        from functools import wraps

        @wraps(func)
        def hooked(self, *args, **kwargs):
            if self._hooked or _global_pre_hooks or _global_post_hooks or _profiled():
                return _run_with_hooks(func, (self, *args), kwargs)
            return func(self, *args, **kwargs)

        return hooked

    def _make_hook_tables(self) -> None:
        self._optimizer_step_pre_hooks: dict = {}
        self._optimizer_step_post_hooks: dict = {}
        self._optimizer_state_dict_pre_hooks: dict = {}
        self._optimizer_state_dict_post_hooks: dict = {}
        self._optimizer_load_state_dict_pre_hooks: dict = {}
        self._optimizer_load_state_dict_post_hooks: dict = {}

    def step(self, closure: Callable | None = None) -> Any:
        """Change the parameters once; with a closure, return the loss it gives."""
        if self._hooked or _global_pre_hooks or _global_post_hooks or _profiled():
            args = (self,) if closure is None else (self, closure)
            return _run_with_hooks(Optimizer._step, args, {})
        return self._step(closure)

    def _step(self, closure: Callable | None = None):
        loss = None
        before = _grad_enabled()
        try:
            if closure is not None:
                _set_grad(True)
                loss = closure()
            found_inf = getattr(self, "found_inf", None)
            for group in self.param_groups:
                if found_inf is not None and group.get("fused"):
                    if found_inf.item():
                        continue
                    self._unscale(group)
                if group.get("differentiable"):
                    _set_grad(True)
                    self._renew_states(group)
                else:
                    _set_grad(False)
                self._update(group)
        finally:
            _set_grad(before)
        return loss

    def _renew_states(self, group: dict) -> None:
        """Copies of the states: the graph holds what earlier steps made of them."""
        for p in group["params"]:
            state = self.state.get(p, {})
            for name, value in state.items():
                if isinstance(value, ember.Tensor):
                    state[name] = value.clone()

    def _unscale(self, group: dict) -> None:
        """Divide the gradients of a fused group by their scale.

        A scaler may leave this to the optimizer: it sets `found_inf` and `grad_scale`.
        """
        scale = getattr(self, "grad_scale", None)
        if scale is not None:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(scale)

    def _update(self, group: dict) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} must define step() or _update()"
        )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop, or set to zero, the gradients of all parameters."""
        if _profiled():
            kind = type(self).__name__
            span = _C._profile_begin(f"Optimizer.zero_grad#{kind}.zero_grad")
            self._zero_grad(set_to_none)
            del span  # it ends here
        else:
            self._zero_grad(set_to_none)

    def _zero_grad(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    def add_param_group(self, param_group: dict) -> None:
        """Add parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, ember.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but "
                "the ordering of tensors in sets will change between runs. Please use "
                "a list instead."
            )
        _take_names(param_group, list(params))
        self._check_names(param_group)
        for p in param_group["params"]:
            if not isinstance(p, ember.Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    + type(p).__name__
                )
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization "
                    f"parameter {name}"
                )
            param_group.setdefault(name, default)
        self._check_unique(param_group["params"])
        self.param_groups.append(param_group)

    def _check_names(self, param_group: dict) -> None:
        named = "param_names" in param_group
        if any(("param_names" in group) != named for group in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add "
                f"param group {'with' if named else 'without'} names to the optimizer"
            )

    def _check_unique(self, params: list) -> None:
        new = {id(p) for p in params}
        if len(new) != len(params):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in "
                "future, this will cause an error; see github.com/pytorch/pytorch/"
                "issues/40967 for more information",
                stacklevel=4,
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if known & new:
            raise ValueError("some parameters appear in more than one parameter group")

    # --- checkpoints ----------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """State and groups, with parameters replaced by their numbers."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            numbers[id(p)] if isinstance(p, ember.Tensor) else p: values
            for p, values in self.state.items()
        }
        result = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` gave; state takes the parameters' dtype."""
        state_dict = dict(state_dict)
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups"
            )
        pairs = list(zip(self.param_groups, saved))
        if any(len(own["params"]) != len(new["params"]) for own, new in pairs):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the "
                "size of optimizer's group"
            )
        numbers = chain.from_iterable(group["params"] for group in saved)
        params = chain.from_iterable(group["params"] for group in self.param_groups)
        by_number = dict(zip(numbers, params))
        state: dict = defaultdict(dict)
        for key, value in state_dict["state"].items():
            param = by_number.get(key)
            state[key if param is None else param] = self._restored(param, value)
        for own, new in pairs:
            new["params"] = own["params"]
            if "param_names" in own:
                new["param_names"] = own["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def _restored(self, param, value, key: str | None = None):
        """Saved state for a parameter; its tensors follow the parameter's dtype.

        Like PyTorch's, they are not copied where they fit as they are.
        """
        if isinstance(value, ember.Tensor):
            if param is None or key == "step":
                return value
            if param.is_floating_point():
                return value.to(param.device, param.dtype)
            return value.to(param.device)
        if isinstance(value, dict):
            return {k: self._restored(param, v, k) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._restored(param, v) for v in value)
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hook_tables()
        for group in self.param_groups:
            for name, default in self.__dict__.get("defaults", {}).items():
                group.setdefault(name, default)

    # --- hooks ----------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step.

        The optimizer is the first of `args`, too. What the hook returns, if not None,
        is what `step` is called with.
        """
        self._hooked = True
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        self._hooked = True
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict` is made."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` on the finished dictionary."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"


def _take_names(group: dict, params: list) -> None:
    """Split pairs of `named_parameters()` into parameters and names."""
    named = [isinstance(p, tuple) for p in params]
    if any(named) and not all(named):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are "
            "missing"
        )
    if any(named):
        group["param_names"] = [name for name, _ in params]
        params = [p for _, p in params]
    group["params"] = params


def _run_with_hooks(step, args: tuple, kwargs: dict):
    """A step between its hooks; the optimizer is the first argument."""
    optimizer = args[0]
    kind = type(optimizer).__name__
    span = _C._profile_begin(f"Optimizer.step#{kind}.step") if _profiled() else None
    pre = [*_global_pre_hooks.values(), *optimizer._optimizer_step_pre_hooks.values()]
    for hook in pre:
        changed = hook(optimizer, args, kwargs)
        if changed is None:
            continue
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(
                f"{step} must return None or a tuple of (new_args, new_kwargs), but "
                f"got {changed}."
            )
        args, kwargs = changed
    result = step(*args, **kwargs)
    post = optimizer._optimizer_step_post_hooks
    for hook in [*post.values(), *_global_post_hooks.values()]:
        hook(optimizer, args, kwargs)
    del span  # it ends here
    return result


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """`register_step_pre_hook` for every optimizer."""
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """`register_step_post_hook` for every optimizer."""
    return add_hook(_global_post_hooks, hook)


__getattr__ = _lazy.missing(__name__)
