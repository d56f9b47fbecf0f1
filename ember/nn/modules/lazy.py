"""Modules that learn their input size from the first input."""

from typing import Any

from ember.nn.parameter import is_lazy


class LazyModuleMixin:
    """Mixed into a module whose parameters are uninitialized until the first call.

    The subclass defines `initialize_parameters(*args)` and `cls_to_become`.
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer still waits for its shape."""
        named = [*self._parameters.values(), *self._buffers.values()]
        return any(is_lazy(value) for value in named)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the first input."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def _infer_parameters(self, module, args, kwargs=None) -> None:
        """Before the first forward: become an ordinary module."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"module {self._get_name()} has not been fully initialized"
            )
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _lazy_load_hook(self, state_dict, prefix, *rest) -> None:
        """Loading initialized values gives uninitialized parameters their shape."""
        for name, value in [*self._parameters.items(), *self._buffers.items()]:
            saved = state_dict.get(prefix + name)
            if value is None or saved is None:
                continue
            if is_lazy(value) and not is_lazy(saved):
                value.materialize(saved.shape)
