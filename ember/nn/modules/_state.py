"""The part of Module that saves and restores: state_dict and load_state_dict."""

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import ember
from ember.nn.parameter import Parameter, is_lazy
from ember.utils.hooks import RemovableHandle, add_hook

_EXTRA = "_extra_state"


class _IncompatibleKeys(
    namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])
):
    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateMethods:
    """state_dict and load_state_dict, mixed into Module."""

    def state_dict(
        self,
        *args: Any,
        destination: Any = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by their dotted names.

        >>> import ember
        >>> list(ember.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if args:  # the positional form of old PyTorch
            given = (destination, prefix, keep_vars)
            destination, prefix, keep_vars = (*args, *given[len(args) :])
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination,
                    prefix=f"{prefix}{name}.",
                    keep_vars=keep_vars,
                )
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, metadata)
            if changed is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = changed
        return destination

    def _save_to_state_dict(self, destination, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state, not its children's, into `destination`."""
        for name, value in self._own_state():
            lazy = is_lazy(value)
            kept = value if keep_vars or lazy else value.detach()
            destination[prefix + name] = kept
        if _has_extra_state(self):
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _own_state(self) -> list:
        named = [*self._parameters.items()]
        named += [
            (name, value)
            for name, value in self._buffers.items()
            if name not in self._non_persistent_buffers_set
        ]
        return [(name, value) for name, value in named if value is not None]

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Copy values (with `assign`, the tensors themselves) from a `state_dict`.

        With `strict`, names have to be the same on both sides.

        >>> import ember
        >>> a, b = ember.nn.Linear(2, 3), ember.nn.Linear(2, 3)
        >>> a.load_state_dict(b.state_dict())
        <All keys matched successfully>
        """
        if not hasattr(state_dict, "items"):
            raise TypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict)}."
            )
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        _load(self, state, "", metadata or {}, assign, missing, unexpected, errors)
        if strict and unexpected:
            names = ", ".join(f'"{k}"' for k in unexpected)
            errors.insert(0, f"Unexpected key(s) in state_dict: {names}. ")
        if strict and missing:
            names = ", ".join(f'"{k}"' for k in missing)
            errors.insert(0, f"Missing key(s) in state_dict: {names}. ")
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors)
            )
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
    ) -> None:
        """Load this module's own state, not its children's."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        own = dict(self._own_state())
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                error = _restore(self, name, key, current, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            else:
                missing_keys.append(key)
        extra = prefix + _EXTRA
        if type(self).set_extra_state is not StateMethods.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            else:
                missing_keys.append(extra)
        elif extra in state_dict:
            unexpected_keys.append(extra)
        for key in state_dict:
            if not key.startswith(prefix) or key == extra:
                continue
            head, dot, _ = key[len(prefix) :].partition(".")
            if (not dot and head not in own) or (dot and head not in self._modules):
                unexpected_keys.append(key)

    def get_extra_state(self) -> Any:
        """Override, with `set_extra_state`, to keep more than tensors."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be "
            "called."
        )

    def set_extra_state(self, state: Any) -> None:
        """Restore what `get_extra_state` returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be "
            "called."
        )

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` is made."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata)` on the finished dict."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that "
                "was previously registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, ...)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module: bool = False):
        from functools import partial

        hook = partial(hook, self) if with_module else hook
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading."""
        return add_hook(self._load_state_dict_post_hooks, hook)


def _load(module, state, prefix, metadata, assign, missing, unexpected, errors) -> None:
    """Load `module` and, with the part of the state below them, its children."""
    local = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(
        state, prefix, local, True, missing, unexpected, errors
    )
    for name, child in module._modules.items():
        if child is None:
            continue
        below = f"{prefix}{name}."
        part = OrderedDict((k, v) for k, v in state.items() if k.startswith(below))
        _load(child, part, below, metadata, assign, missing, unexpected, errors)
    result = _IncompatibleKeys(missing, unexpected)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, result) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                "expected to return new values, if incompatible_keys need to be "
                "modified, it should be done inplace."
            )


def _warn_of_meta(key: str, current, given) -> None:
    if not current.is_meta or given.is_meta:
        return
    import warnings

    warnings.warn(
        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
        "parameter in the current model, which is a no-op. (Did you mean to pass "
        "`assign=True` to assign items in the state dictionary to their corresponding "
        "key in the module instead of copying them in place?)",
        stacklevel=4,
    )


def _restore(module, name, key, current, given, assign: bool) -> str | None:
    """Give one parameter or buffer its saved value; the text of what went wrong."""
    if not isinstance(given, ember.Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or '
            f"Tensor-like object from checkpoint but received {type(given)}"
        )
    lazy = is_lazy(current)
    if not lazy and is_lazy(given):
        _ = given.shape  # raises, and says what to do
    if not lazy and current.dim() == 0 and given.dim() == 1 and given.shape[0] == 1:
        given = given[0]  # scalars were saved as vectors of one before PyTorch 0.4
    if not lazy and not is_lazy(given) and given.shape != current.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} from "
            f"checkpoint, the shape in current model is {current.shape}."
        )
    try:
        with ember.no_grad():
            if not assign:
                _warn_of_meta(key, current, given)
                current.copy_(given)
            elif isinstance(current, Parameter):
                if not isinstance(given, Parameter):
                    given = Parameter(given, requires_grad=current.requires_grad)
                elif given.requires_grad != current.requires_grad:
                    given.requires_grad_(current.requires_grad)
                setattr(module, name, given)
            else:
                setattr(module, name, given)
    except Exception as error:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model '
            f"are {current.size()} and whose dimensions in the checkpoint are "
            f"{given.size()}, an exception occurred : {error.args}."
        )
    return None


def _has_extra_state(module) -> bool:
    return type(module).get_extra_state is not StateMethods.get_extra_state
