"""`Stateful`: what `save` and `load` ask for its state themselves."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """What can be saved and restored: modules, optimizers and many more."""

    def state_dict(self) -> dict[str, Any]:
        """All that has to be kept."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what was kept."""
        ...
