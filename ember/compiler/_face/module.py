"""What `compile` makes of a module."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from ember.compiler._face import compiled as _compiled
from ember.compiler._face.settings import Settings
from ember.nn import Module


class OptimizedModule(Module):
    """A module that runs compiled: `_orig_mod`, whose attributes it has too.

    Parameters, buffers and modes are those of the module, so training, saving and
    hooks go on as before; names in `state_dict` begin with `_orig_mod.`, as in PyTorch.

    >>> import ember
    >>> model = ember.compile(ember.nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    >>> model.in_features
    2
    """

    _OWN = frozenset(
        "_orig_mod dynamo_ctx _torchdynamo_orig_callable get_compiler_config forward "
        "__dict__".split()
    )

    def __init__(self, mod: Module, dynamo_ctx: Settings) -> None:
        super().__init__()
        self._modules["_orig_mod"] = mod
        self.dynamo_ctx = dynamo_ctx
        self._initialize()

    def _initialize(self) -> None:
        how = self.dynamo_ctx
        # With its hooks; and looked up for each call, as it may change.
        self.forward: Any = _compiled.function(self._orig_mod.__call__, how)
        self._torchdynamo_orig_callable = self._orig_mod.forward
        self.get_compiler_config = how._asdict

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._orig_mod, self.dynamo_ctx)

    @property
    def training(self) -> bool:  # type: ignore[override]
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_modules"]["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name) or name in self._OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if hasattr(type(self), name) or name in self._OWN:
            object.__delattr__(self, name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __bool__(self) -> bool:
        return True

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._orig_mod), *super().__dir__()})
